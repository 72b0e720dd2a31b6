"""Values that supervision passes between its parts: a question about to be asked, and a takeover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstuck.contract import Actor, Answer, GateTypeName, Standing
from unstuck.text import Clean

RUN = ""
"""The attempt id of a question about the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to open about the live ``attempt`` of ``task``; with neither it is about the whole run.

    ``found`` is the answer that the rules gave, because a request uses one up. ``choices`` are those of the type
    unless given. With a person as ``actor``, only a person may answer. ``opened`` is called with the gate's id.
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
class Takeover:
    """A takeover: ``folder`` is the agent's directory in the worktree, ``since`` the checkpoint of its files.

    The agent of ``task`` waits at ``gate`` with this ``standing``; empty where none is alive.
    ``others`` are tasks whose agents may change the same files meanwhile. ``merging`` are the files with conflict
    markers of a merge that has begun.
    """

    task: str
    gate: str
    folder: Path
    since: str
    standing: str = ""
    others: tuple[str, ...] = ()
    merging: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverChanges:
    """The changes of a takeover: the number of ``files``, the first of them a line each, and the unified diff.

    ``trouble`` is the reason why they are unknown.
    """

    files: int = 0
    changes: tuple[str, ...] = ()
    diff: Clean = Clean("")
    trouble: str = ""
