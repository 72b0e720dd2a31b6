"""``unstuck`` alone, at a terminal: shows the run that is live here, or the one that was cut off."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from unstuck.errors import UnstuckError
from unstuck_tui.cli.streams import can_show


def begin() -> int | None:
    """Show the live run of the project round this directory, or what its unfinished one has left; its exit code.

    None where there is neither, or no terminal to show it on: then there is nothing but help to give.
    """
    if not can_show(dict(os.environ)) or "_UNSTUCK_COMPLETE" in os.environ:
        return None
    from unstuck.runs.queries.run_list import live_run
    from unstuck.runs.recovery_choices import unfinished
    from unstuck_tui.cli.common import here

    try:
        place = here(Path(), writes=True)
        live, run = live_run(place), unfinished(place)
    except UnstuckError:
        return None
    if live is not None:
        from unstuck_tui.cli.watch import command

        return _called(command.main(["--project", str(place.directory)], "unstuck watch", standalone_mode=False))
    if not run:
        return None
    from unstuck_tui.cli.run import go_on

    return asyncio.run(go_on(run, place.directory)).exit_code


def _called(code: object) -> int:
    return code if isinstance(code, int) else 0
