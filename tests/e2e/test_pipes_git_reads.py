"""Named pipes in the place of files that git reads: nothing waits for their other end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest
from tests.e2e.conftest import Unstuck


@pytest.mark.parametrize(
    "place", [".gitattributes", ".gitignore", "sub/.gitattributes", "sub/.gitignore", ".git/info/exclude", ".git/HEAD"]
)
def test_a_pipe_that_git_reads_is_named(unstuck: Unstuck, place: str) -> None:
    """A checkpoint of such a tree fails with the path, holds no lock, and works once the pipe is gone."""
    pipe = unstuck.root / place
    pipe.parent.mkdir(exist_ok=True)
    (pipe.parent / "a.txt").write_text("a")
    before = pipe.read_bytes() if pipe.exists() else None
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    done = unstuck("checkpoints", "create", "-m", "x")
    if place != ".git/info/exclude":  # which git need not read here
        assert done.code in (1, 2), done
        assert f"{place} is a pipe" in done.errors
    pipe.unlink()
    if before is not None:
        pipe.write_bytes(before)
    again = unstuck("checkpoints", "create", "-m", "y")
    assert again.code == 0, again


def test_a_pipe_as_the_index_is_read_by_nobody(unstuck: Unstuck) -> None:
    """The user's index may be a pipe: a checkpoint or a message, but no wait."""
    index = unstuck.root / ".git" / "index"
    saved = index.read_bytes()
    index.unlink()
    os.mkfifo(index)
    unstuck("checkpoints", "create", "-m", "x")
    index.unlink()
    index.write_bytes(saved)
    assert unstuck("checkpoints", "create", "-m", "y").code == 0


def test_a_pipe_that_the_configuration_includes_is_no_wait(unstuck: Unstuck) -> None:
    """Also where the name of the file is the repository's own choice."""
    pipe = unstuck.root / "odd"
    os.mkfifo(pipe)
    with (unstuck.root / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\texcludesFile = {pipe}\n")
    done = unstuck("checkpoints", "create", "-m", "x")
    assert done.code in (1, 2), done
    assert "named pipe" in done.errors


@pytest.mark.parametrize("place", [".gitattributes", ".git/info/exclude"])
def test_an_agent_that_makes_a_pipe_stops_no_run(unstuck: Unstuck, place: str) -> None:
    """The run comes to its end or to a question, and so does its resume."""
    (unstuck.root / "unstuck.yaml").write_text("failure_handler: {max_retries: 1, max_pivots: 1, max_research: 0}\n")
    agent = unstuck.script("agent.sh", f"rm -f {place}; mkfifo {place}; echo x > work.txt; exit 0")
    done = unstuck("run", "--headless", "--task", "x", "--verify", "test -f never", "--", "sh", agent)
    assert done.code in (1, 3), done
    again = unstuck("run", "--headless", "--resume", "last")
    assert again.code in (1, 2, 3), again
    assert not [process for process in psutil.process_iter(["name"]) if _works_in(process, unstuck.root)]


def test_a_killed_command_leaves_no_lock_behind(unstuck: Unstuck) -> None:
    """Its git waits for a pipe for ever; the next command ends it and does its work."""
    pipe = unstuck.root / ".gitattributes"
    os.mkfifo(pipe)
    begun = unstuck.start("checkpoints", "create", "-m", "x")
    watched = psutil.Process(begun.pid)
    left: list[psutil.Process] = []
    while not left and begun.poll() is None:
        left = [child for child in watched.children(recursive=True) if _waits(child)]
    assert left, "no git waited"
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    pipe.unlink()
    assert unstuck("checkpoints", "create", "-m", "y").code == 0
    psutil.wait_procs(left, timeout=60)
    assert not [process for process in left if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def _waits(process: psutil.Process) -> bool:
    try:
        return Path(f"/proc/{process.pid}/wchan").read_text() in ("wait_for_partner", "fifo_open")
    except OSError:
        return False


def _works_in(process: psutil.Process, root: Path) -> bool:
    try:
        return process.name().startswith("git") and Path(process.cwd()).is_relative_to(root)
    except (psutil.Error, OSError):
        return False
