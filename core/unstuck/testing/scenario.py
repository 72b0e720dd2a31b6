"""Scenario: a small project, a task in it, and the acts of a scripted agent for each attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import yaml

from unstuck.contract import Level
from unstuck.errors import UsageError
from unstuck.runs.plans.yaml_nodes import Document, Section
from unstuck.testing.acts import Made, acts, checked_path, checked_text
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

_KEYS = (
    "about", "agent_type", "prompt", "check", "shared_check", "timeout", "idle", "isolation", "signals", "context",
    "files", "attempts", "remediation", "settings", "budget",
)  # fmt: skip
_FOLDER = resources.files("unstuck.testing") / "scenarios"
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Acts of an attempt. It is used if all given conditions hold.

    ``rung`` is the attempt's rung, ``told`` a text that its prompt contains (however it is capitalised), ``attempt``
    its number from 1.
    """

    do: tuple[Made, ...]
    rung: str = ""
    told: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One rehearsed task.

    The first of ``turns`` that fits is played by an attempt. ``context`` is how many tokens the agent's session can
    hold, 0 for any number; ``verify`` may hold ``{python}``; ``shared_verify`` makes it the whole project's check,
    which the ``remediation`` acts mend where it is broken from the start. ``settings`` and ``budget`` are the plan's.
    """

    name: str
    about: str
    prompt: str
    verify: str
    files: Mapping[str, str]
    turns: tuple[Turn, ...]
    agent_type: str = "default"
    shared_verify: bool = False
    timeout: float | None = None
    idle: float | None = None
    isolation: str | None = None
    signals: bool = False
    context: int = 0
    remediation: tuple[Made, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    budget: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class Part:
    """A scenario as a task of a rehearsal: its id, and the tasks that have to be done before."""

    task: str
    scenario: Scenario
    needs: tuple[str, ...] = ()


def scenario_names() -> tuple[str, ...]:
    """The scenarios that come with unstuck."""
    return tuple(sorted(entry.name[:-5] for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml")))


def load_scenario(name: str) -> Scenario:
    """A scenario that comes with unstuck, or the one in the file ``name``.

    Raises PlanError with the file and the line of the first problem, UsageError where there is no such scenario.
    """
    if name in scenario_names():
        with resources.as_file(_FOLDER / f"{name}.yaml") as path:
            return _read(path, name)
    if name.endswith((".yaml", ".yml")) or "/" in name:
        return _read(Path(name), Path(name).stem)
    raise UsageError(f"there is no scenario {one_line(name)}{suggestion(name, scenario_names())}")


def curated() -> tuple[Part, ...]:
    """The plan of ``unstuck demo``: about ten tasks with dependencies, the last of which needs a person."""
    cast = yaml.safe_load((resources.files("unstuck.testing") / "curated.yaml").read_text(encoding="utf-8"))
    return tuple(
        Part(task, load_scenario(part["scenario"]), tuple(part.get("needs", ()))) for task, part in cast.items()
    )


def _read(path: Path, name: str) -> Scenario:
    document = Document(path)
    top = Section(document, document.root, "the scenario", _KEYS)
    context = top.whole("context")
    scenario = Scenario(
        name=name,
        about=top.text("about") or "",
        prompt=top.text("prompt", required=True) or "",
        verify=top.shell("check") or "",
        files=_files(top),
        turns=_turns(top),
        agent_type=top.text("agent_type") or "default",
        shared_verify=bool(top.flag("shared_check")),
        timeout=top.seconds("timeout"),
        idle=top.seconds("idle"),
        isolation=top.choice("isolation", ("shared", "worktree")),
        signals=bool(top.flag("signals")),
        context=context or 0,
        remediation=tuple(acts(document, top.nodes["remediation"], "`remediation`"))
        if "remediation" in top.nodes
        else (),
        settings=_mapping(top, "settings"),
        budget=_mapping(top, "budget"),
    )
    if not scenario.verify:
        top.wrong("check", "the scenario needs `check`: the command that decides whether its task is done")
    document.check()
    return scenario


def _mapping(top: Section, name: str) -> Mapping[str, Any]:
    found = top.document.plain(top.nodes[name], f"`{name}`") if name in top.nodes else {}
    if not isinstance(found, dict):
        top.wrong(name, f"`{name}` must be a mapping")
        return {}
    return found


def _files(top: Section) -> dict[str, str]:
    files: dict[str, str] = {}
    pairs = top.document.pairs(top.nodes["files"], "`files`") if "files" in top.nodes else {}
    for path, (key, node) in pairs.items():
        if isinstance(node, yaml.ScalarNode):
            files[checked_path(top.document, key, path)] = checked_text(top.document, node, path)
        else:
            top.document.wrong(node, f"the content of {one_line(path)} must be text")
    return files


def _turns(top: Section) -> tuple[Turn, ...]:
    if "attempts" not in top.nodes:
        top.wrong("attempts", "the scenario needs `attempts`: what the agent does, in order")
        return ()
    turns = []
    for node in top.document.items(top.nodes["attempts"], "`attempts`"):
        section = Section(top.document, node, "an attempt", ("rung", "told", "attempt", "do"))
        if "do" not in section.nodes:
            section.wrong("do", "an attempt needs `do`: a list of acts")
            continue
        turn = Turn(
            do=tuple(acts(top.document, section.nodes["do"], "`do`")),
            rung=section.choice("rung", get_args(Level)) or "",
            told=section.text("told") or "",
            attempt=section.whole("attempt") or 0,
        )
        turns.append(turn)
    return tuple(turns)
