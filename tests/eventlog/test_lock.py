"""One live run per project."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from unstuck.errors import ProjectError, ProjectLocked
from unstuck.eventlog.storage.lock import ProjectLock, read_holder

HOLDER = """
import subprocess, sys
from pathlib import Path
from unstuck.eventlog.storage.lock import ProjectLock
ProjectLock(Path(sys.argv[1]), run="r-other").acquire()
child = subprocess.Popen(["sleep", "600"], close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def other_run(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, with a program it started beside it."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdin=-1, stdout=-1, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    started = int(holder.stdout.readline())
    try:
        yield holder
        assert psutil.pid_exists(started)
    finally:
        os.kill(started, signal.SIGKILL)
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


def test_a_second_run_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    """While another process runs here, a second one is refused and the message names the first."""
    path = tmp_path / "lock"
    with other_run(path) as holder:
        with pytest.raises(ProjectLocked, match=str(holder.pid)) as refused:
            ProjectLock(path).acquire()
        assert refused.value.lock == path
        assert refused.value.pid == holder.pid
        said = read_holder(path)
        assert said is not None
        assert said.pid == holder.pid
        assert said.run == "r-other"
        assert said.started == psutil.Process(holder.pid).create_time()


def test_kill_9_frees_the_lock_although_its_programs_live_on(tmp_path: Path) -> None:
    """A killed run does not block the project, even while an agent that it started is still alive."""
    path = tmp_path / "lock"
    with other_run(path) as holder:
        holder.kill()
        holder.wait()
        with ProjectLock(path, run="r-mine") as lock:
            assert lock.held
            said = read_holder(path)
            assert said is not None
            assert said.pid == os.getpid()
            assert said.run == "r-mine"


def test_kill_9_frees_the_lock_although_it_has_just_forked(tmp_path: Path) -> None:
    """Until its program starts, a child of the killed run has the lock, too; the next run waits for that."""
    path = tmp_path / "lock"
    forked = """
import os, signal, sys, time
from pathlib import Path
from unstuck.eventlog.storage.lock import ProjectLock
ProjectLock(Path(sys.argv[1]), run="r-other").acquire()
if os.fork():
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.3)
os.execvp("true", ["true"])
"""
    died = subprocess.run([sys.executable, "-c", forked, path], check=False)
    assert died.returncode == -signal.SIGKILL
    with ProjectLock(path) as lock:
        assert lock.held


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    """Release gives the lock back, forgets the holder, and may be called twice."""
    path = tmp_path / "lock"
    first, second = ProjectLock(path, run="r-1"), ProjectLock(path, run="r-2")
    first.acquire()
    for lock in (first, second):
        with pytest.raises(ProjectLocked) as refused:
            lock.acquire()
        assert refused.value.pid == os.getpid()
    assert first.held
    first.release()
    first.release()
    assert read_holder(path) is None
    second.acquire()
    assert first.held is False
    assert second.held is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second.release()


def test_the_lock_is_given_back_when_the_run_fails(tmp_path: Path) -> None:
    """An exception inside the block releases the lock."""
    with pytest.raises(RuntimeError), ProjectLock(tmp_path / "lock"):
        raise RuntimeError
    with ProjectLock(tmp_path / "lock") as lock:
        assert lock.held


def test_a_deleted_lock_file_makes_no_second_holder_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the file is deleted between opening and locking, the lock is taken on the new file that others see."""
    path = tmp_path / "lock"
    path.touch()
    real = os.open
    opened: list[int] = []

    def open_then_delete(name: Path, *arguments: int, **others: int) -> int:
        fd = real(name, *arguments, **others)  # Python itself opens by name and directory, too
        if name != path:
            return fd
        opened.append(fd)
        if len(opened) == 1:
            path.unlink()
        return fd

    monkeypatch.setattr("unstuck.eventlog.storage.lock.os.open", open_then_delete)
    lock = ProjectLock(path)
    lock.acquire()
    assert len(opened) == 2
    with pytest.raises(ProjectLocked):
        ProjectLock(path).acquire()
    lock.release()


def test_nobody_holds_a_copy_of_a_lock(tmp_path: Path) -> None:
    """In a project that is copied while a run is live there is no live run; on another machine only the word counts."""
    path, copy = tmp_path / "lock", tmp_path / "copy"
    with ProjectLock(path, run="r-mine"):
        copy.write_bytes(path.read_bytes())
        assert read_holder(copy) is None
        assert read_holder(path) is not None
        copy.write_text(path.read_text("utf-8").replace(os.uname().nodename, "elsewhere"), encoding="utf-8")
        assert read_holder(copy) is not None


@pytest.mark.parametrize(
    "said", [b"", b"hello", b"[]", b"{}", b'{"pid":"x"}', b"\xff\x00", b'{"pid":1,"started":{},"run":""}']
)
def test_nonsense_in_the_lock_file_is_no_holder(tmp_path: Path, said: bytes) -> None:
    """Whatever stands in the file, it names nobody and can be locked."""
    path = tmp_path / "lock"
    path.write_bytes(said)
    assert read_holder(path) is None
    with ProjectLock(path):
        assert read_holder(path) is not None


def test_a_place_that_cannot_be_locked_says_so(tmp_path: Path) -> None:
    """A missing directory is one clear line, not a traceback."""
    with pytest.raises(ProjectError, match="cannot be locked"):
        ProjectLock(tmp_path / "none" / "lock").acquire()
