"""``unstuck recap``: what happened in a run, in at most ten lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.record_reader import RunReader
from unstuck.runs.queries.recap import recap_of
from unstuck.runs.queries.recap_lines import recap_lines
from unstuck.runs.queries.run_list import find_run, is_live
from unstuck_tui.cli.common import echo, here, json_option, moment_of, print_json, project_option
from unstuck_tui.cli.names import run_ids


@click.command(name="recap")
@click.argument("run", default="last", shell_complete=run_ids)
@click.option("--since", metavar="WHEN", help="Start at this time: 10m (ago), 14:30, 2026-11-22 or a time with both.")
@json_option("One JSON object per line, with all its events.")
@project_option
def command(run: str, since: str | None, project: Path, as_json: bool) -> None:
    """Tell what happened in RUN in at most ten lines: an id, the start of an id, or last.

    What needs you first and why, what passed by which check, what was decided without you and by what, what waited how
    long, and what it cost. `#12` is event 12 of `unstuck events`. No model is asked.
    """
    place = here(project)
    moment = moment_of(since) if since else 0.0
    run = find_run(place, run)
    reader = _Whole(RunReader(place.runs / run).records())
    lines = recap_lines(recap_of(reader, since=moment), live=is_live(place, run))
    if as_json:
        print_json(line.as_dict() for line in lines)
    else:
        for line in lines:
            echo(line.shown)
    if reader.damage is not None:
        raise reader.damage


class _Whole:
    """Records up to the ``damage`` of their log, if it has any."""

    def __init__(self, records: Iterator[Record]) -> None:
        self._records = records
        self.damage: RecordDamaged | None = None

    def __iter__(self) -> Iterator[Record]:
        try:
            yield from self._records
        except RecordDamaged as damage:
            self.damage = damage
