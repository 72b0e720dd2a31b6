"""``unstuck memory``: entries of the memory, their deletion, and rules made of answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast, get_args

import click

from unstuck.clock import SystemClock
from unstuck.eventlog.memory.entry import Kind
from unstuck.runs.memory_commands import found, made_rule, memory_of, memory_rows, offer_in
from unstuck.runs.queries.approaches import approach_rows, reason_of
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.supervision.context.context import limits_of
from unstuck.text import one_line
from unstuck.words.amounts import ago
from unstuck_tui.cli.common import echo, echo_table, here, json_option, print_json, project_option
from unstuck_tui.cli.names import OneOf, memories

_json_option = json_option("One JSON object a line.")


@click.group(name="memory")
def command() -> None:
    """List, promote or delete what unstuck remembers: approaches, findings, your answers and rules."""


@command.command(name="list")
@click.option("--kind", type=OneOf(get_args(Kind)), help="Restrict to this kind.")
@_json_option
@project_option
def list_(project: Path, kind: str | None, as_json: bool) -> None:
    """List the entries, oldest first."""
    memory = memory_of(here(project))
    rows = list(memory_rows(memory, cast("Kind | None", kind)))
    if as_json:
        print_json(rows)
        return
    now = SystemClock().now()
    echo_table(("ID", "WHEN", "KIND", "OUTCOME", "WHAT"), (_cells(row, now) for row in rows))
    for offer in offer_in(memory) if kind in (None, "answer") else ():
        echo(f"? {offer.choice.replace('_', '-')} {one_line(offer.text, 80)}: {offer.words}")
        echo(f"  make it a rule: unstuck memory promote {offer.id}")
    if not rows:
        echo(
            "nothing is remembered here yet"
            if kind is None
            else f"no {'flaky test' if kind == 'flaky' else kind} is remembered here yet"
        )
    if memory.skipped:
        echo(f"! lines in {memory.path.name} that cannot be read: {memory.skipped}")


@command.command(name="forget")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=memories)
@_json_option
@project_option
def forget(ids: tuple[str, ...], project: Path, as_json: bool) -> None:
    """Delete the entries with these ids. A deleted rule no longer applies, also in a live run."""
    memory = memory_of(here(project, writes=True))
    gone = memory.forget([entry.id for entry in found(memory, ids)])
    if as_json:
        print_json({"memory": entry.id, "kind": entry.kind} for entry in gone)
        return
    for entry in gone:
        echo(f"forgotten: {entry.kind} {entry.id}")


@command.command(name="approaches", short_help="List the approaches against a failure, in order.")
@click.argument("signature", default="")
@_json_option
@project_option
def approaches(signature: str, project: Path, as_json: bool) -> None:
    """List the approaches against a failure in the order in which they are taken, with the reason for it.

    SIGNATURE is the start of a failure's signature, as `unstuck signatures` prints it. Without it, the newest failure
    for which an approach is remembered. The setting `memory.order` ranks by confidence or by what worked.
    """
    place = here(project)
    settings = load_settings(place.root, user_file=default_user_file(), environ=os.environ, overrides={})
    rows = list(approach_rows(memory_of(place), limits_of(settings), signature, SystemClock().now()))
    if as_json:
        print_json(rows)
        return
    echo(f"{one_line(rows[0]['headline'], 100)}  {one_line(rows[0]['signature'], 20)}")
    echo_table(("", "APPROACH", "FROM", "SCORE", "WHY"), map(_approach_cells, rows))


def _approach_cells(row: dict[str, Any]) -> tuple[str, ...]:
    place, score = ("-", "-") if row["place"] is None else (str(row["place"]), f"{row['score']:.2f}")
    return place, one_line(row["approach"], 70), row["source"], score, reason_of(row)


@command.command(name="promote")
@click.argument("id", shell_complete=memories)
@_json_option
@project_option
def promote(id: str, project: Path, as_json: bool) -> None:
    """Make the answer ID a rule. Unstuck gives it without asking when the same failure returns."""
    memory = memory_of(here(project, writes=True))
    (answer,) = found(memory, [id])
    rule = made_rule(memory, answer, SystemClock().now())
    if as_json:
        print_json(row for row in memory_rows(memory, "rule") if row["memory"] == rule.id)
        return
    echo(f"rule {rule.id}: {one_line(rule.note, 200)}")
    echo(f"  undo with: unstuck memory forget {rule.id}")


def _cells(row: dict[str, Any], now: float) -> tuple[str, ...]:
    outcome = row["outcome"] or "-"
    if row["kind"] == "rule":
        outcome = "holds" if row["holds"] else "over"
    text = row["note"]
    if row["kind"] == "approach":
        text = f"{row['approach']} ({row['note']})"
    elif row["kind"] == "answer":
        text = " ".join(filter(None, (row["approach"].replace("_", "-"), row["note"])))
    return row["memory"], ago(row["when"], now), row["kind"], outcome, one_line(text, 160)
