"""``unstuck show``: one run, its tasks and its open gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unstuck.errors import RecordDamaged
from unstuck.runs.looking import find_run, show_rows, state_of
from unstuck.text import one_line
from unstuck_tui.cli.common import echo, here, print_json, project_option

__all__ = ["command"]


@click.command(name="show")
@click.argument("run", default="last")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row: the run, its tasks, its open gates.")
@project_option
def command(run: str, project: Path, as_json: bool) -> None:
    """One run: its tasks and open gates. RUN is an id, the beginning of one, or last.

    Of a damaged record it shows what stands before the damage, and exits with 6.
    """
    place = here(project)
    run = find_run(place, run)
    state, damage = state_of(place, run)
    rows = list(show_rows(run, state))
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            for line in _lines(row):
                echo(line)
    if damage is not None:
        raise RecordDamaged(damage.file, damage.line, damage.offset, f"{damage.problem}; shown is what stood before")


def _lines(row: dict[str, Any]) -> list[str]:
    if "run" in row:
        used = [*_used(row), f"{row['seconds']:g} s of work"]
        limits = [f"{name} {limit:g}{' s' if name == 'time' else ''}" for name, limit in row["budget"].items()]
        budget = f"; budget: {', '.join(limits)}" if limits else ""
        return [
            f"run {row['run']}  {row['exit_reason'] or row['state']}  started {row['started']}",
            f"  used: {', '.join(used)}{budget}",
        ]
    if "gate" in row:
        context = row["context"]
        question = context.get("question") or context.get("problem") or context.get("error_signature") or ""
        return [
            "",
            f"? {row['gate']}  {row['type']}  {row['task']}",
            *(f"  {line}" for line in str(question).splitlines()),
            f"  answer: unstuck answer {row['gate']} {' | '.join(row['choices'])}",
        ]
    where = f"  {row['location']}" if row["location"] else ""
    problem = f"  {one_line(row['headline'], 90)}{where}" if row["headline"] and row["status"] != "succeeded" else ""
    word = row["status"] or row["state"]
    spent = [f"{rung} {', '.join(_used(used))}" for rung, used in row["rungs"].items() if _used(used)]
    return [
        f"  {row['task']:<20} {word:<11} {row['level']:<9} {row['attempts']} attempts{problem}",
        *([f"    used: {', '.join(_used(row))} ({'; '.join(spent)})"] if _used(row) else []),
    ]


def _used(row: dict[str, Any]) -> list[str]:
    """What agents have said that they used; empty where none has."""
    tokens = [f"{row['tokens']} tokens"] if row["tokens"] else []
    return [*tokens, *([f"cost {row['cost']:.4g}"] if row["cost"] is not None else [])]
