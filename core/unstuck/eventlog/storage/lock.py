"""Locks for one live run and one live watch per project. The kernel releases it however its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from unstuck.errors import ProjectError, ProjectLocked, RecordWriteFailed, system_failure
from unstuck.eventlog.storage.durable_files import NO_ROOM, open_for_reading, open_for_writing
from unstuck.text import one_line

_READ_LIMIT = 4096
_CHILD_S, _PAUSE_S = 2.0, 0.02
RUN_LOCK, WATCH_LOCK = "lock", "watch.lock"
"""Names of the lock files: a project has at most one live run and, beside it, one live watch."""


class Holder(NamedTuple):
    """Last writer of the lock: process, its start (seconds since 1970), and run. For display only.

    ``host`` is the machine if it is another one.
    """

    pid: int
    started: float
    run: str
    host: str = ""


class ProjectLock:
    """Lock file at ``path``, held from ``acquire`` to ``release`` or the end of the process.

    Only the kernel's lock counts; the content of the file is for people. Child programs do not inherit the lock.
    """

    def __init__(self, path: Path, *, run: str = "") -> None:
        self.path = path
        self.run = run
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """True if this object holds the lock."""
        return self._fd is not None

    def acquire(self) -> None:
        """Take the lock, at once unless its holder has just died.

        Raises ProjectLocked, RecordError, or ProjectError if it cannot be used.
        """
        try:
            self._fd = self._take_from_the_dead()
        except BlockingIOError:
            holder = read_holder(self.path)
            raise ProjectLocked(self.path, *((holder.pid, holder.host) if holder else (0,))) from None
        except OSError as problem:
            if problem.errno in NO_ROOM:
                raise RecordWriteFailed(f"{self.path}: cannot be written: {problem.strerror}: make room") from problem
            if (failure := system_failure(problem)) is not None:
                raise failure from problem
            raise ProjectError(f"{self.path}: cannot be locked: {problem.strerror or problem}") from problem

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with suppress(OSError):
            os.ftruncate(fd, 0)
        os.close(fd)

    def __enter__(self) -> ProjectLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _take_from_the_dead(self) -> int:
        """Wait a moment for a dead holder's child, which has the lock from its fork until its program starts."""
        end = time.monotonic() + _CHILD_S
        while True:
            try:
                return self._take()
            except BlockingIOError:
                holder = read_holder(self.path)
                if holder is None or holder.host or _is_alive(holder.pid) or time.monotonic() > end:
                    raise
            time.sleep(_PAUSE_S)

    def _take(self) -> int:
        """Return the descriptor of the locked file. A file that was deleted meanwhile is opened again."""
        while True:
            fd = open_for_writing(self.path, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_named(fd):
                    self._sign(fd)
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)

    def _is_named(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _sign(self, fd: int) -> None:
        holder = {"pid": os.getpid(), "started": _process_started(), "run": self.run, "host": os.uname().nodename}
        holder["file"] = _identity(fd)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(holder).encode() + b"\n", 0)


@contextmanager
def alone_in(directory: Path, *, wait: bool = True) -> Iterator[None]:
    """Keep other processes that do the same out of ``directory`` for a moment, where its file system can.

    Without ``wait`` it raises BlockingIOError where another one is in it.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def read_holders(home: Path) -> list[Holder]:
    """Return the last writers of the locks in the project's ``home``: that of a run, then that of a watch."""
    holders = (read_holder(home / name) for name in (RUN_LOCK, WATCH_LOCK))
    return [holder for holder in holders if holder is not None]


def read_holder(path: Path) -> Holder | None:
    """Return the last writer of the lock, None if unreadable. The lock itself may be held or free.

    A copy of the file, as in a project copied during a live run, has no holder.
    """
    try:
        with open_for_reading(path) as file:
            holder = json.loads(file.read(_READ_LIMIT))
            file_itself = _identity(file.fileno())
        host = one_line(str(holder.get("host", "")))
        elsewhere = host if host != os.uname().nodename else ""
        if not elsewhere and holder.get("file", file_itself) != file_itself:
            return None  # on another machine the same file may have another inode
        return Holder(int(holder["pid"]), float(holder["started"]), str(holder["run"]), elsewhere)
    except (AttributeError, OSError, ValueError, TypeError, KeyError, OverflowError):
        return None


def _identity(fd: int) -> list[int]:
    status = os.fstat(fd)
    return [status.st_dev, status.st_ino]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _process_started() -> float:
    # Imported here because reading a lock does not need it.
    import psutil

    return psutil.Process().create_time()
