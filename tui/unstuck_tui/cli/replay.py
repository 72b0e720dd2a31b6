"""``unstuck replay``: a finished or dead run on the same screen, to move through."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from unstuck.errors import UsageError
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.runs.queries.run_list import find_run
from unstuck_tui.cli.common import complain, here, project_option
from unstuck_tui.cli.names import run_ids
from unstuck_tui.cli.streams import can_show


@click.command(name="replay")
@click.argument("run", default="last", shell_complete=run_ids)
@project_option
def command(run: str, project: Path) -> None:
    """Replay a run, step by step. RUN is an id, the start of an id, or last. Nothing is changed.

    For a damaged event log it shows the events before the damage, and exits with 6.
    """
    place = here(project)
    run = find_run(place, run)
    if not can_show(dict(os.environ)):
        raise UsageError(f"a replay needs a terminal; `unstuck show {run}` shows how the run ended")
    from unstuck_tui.app.host import show_alone
    from unstuck_tui.app.replay_app import ReplayApp
    from unstuck_tui.keys.preferences import preferences
    from unstuck_tui.runs.log.index import indexed
    from unstuck_tui.runs.replay.replayed_run import ReplayedRun

    settings = preferences(os.environ)
    index = indexed(place.runs / run / LOG_NAME)
    asyncio.run(show_alone(ReplayApp(ReplayedRun(index, place), settings)))
    if index.damage is not None:
        complain(f"{index.damage}; shown are the events before it")
        raise click.exceptions.Exit(index.damage.exit_code)
