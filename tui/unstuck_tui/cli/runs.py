"""``unstuck runs``: what has been run in this project."""

from __future__ import annotations

from pathlib import Path

import click

from unstuck.runs.looking import run_rows
from unstuck_tui.cli.common import echo, here, print_json, project_option

__all__ = ["command"]


@click.command(name="runs")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per run.")
@project_option
def command(project: Path, as_json: bool) -> None:
    """The runs of this project, oldest first."""
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
