"""``unstuck runs``: what has been run in this project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstuck.runs.queries.run_list import day_rows, run_rows
from unstuck_tui.cli.common import complain, echo, here, print_json, project_option
from unstuck_tui.render.printed.summaries import load_words


@click.command(name="runs")
@click.option("--days", is_flag=True, help="Show the questions per day, over all runs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per run, or per day.")
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
    found = False
    for row in rows:
        found = True
        if row["state"] == "damaged":
            echo(f"{row['run']}  damaged  {row['problem']}")
            continue
        tasks = ", ".join(f"{count} {word}" for word, count in row["tasks"].items()) or "no tasks"
        state = row["exit_reason"] or row["state"]
        gates = f"  {row['open_gates']} open" if row["open_gates"] else ""
        echo(f"{row['run']}  {state:<13} {tasks}{gates}")
    if not found:
        echo("no runs here yet")


def _print_days(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        echo(f"{row['day']}  {load_words(row)}")
    if not rows:
        echo("no questions were asked here yet")
