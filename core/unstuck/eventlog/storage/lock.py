"""One live run per project: a lock that the kernel gives back however its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from unstuck.errors import ProjectError, ProjectLocked
from unstuck.eventlog.storage.durable_files import open_for_reading, open_for_writing
from unstuck.text import one_line

__all__ = ["Holder", "ProjectLock", "read_holder"]

_READ_LIMIT = 4096


class Holder(NamedTuple):
    """Who wrote the lock last: process, when that process started (seconds since 1970), run. For display only.

    ``host`` is the machine, where that is another one.
    """

    pid: int
    started: float
    run: str
    host: str = ""


class ProjectLock:
    """The lock file at ``path``, held from ``acquire`` to ``release`` or death.

    Only the kernel's lock counts; what the file says is for people. Programs started meanwhile do not inherit it.
    """

    def __init__(self, path: Path, *, run: str = "") -> None:
        self.path = path
        self.run = run
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self) -> None:
        """Take the lock at once or raise ProjectLocked; ProjectError where the file cannot be used."""
        try:
            self._fd = self._take()
        except BlockingIOError:
            holder = read_holder(self.path)
            raise ProjectLocked(self.path, *((holder.pid, holder.host) if holder else (0,))) from None
        except OSError as problem:
            raise ProjectError(f"{self.path}: cannot be locked: {problem.strerror or problem}") from problem

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
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

    def _take(self) -> int:
        """The descriptor of the locked file, which still has its name: a deleted one would lock nobody out."""
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
        said = {"pid": os.getpid(), "started": _process_started(), "run": self.run, "host": os.uname().nodename}
        said["file"] = _identity(fd)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(said).encode() + b"\n", 0)


def read_holder(path: Path) -> Holder | None:
    """Who wrote the lock last, None where nothing sensible is written. Says nothing about whether it is held.

    In a copy of the file, as of a whole project that is copied while a run is live in it, nobody holds anything.
    """
    try:
        with open_for_reading(path) as file:
            said = json.loads(file.read(_READ_LIMIT))
            file_itself = _identity(file.fileno())
        host = one_line(str(said.get("host", "")))
        elsewhere = host if host != os.uname().nodename else ""
        if not elsewhere and said.get("file", file_itself) != file_itself:
            return None  # on another machine the same file may well have another number
        return Holder(int(said["pid"]), float(said["started"]), str(said["run"]), elsewhere)
    except (AttributeError, OSError, ValueError, TypeError, KeyError, OverflowError):
        return None


def _identity(fd: int) -> list[int]:
    status = os.fstat(fd)
    return [status.st_dev, status.st_ino]


def _process_started() -> float:
    # Imported here because a reader of locks should not pay for it.
    import psutil

    return psutil.Process().create_time()
