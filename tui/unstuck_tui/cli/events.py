"""``unstuck events``: what happened in a run, record by record, read as it stands or followed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from unstuck.errors import UsageError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import EVENTS
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.runs.queries.run_list import find_run, is_live
from unstuck.words.did_you_mean import suggestion
from unstuck.words.log_text import event_line
from unstuck_tui.cli.common import echo, here, json_option, moment_of, project_option
from unstuck_tui.cli.names import OneOf, events, run_ids, task_ids

_PAUSE_S = 0.2
_ACTORS = ("human", "timer", "policy", "agent")


@click.command(name="events")
@click.argument("run", default="last", shell_complete=run_ids)
@click.option("--follow", "-f", is_flag=True, help="Follow new events until the run ends.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="TASK",
    shell_complete=task_ids,
    help="Filter by task; * matches any text.",
)
@click.option("--type", "types", multiple=True, metavar="EVENT", shell_complete=events, help="Filter by event name.")
@click.option("--actor", "actors", multiple=True, type=OneOf(_ACTORS), help="Filter by actor.")
@click.option("--signature", default="", metavar="FAILURE", help="Filter by failure id, or its first characters.")
@click.option("--since", metavar="WHEN", help="Start at this time: 10m (ago), 14:30, 2026-11-22 or a time with both.")
@click.option("--decided-without-me", "without_me", is_flag=True, help="Show only decisions that no person took.")
@json_option("Print one JSON object per event, as in the log.")
@project_option
def command(run: str, project: Path, follow: bool, as_json: bool, **options: Any) -> None:
    """Print or follow the event log of RUN: an id, the start of an id, or last."""
    wanted = _wanted(**options)
    place = here(project)
    run = find_run(place, run)
    reader = RunReader(place.runs / run)
    wait, live = partial(time.sleep, _PAUSE_S), partial(is_live, place, run)
    records: Iterator[Record] = reader.follow(wanted, is_live=live, wait=wait) if follow else reader.records(wanted)
    for record in records:
        if as_json:
            click.echo(json.dumps(record.as_dict(), ensure_ascii=True))
        else:
            echo(event_line(record))


def _wanted(
    *,
    tasks: tuple[str, ...],
    types: tuple[str, ...],
    actors: tuple[str, ...],
    signature: str,
    since: str | None,
    without_me: bool,
) -> Wanted:
    for name in types:
        if name not in EVENTS:
            raise UsageError(f"--type: there is no event {name}{suggestion(name, EVENTS)}")
    moment = moment_of(since) if since else None
    return Wanted(
        tasks=tasks,
        types=frozenset(types),
        actors=frozenset(actors),
        signature=signature,
        since=moment,
        without_me=without_me,
    )
