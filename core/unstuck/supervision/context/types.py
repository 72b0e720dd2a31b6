"""Values that supervision passes between its parts: a question about to be asked, and a takeover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstuck.contract import Actor, Answer, GateTypeName, Standing
from unstuck.text import Clean

__all__ = ["RUN", "Back", "Handed", "Question"]

RUN = ""
"""Stands for the attempt of a question that is about the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be asked about the live ``attempt`` of ``task``; with neither it is about the whole run.

    ``found`` is what the rules have said already, because asking them uses one up. ``choices`` are those of the type
    unless given; a person is the ``actor`` of what nobody but a person may answer. ``opened`` is told the gate's id.
    """

    type: GateTypeName
    key: str
    context: dict[str, Any]
    task: str = ""
    attempt: str = RUN
    standing: Standing = ""
    found: tuple[int, Answer] | None = None
    choices: tuple[str, ...] = ()
    actor: Actor = "policy"
    opened: Callable[[str], None] = lambda gate: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A tree in a person's hands: ``folder`` is where the agent works in it, ``since`` the checkpoint of its files.

    The agent of ``task`` waits at ``gate``, and what it does meanwhile is its ``standing``; empty where none is alive.
    ``others`` are tasks whose agents may change the same files meanwhile.
    """

    task: str
    gate: str
    folder: Path
    since: str
    standing: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """What a person has changed in so many ``files``: the first of them a line each, and the unified diff.

    ``trouble`` says why nobody knows.
    """

    files: int = 0
    changes: tuple[str, ...] = ()
    diff: Clean = Clean("")
    trouble: str = ""
