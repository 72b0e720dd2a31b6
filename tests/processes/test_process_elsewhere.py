"""Processes without Linux's facilities, as on macOS: all is imported, works, and ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.processes.conftest import Lab
from tests.waiting import has_ended

OTHER = Path(__file__).with_name("other_system.py")

ALL_OF_IT = """
import asyncio, importlib, os, pkgutil, sys, time
import click, psutil, pydantic, rich.console, textual.app, yaml, zoneinfo
pydantic.BaseModel  # what others do by the system's name is theirs: only our own modules are told another one
sys.platform = "darwin"
del os.pidfd_open
del time.CLOCK_BOOTTIME
import unstuck, unstuck_tui
for package in (unstuck, unstuck_tui):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "__main__" not in module.name and ".shim." not in module.name and module.name != "unstuck.testing.agent":
            importlib.import_module(module.name)
from pathlib import Path
from unstuck.processes import shim_launcher as helpers; from unstuck.processes import orphans as survivors
helpers.SHIM = survivors.SHIM = Path(sys.argv.pop(1))
assert abs(unstuck.clock.SystemClock().asleep()) < 1
from unstuck_tui.cli import main
main()
"""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers and waits as they are on another system."""
    monkeypatch.delattr(os, "pidfd_open")
    for module in ("shim_launcher", "orphans"):
        monkeypatch.setattr(f"unstuck.processes.{module}.SHIM", OTHER)


async def test_a_whole_run_without_linux(repo: Path) -> None:
    """Every module is imported and one command is worked to its end, check and all."""
    agent = ("sh", "-c", "echo done > result.txt; setsid sleep 1000 & echo $! > left; sleep 1000 & echo $! >> left")
    command = ("run", "--headless", "--task", "Write it.", "--verify", "grep done result.txt", "--", *agent)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", ALL_OF_IT, str(OTHER), *command],
        cwd=repo,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(map(has_ended, map(int, (repo / "left").read_text().split())))


async def test_what_is_left_over_is_found_by_the_supervisor(lab: Lab, elsewhere: None) -> None:
    """A helper that sees no other processes ends the agent's group; who left it is found by its tag, and all listed."""
    process = await lab.shell("setsid sleep 1000 & echo $!; sleep 1000 & echo $!; echo ready; exit 3")
    end = await process.wait()
    left = [int(line) for line in lab.output.read_text().split()[:2]]
    assert end.code == 3
    assert end.receipt.alive == ()
    assert all(map(has_ended, left))
    assert left[0] in {pid for pid, _, _ in end.receipt.ended}


async def test_a_stop_still_climbs(lab: Lab, elsewhere: None) -> None:
    """Deaf to INT and TERM, it is killed; freezing and letting go on work by the group."""
    # It starts nothing: a shell whose new child is frozen before it has become a program is never seen to stand still.
    process = await lab.shell("trap '' INT TERM; echo ready; exec sleep 1000")
    await lab.hears("ready")
    agent = psutil.Process(process.pid)
    process.freeze()
    while agent.status() != psutil.STATUS_STOPPED:
        await lab.turn()
    process.resume()
    while agent.status() == psutil.STATUS_STOPPED:
        await lab.turn()
    receipt = await process.stop(interrupt=0.1, terminate=0.1)
    assert (process.pid, "killed") in {(pid, how) for pid, _, how in receipt.ended}
    assert (await process.wait()).signal == signal.SIGKILL
