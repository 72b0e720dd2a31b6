"""``unstuck fsck``: checks every record of an event log."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unstuck.errors import UsageError
from unstuck.eventlog.log.verify import LogCheck, check
from unstuck.runs.memory_commands import memory_damage
from unstuck.runs.queries.run_list import find_run
from unstuck.text import one_line
from unstuck_tui.cli.common import echo, here, json_option, print_json, project_option
from unstuck_tui.cli.names import run_ids


@click.command(name="fsck")
@click.argument("run", default="last", shell_complete=run_ids)
@click.option("--host", metavar="HOST", help="Check the copies of this host's logs, see `unstuck watch --host`.")
@json_option("One JSON object for each log.")
@project_option
def command(run: str, host: str | None, project: Path, as_json: bool) -> None:
    """Check every record of an event log. Exits with 6 for a damaged one, and names file, line and byte."""
    if host is not None:
        _check_copies(host, as_json)
        return
    place = here(project)
    run = find_run(place, run)
    found = check(place.runs / run)
    damage = memory_damage(place)
    if as_json:
        print_json([{"run": run, "ok": True, **found._asdict(), "memory": damage or "good"}])
        return
    if damage:
        echo(f"! {damage}")
    echo(f"{run}: {found.records} records, {found.bytes} bytes, all intact{_besides(found)}")


def _check_copies(host: str, as_json: bool) -> None:
    """Check all copies of a host's logs, whichever of its runs they are of."""
    from unstuck.fleet.copies import Copies

    copies = Copies(os.environ)
    logs = copies.logs(host)
    if not logs:
        raise UsageError(f"there is no copy of a log of {one_line(host)} here; `unstuck watch --host` keeps them")
    for log in logs:
        found = check(copies.path(host, log).parent)
        if as_json:
            print_json([{"run": log, "ok": True, **found._asdict(), "memory": "good"}])
        else:
            refused = copies.refusal(host, log)
            echo(f"{log}: {found.records} records, {found.bytes} bytes, all intact{_besides(found)}")
            if refused:
                echo(f"! {refused}")


def _besides(found: LogCheck) -> str:
    """Remarks on a log that is sound."""
    text = ""
    if found.torn:
        text += f"; the last {found.torn} bytes are incomplete and are moved aside at the next start"
    if found.later:
        text += f"; {found.later} of a later version: this version can only show the run"
    elif found.unknown:
        text += f"; {found.unknown} of events that this version does not know"
    if found.snapshot == "ignored":
        text += "; its snapshot cannot be used and is ignored"
    return text
