"""``unstuck runs``: what has been run in this project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstuck.clock import SystemClock
from unstuck.runs.queries.run_list import day_rows, run_rows
from unstuck.text import one_line
from unstuck.words.amounts import ago
from unstuck.words.labels import counted
from unstuck_tui.cli.common import complain, echo, echo_table, here, json_option, print_json, project_option
from unstuck_tui.render.printed.summaries import load_words, run_state


@click.command(name="runs")
@click.option("--days", is_flag=True, help="Show the questions per day, over all runs.")
@json_option("One JSON object per run, or per day.")
@project_option
def command(project: Path, days: bool, as_json: bool) -> None:
    """List the runs of this project, oldest first."""
    if days:
        _print_days(list(day_rows(here(project), complain)), as_json)
        return
    rows = run_rows(here(project))
    if as_json:
        print_json(rows)
        return
    now = SystemClock().now()
    shown = [_cells(row, now) for row in rows]
    echo_table(("RUN", "STATE", "STARTED", "TASKS", "TASK"), shown)
    if not shown:
        echo("no runs here yet")


def _cells(row: dict[str, Any], now: float) -> tuple[str, ...]:
    if row["state"] == "damaged":
        return row["run"], "damaged", "", "", row["problem"]
    tasks = ", ".join(f"{count} {word}" for word, count in row["tasks"].items()) or "no tasks"
    asked = f", {counted(row['open_gates'], 'question')}" if row["open_gates"] else ""
    return row["run"], run_state(row), ago(row["started"], now), f"{tasks}{asked}", one_line(row["about"], 40)


def _print_days(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        echo(f"{row['day']}  {load_words(row)}")
    if not rows:
        echo("no questions were asked here yet")
