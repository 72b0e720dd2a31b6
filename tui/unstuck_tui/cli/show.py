"""``unstuck show``: one run, its tasks with what was tried, and its open gates."""

from __future__ import annotations

from pathlib import Path

import click

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged, UsageError
from unstuck.runs.queries.json_rows import show_rows
from unstuck.runs.queries.run_list import find_run, state_of
from unstuck_tui.cli.common import echo, here, print_json, project_option
from unstuck_tui.render.printed.summaries import row_lines

__all__ = ["command"]


@click.command(name="show")
@click.argument("run", default="last")
@click.option("--recovery", is_flag=True, help="What a run that was cut off has left, and what could become of it.")
@click.option("--check", is_flag=True, help="With --recovery: run the check of each such task now.")
@click.option("--evaluate", is_flag=True, help="With --recovery: let the evaluator of the settings propose.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row: the run, its tasks, its open gates.")
@project_option
def command(run: str, project: Path, recovery: bool, check: bool, evaluate: bool, as_json: bool) -> None:
    """One run: its tasks with what was tried, and its open gates. RUN is an id, the beginning of one, or last.

    Of a damaged record it shows what stands before the damage, and exits with 6.
    """
    place = here(project)
    run = find_run(place, run)
    if recovery:
        from unstuck_tui.cli.recovery_report import show_recovery

        show_recovery(place, run, check=check, evaluate=evaluate, as_json=as_json)
        return
    if check or evaluate:
        raise UsageError("--check and --evaluate go with --recovery")
    state, damage = state_of(place, run)
    rows = list(show_rows(run, state, SystemClock().now()))
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            for line in row_lines(row):
                echo(line)
    if damage is not None:
        raise RecordDamaged(damage.file, damage.line, damage.offset, f"{damage.problem}; shown is what stood before")
