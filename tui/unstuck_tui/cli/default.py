"""``unstuck`` alone: shows the run that is live here, or the one that was cut off, or how to start one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.errors import UnstuckError
from unstuck.version import __version__
from unstuck_tui.cli.streams import can_show

if TYPE_CHECKING:
    from unstuck.workspace.project import Project


def begin() -> int | None:
    """Show the live run of the project round this directory, what its unfinished one has left, or the start page.

    Returns the exit code; None without a terminal, where there is nothing but help to give.
    """
    if "_UNSTUCK_COMPLETE" in os.environ or not all(os.isatty(stream) for stream in range(3)):
        return None
    from unstuck.runs.queries.run_list import live_run
    from unstuck.runs.recovery_choices import unfinished
    from unstuck_tui.cli.common import here

    try:
        place = here(Path(), writes=True)
        live, run = live_run(place), unfinished(place)
    except UnstuckError as error:
        return _start_page(f"! {error}")
    is_shown = can_show(dict(os.environ))
    if live is not None and is_shown:
        from unstuck_tui.cli.watch import command

        return _called(command.main(["--project", str(place.directory)], "unstuck watch", standalone_mode=False))
    if run and is_shown:
        from unstuck_tui.cli.run import resumed

        return resumed(run, place.directory)
    return _start_page(_past(place))


def _past(place: Project) -> str:
    """One line about the last run of the project; empty without one."""
    from unstuck.runs.queries.run_list import find_run

    try:
        return f"The last run here is {find_run(place, 'last')}: unstuck show"
    except UnstuckError:
        return ""


_WAYS = (
    ("unstuck demo", "see it work: scripted agents, no model and no key"),
    ('unstuck run --check "pytest -q" --agent {agent} "TASK"', ""),
    ("", "give one task to your agent"),
    ("unstuck run plan.yaml", "run several tasks, each with its check"),
    ("unstuck watch", "keep working in your own agent session"),
    ("unstuck review", "review the sessions that your agents have kept"),
    ("unstuck doctor", "check the installation"),
)


def _start_page(said: str) -> int:
    from unstuck.agents.command.presets import PRESETS
    from unstuck_tui.cli.common import echo

    agent = next(filter(shutil.which, PRESETS), "claude")
    ways = [(command.format(agent=agent), meaning) for command, meaning in _WAYS]
    width = max(len(command) for command, about in ways if about)
    echo(f"unstuck {__version__} runs coding agents, and the check that decides if a task is done.")
    for line in (
        "",
        *([said, ""] if said else ()),
        *(f"  {one:<{width}}  {about}".rstrip() for one, about in ways),
        "",
    ):
        echo(line)
    echo("All commands: unstuck --help. One of them: unstuck help run")
    return 0


def _called(code: object) -> int:
    return code if isinstance(code, int) else 0
