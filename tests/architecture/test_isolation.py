"""Isolation of the tests: no home, network or other project of the machine reaches them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock


def git(repo: Path, *arguments: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True, text=True).stdout.strip()


def test_nothing_of_the_user_is_seen(isolated: Path) -> None:
    """A test sees an empty home and no settings, state or identity of the person who runs it."""
    assert Path.home() == isolated
    assert list(isolated.iterdir()) == []
    assert [name for name in os.environ if name.startswith("GIT_")] == ["GIT_CONFIG_NOSYSTEM"]
    assert all(os.environ[f"XDG_{name}_HOME"].startswith(str(isolated)) for name in ("CONFIG", "STATE", "CACHE"))


def test_room_for_a_socket() -> None:
    """A socket with a long name fits below the runtime directory."""
    runtime = Path(os.environ["UNSTUCK_RUNTIME_DIR"])
    assert runtime.is_dir()
    assert len(str(runtime / ("f" * 64 + ".sock"))) < 108


def test_a_real_repository(repo: Path) -> None:
    """The repository is a real one: one commit on ``main``, clean, by nobody real."""
    assert git(repo, "log", "--format=%an <%ae> %s") == "Ann Example <ann@example.org> Start"
    assert git(repo, "branch", "--show-current") == "main"
    assert git(repo, "status", "--porcelain") == ""


async def test_time_stands_still(clock: ManualClock) -> None:
    """Time passes when a test says so, and by exactly as much."""
    before = clock.monotonic()
    await clock.advance(5.0)
    assert clock.monotonic() - before == 5.0


@pytest.mark.unit
def test_a_unit_test_cannot_start_a_process() -> None:
    """A test that is marked as a unit test and starts a program fails, so that the marker stays true."""
    with pytest.raises(pytest.fail.Exception, match="starts no process"):
        subprocess.Popen([sys.executable, "-c", ""])
