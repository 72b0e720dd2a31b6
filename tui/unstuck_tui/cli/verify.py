"""``unstuck verify``: can the record be trusted?"""

from __future__ import annotations

from pathlib import Path

import click

from unstuck.record.journal import LOG_NAME, replay
from unstuck.record.log import verify
from unstuck.runs.looking import find_run
from unstuck_tui.cli.common import echo, here, print_json, project_option

__all__ = ["command"]


@click.command(name="verify")
@click.argument("run", default="last")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@project_option
def command(run: str, project: Path, as_json: bool) -> None:
    """Check every record of a run; exits with 6 where one cannot be trusted, naming file, line and byte."""
    place = here(project)
    run = find_run(place, run)
    path = place.runs / run / LOG_NAME
    found = verify(path)
    replay(path)
    if as_json:
        print_json([{"run": run, "records": found.records, "bytes": found.bytes, "torn": found.torn, "ok": True}])
        return
    torn = f"; the last {found.torn} bytes are torn and will be moved aside at the next start" if found.torn else ""
    echo(f"{run}: {found.records} records, {found.bytes} bytes, all as they were written{torn}")
