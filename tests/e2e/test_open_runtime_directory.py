"""A runtime directory that others can write: whoever could be deaf there says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck


@pytest.fixture
def shared(unstuck: Unstuck, tmp_path: Path) -> Path:
    """The runtime directory of ``unstuck``, where every user may write."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    unstuck.environment["UNSTUCK_RUNTIME_DIR"] = str(folder)
    return folder


def test_a_watch_that_would_hear_nothing_does_not_begin(unstuck: Unstuck, shared: Path) -> None:
    """It ends with the reason and what to do, and leaves no run behind."""
    done = unstuck("watch", "--headless")
    assert done.code not in (0, 130), done
    assert f"{shared} is open to other users: chmod 700 it" in done.errors
    assert unstuck.runs == []


def test_the_doctor_finds_it(unstuck: Unstuck, shared: Path) -> None:
    """It names the directory and the command that mends it."""
    done = unstuck.inside("doctor")
    assert done.code != 0
    assert f"{shared} is open to other users" in done.out
    assert f"chmod 700 {shared}" in done.out
    shared.chmod(0o700)
    assert "open to other users" not in unstuck.inside("doctor").out


def test_a_run_goes_on_and_says_what_it_cannot_hear(unstuck: Unstuck, shared: Path) -> None:
    """It needs no socket for its own agents."""
    done = unstuck("run", "--headless", "--verify", "true", "--", "touch", "a")
    assert done.code == 0, done
    assert f"{shared} is open to other users" in done.errors
    assert "do not reach this run" in done.errors
