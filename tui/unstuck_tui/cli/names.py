"""Names on the command line: completion of what begins like them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

_Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def names_in(known: Callable[[click.Context], Iterable[str]]) -> _Complete:
    """Completion with those of ``known`` that begin with what is typed."""
    return lambda ctx, _, typed: [name for name in known(ctx) if name.startswith(typed)]


def _runs(ctx: click.Context) -> Iterable[str]:
    from unstuck.errors import UnstuckError
    from unstuck.eventlog.storage.run_store import run_names
    from unstuck_tui.cli.common import here

    try:
        directory = ctx.params.get("project") or ctx.params.get("directory") or Path()
        return ["last", *reversed(run_names(here(directory).runs))]
    except UnstuckError:
        return []


run_ids = names_in(_runs)
"""Runs of the project, newest first, and ``last``."""


def _agents(ctx: click.Context) -> Iterable[str]:
    from unstuck.agents.command.presets import KNOWN

    return KNOWN


def _events(ctx: click.Context) -> Iterable[str]:
    from unstuck.eventlog.events import EVENTS

    return sorted(EVENTS)


agents = names_in(_agents)
events = names_in(_events)
