"""``unstuck signatures``: the failures of this project, each once."""

from __future__ import annotations

from pathlib import Path

import click

from unstuck.clock import SystemClock
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.queries.failures import failure_rows
from unstuck.runs.queries.run_list import find_run
from unstuck_tui.cli.common import complain, echo, echo_table, here, json_option, print_json, project_option
from unstuck_tui.cli.names import run_ids
from unstuck_tui.render.printed.summaries import FAILURES_HEAD, failure_cells


@click.command(name="signatures")
@click.argument("run", required=False, shell_complete=run_ids)
@json_option("One JSON object per failure.")
@project_option
def command(run: str | None, project: Path, as_json: bool) -> None:
    """List each failure once, the most frequent first: when, where, in which tasks, its level, what solved it.

    Covers all runs of the project, or RUN: an id, the start of an id, or last.
    """
    place = here(project)
    runs = [find_run(place, run)] if run else run_names(place.runs)
    rows = list(failure_rows(place, runs, complain))
    if as_json:
        print_json(rows)
        return
    if not rows:
        echo("no failures here yet")
        return
    now = SystemClock().now()
    echo_table(FAILURES_HEAD, (failure_cells(row, now) for row in rows))
