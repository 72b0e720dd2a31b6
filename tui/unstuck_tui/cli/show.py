"""``unstuck show``: one run, its tasks with what was tried, and its open gates."""

from __future__ import annotations

from pathlib import Path

import click

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged, UsageError
from unstuck.runs.queries.run_list import find_run, rows_of
from unstuck_tui.cli.common import echo, here, json_option, print_json, project_option
from unstuck_tui.cli.names import run_ids, task_ids
from unstuck_tui.render.printed.summaries import row_lines


@click.command(name="show")
@click.argument("run", default="last", shell_complete=run_ids)
@click.option("--recovery", is_flag=True, help="Show what an interrupted run left, and how each task can continue.")
@click.option("--check", is_flag=True, help="With --recovery: run the check of each interrupted task now.")
@click.option("--evaluate", is_flag=True, help="With --recovery: ask the `evaluator` of your settings for proposals.")
@click.option("--transcript", metavar="TASK", shell_complete=task_ids, help="Show what the agent of TASK said and did.")
@click.option("--attempt", type=click.IntRange(1), help="With --transcript: that of this attempt, not of the last.")
@click.option("--full", is_flag=True, help="With --transcript: all lines of commands, results and changes.")
@click.option("--raw", is_flag=True, help="With --transcript: what the agent printed, as it printed it.")
@click.option("--follow", "-f", is_flag=True, help="With --transcript: keep printing until the attempt ends.")
@json_option("Print one JSON object per row: the run, its tasks, its open questions.")
@project_option
def command(
    run: str,
    project: Path,
    recovery: bool,
    check: bool,
    evaluate: bool,
    transcript: str | None,
    attempt: int | None,
    full: bool,
    raw: bool,
    follow: bool,
    as_json: bool,
) -> None:
    """Show one run: its tasks, attempts and open questions. RUN is an id, the start of an id, or last.

    For a damaged event log it shows the events before the damage, and exits with 6.
    """
    place = here(project)
    run = find_run(place, run)
    if recovery:
        from unstuck_tui.cli.recovery_report import show_recovery

        show_recovery(place, run, check=check, evaluate=evaluate, as_json=as_json)
        return
    if check or evaluate:
        raise UsageError("--check and --evaluate go with --recovery")
    if transcript is not None:
        from unstuck_tui.cli.transcript import show_transcript

        options = {"full": full, "raw": raw, "as_json": as_json, "follow": follow}
        show_transcript(place, run, transcript, attempt=attempt or 0, **options)
        return
    if attempt or full or raw or follow:
        raise UsageError("--attempt, --full, --raw and --follow go with --transcript")
    rows, damage = rows_of(place, run, SystemClock().now())
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            for line in row_lines(row):
                echo(line)
    if damage is not None:
        raise RecordDamaged(
            damage.file, damage.line, damage.offset, f"{damage.problem}; shown are the events before it"
        )
