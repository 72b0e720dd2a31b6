"""Warnings that no record of a run holds: printed on standard error, and not below a screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.conftest import Inside

from unstuck.clock import SystemClock
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import Journal
from unstuck.text import admit
from unstuck_tui.cli.output import Output


async def _waits_for_a_host(run: Path) -> None:
    journal = await Journal.open(run, run=run.name, clock=SystemClock())
    (row,) = journal.head.tasks.values()
    journal.append(e.HostAwaited(reason=admit("waits for a host")), task=row.id, attempt=row.attempt)
    await journal.close()


def test_a_run_of_hosts_says_how_they_go_on(repo: Path, inside: Inside) -> None:
    """I resume a run without the hosts that worked it: it goes on here, and one line has the command for them."""
    assert inside(repo, "run", "--headless", "--check", "false", "--", "true")[0] == 3
    (run,) = (repo / ".git" / "unstuck" / "runs").iterdir()
    assert "hosts" not in inside(repo, "run", "--resume", "last", "--headless")[2]
    asyncio.run(_waits_for_a_host(run))
    code, _, errors = inside(repo, "run", "--resume", "last", "--headless")
    assert code == 3
    assert f"To have them go on: unstuck run --fleet --resume {run.name}" in errors


def test_a_warning_waits_for_the_end_of_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    """A screen hides warnings: each is printed once on the terminal that comes back."""
    output = Output(as_json=False)
    output.warn("before")
    output.is_quiet = True
    for line in ("first", "second", "first"):
        output.warn(line)
    assert capsys.readouterr().err == "unstuck: before\n"
    output.is_quiet = False
    assert capsys.readouterr().err == "unstuck: first\nunstuck: second\n"
