"""Names on the command line: completion of what begins like them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from unstuck.eventlog.state import GateRow
    from unstuck.workspace.project import Project

_Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
_RUNS_LOOKED_AT = 10


class OneOf(click.Choice[str]):
    """One of some names; the message about any other tells the nearest."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """The message about ``value``, which is none of them."""
        from unstuck.words.did_you_mean import near

        return f"{str(value)!r} is not one of {', '.join(self.choices)}{near(str(value), self.choices)}"


def names_in(known: Callable[[click.Context], Iterable[str] | Mapping[str, str]]) -> _Complete:
    """Completion with those of ``known`` that begin with what is typed; a mapping has what each name means."""

    def complete(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from unstuck.errors import UnstuckError
        from unstuck.text import one_line

        try:
            names = known(ctx)
        except (UnstuckError, OSError):
            return []
        meanings = names if isinstance(names, Mapping) else {}
        return [
            CompletionItem(name, help=one_line(meanings[name], 60) if name in meanings else None)
            for name in names
            if name.startswith(typed)
        ]

    return complete


def _project(ctx: click.Context) -> Project:
    from unstuck_tui.cli.common import here

    return here(ctx.params.get("project") or ctx.params.get("directory") or Path())


def _runs(ctx: click.Context) -> Iterable[str]:
    from unstuck.eventlog.storage.run_store import run_names

    return ["last", *reversed(run_names(_project(ctx).runs))]


run_ids = names_in(_runs)
"""Runs of the project, newest first, and ``last``."""


def _open_gates(ctx: click.Context) -> dict[str, GateRow]:
    """The open questions of the newest runs by id, newest run first."""
    from unstuck.eventlog.storage.run_store import run_names
    from unstuck.runs.queries.run_list import states_of

    place = _project(ctx)
    newest = reversed(run_names(place.runs)[-_RUNS_LOOKED_AT:])
    return {row.id: row for _, state in states_of(place, newest, lambda _: None) for row in state.open_gates()}


def _questions(ctx: click.Context) -> Mapping[str, str]:
    return {id: f"{row.gate.type} {row.gate.task}".strip() for id, row in _open_gates(ctx).items()}


def _choices(ctx: click.Context) -> Iterable[str]:
    row = _open_gates(ctx).get(ctx.params.get("gate") or "")
    return [choice.replace("_", "-") for choice in row.gate.choices] if row is not None else []


def require_answer(ctx: click.Context, choice: str) -> None:
    """Raise AnswerRefused with the answers of the open question where ``choice`` is no word of any answer."""
    from typing import get_args

    from unstuck.contract import Choice
    from unstuck.errors import AnswerRefused
    from unstuck.text import one_line
    from unstuck.words.did_you_mean import suggestion

    if choice.replace("-", "_") in get_args(Choice) or not (takes := list(_choices(ctx))):
        return
    options = _open_gates(ctx)[ctx.params["gate"]].gate.context.get("options") or ()
    for number, option in enumerate(options, 1):
        if str(option).casefold() == choice.casefold():
            raise AnswerRefused(f"no such answer: {one_line(choice)} (did you mean `choose {number}`?)")
    raise AnswerRefused(f"no such answer: {one_line(choice)}{suggestion(choice, takes)}")


def _checkpoints(ctx: click.Context) -> Mapping[str, str]:
    import asyncio

    from unstuck.words.labels import checkpoint_reason
    from unstuck.workspace.checkpoints.manager import find_checkpoints

    place = _project(ctx)
    found = asyncio.run(find_checkpoints(place.home, place.repository))
    return {one.id: checkpoint_reason(one.reason) for one in reversed(found)}


def _memories(ctx: click.Context) -> Mapping[str, str]:
    from unstuck.runs.memory_commands import memory_of

    return {entry.id: f"{entry.kind}: {entry.note}" for entry in memory_of(_project(ctx)).entries()}


def _agents(ctx: click.Context) -> Mapping[str, str]:
    from unstuck.agents.command.presets import KNOWN

    return {name: f"runs {preset.command[0]}" for name, preset in KNOWN.items()}


def _events(ctx: click.Context) -> Iterable[str]:
    from unstuck.eventlog.events import EVENTS

    return sorted(EVENTS)


def _scenarios(ctx: click.Context) -> Iterable[str]:
    from unstuck.testing import scenario_names

    return scenario_names()


def _schemas(ctx: click.Context) -> Iterable[str]:
    from unstuck.schemas.catalogue import schema_names

    return schema_names()


def _settings(ctx: click.Context) -> Iterable[str]:
    import os

    from unstuck.settings.effective import effective_rows
    from unstuck.settings.layers import default_user_file

    return [row["key"] for row in effective_rows(_project(ctx).root, default_user_file(), os.environ, {})]


def _judged(ctx: click.Context) -> Iterable[str]:
    from unstuck.runs.queries.what_if_settings import JUDGED

    return [f"{name.rpartition('.')[2]}=" for name in JUDGED]


def _recoveries(ctx: click.Context) -> Iterable[str]:
    """``TASK=CHOICE`` for each interrupted task of the run that is resumed."""
    from unstuck.runs.queries.run_list import find_run, state_of
    from unstuck.supervision.recovery.facts import CHOICES, was_cut_off

    place = _project(ctx)
    state, _ = state_of(place, find_run(place, ctx.params.get("resume") or "last"))
    return [f"{row.id}={choice}" for row in state.tasks.values() if was_cut_off(row) for choice in CHOICES]


def _tasks(ctx: click.Context) -> Iterable[str]:
    """The tasks of the run that was named before, else of the last one."""
    from unstuck.runs.queries.run_list import find_run, state_of

    place = _project(ctx)
    # An option whose value is still to come leaves what stands before it unread.
    wanted = next(iter(ctx.args), ctx.params.get("run") or "last")
    return state_of(place, find_run(place, wanted))[0].tasks


def _permissions(ctx: click.Context) -> Iterable[str]:
    from unstuck.runs.answers.permissions import permission_rows

    return dict.fromkeys(row["rule"] for row in permission_rows(_project(ctx)))


def files(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completion with the names of files, by the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


questions = names_in(_questions)
choices = names_in(_choices)
checkpoints = names_in(_checkpoints)
memories = names_in(_memories)
agents = names_in(_agents)
events = names_in(_events)
permissions = names_in(_permissions)
recoveries = names_in(_recoveries)
scenarios = names_in(_scenarios)
schemas = names_in(_schemas)
settings = names_in(_settings)
task_ids = names_in(_tasks)
judged_settings = names_in(_judged)
