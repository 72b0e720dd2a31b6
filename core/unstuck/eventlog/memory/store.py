"""Memory of a project: approaches that failed or worked, research findings, answers and rules.

The file has one JSON object per line and is shared by all runs of a project. The memory only advises, so lines that
cannot be read are skipped and counted. The file is appended to or replaced as a whole, under its own lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unstuck.errors import RecordError
from unstuck.eventlog.memory.entry import (
    ENTRIES_LIMIT,
    LINE_LIMIT,
    RULES_LIMIT,
    Kind,
    Remembered,
    bounded,
    clean,
    line_of,
    read_entry,
    rule_of,
    worth_keeping,
)
from unstuck.eventlog.storage.durable_files import (
    open_for_reading,
    open_for_writing,
    open_fresh,
    sync_directory,
    write_all,
)

READ_LIMIT = 32 * 1024 * 1024
"""Bytes that are read, from the end of the file. Entries before them are forgotten."""
SPARE_LINES = 1_000
"""Number of outdated lines at which the file is compacted."""
_LINES_LIMIT = ENTRIES_LIMIT + RULES_LIMIT + SPARE_LINES


def memory_file(home: Path) -> Path:
    """Return the path of the memory of the project with this home."""
    return home / "memory.jsonl"


class Memory:
    """The memory in the file at ``path``. Empty until ``load``, which also reads the entries of other runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        """Number of lines that could not be read."""
        self._entries: list[Remembered] = []
        self._known = (0, 0)
        self._unsynced = False

    def __len__(self) -> int:
        return len(self._entries)

    def load(self) -> None:
        """Read the end of the file again; a missing file is empty. Blocks. Raises RecordError."""
        with _record_errors(self.path, "read"):
            known, raw = _read(self.path, _LINES_LIMIT)
        entries = [read_entry(line) for line in raw]
        found = [entry for entry in entries if entry]
        self.skipped = len(entries) - len(found)
        self._entries, self._known = bounded(found), known

    async def refresh(self) -> None:
        """Load the file again if another process has changed it. Raises RecordError."""
        if self._identity() != self._known:
            await asyncio.to_thread(self.load)

    def remember(self, entry: Remembered) -> None:
        """Append an entry, which then survives a kill, and a power cut once synced. Raises RecordError."""
        line = line_of(entry)
        with _record_errors(self.path, "written"), _locked(self.path) as fd:
            status = os.fstat(fd)
            if status.st_size and os.pread(fd, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line  # a line that a crash cut short must not join this one
            write_all(fd, line)
            if self._known in ((0, 0), (status.st_ino, status.st_size)):
                self._known = status.st_ino, status.st_size + len(line)
        self._unsynced = True
        self._entries.append(entry)
        if len(self._entries) > _LINES_LIMIT:
            self._entries = bounded(self._entries)

    def sync(self) -> None:
        """Sync all entries to disk. Blocks. Raises RecordError."""
        if not self._unsynced:
            return
        self._unsynced = False
        with _record_errors(self.path, "written"), suppress(FileNotFoundError), open_for_reading(self.path) as file:
            os.fsync(file.fileno())
            sync_directory(self.path.parent)

    async def synced(self) -> None:
        """Sync all entries to disk in a thread. Raises RecordError."""
        if self._unsynced:
            await asyncio.to_thread(self.sync)

    def compact(self, now: float) -> None:
        """Rewrite a file with many outdated lines without them. Blocks. Raises RecordError.

        ``now`` is in seconds since 1970.
        """

        def select(entries: list[Remembered], size: int, lines: int) -> list[Remembered] | None:
            kept = worth_keeping(entries, now)
            return kept if size > READ_LIMIT or lines - len(kept) >= SPARE_LINES else None

        self._rewrite(select)

    def forget(self, ids: Collection[str]) -> tuple[Remembered, ...]:
        """Remove the entries with these ids from the file, and return them. Blocks. Raises RecordError.

        With a rule go the rules that it had replaced, which would be active again; with a research finding its earlier
        entries.
        """
        gone: list[Remembered] = []

        def select(entries: list[Remembered], size: int, lines: int) -> list[Remembered] | None:
            named = [entry for entry in entries if entry.id in ids]
            rules = {entry.signature for entry in named if entry.kind == "rule"}
            findings = {entry.finding for entry in named if entry.kind == "insight"}
            kept = [
                e
                for e in entries
                if e not in named
                and not (e.kind == "rule" and e.signature in rules)
                and not (e.kind == "insight" and e.finding in findings)
            ]
            gone.extend(named)
            return kept if named else None

        self._rewrite(select)
        return tuple(gone)

    def entries(self, kind: Kind | None = None, *, signature: str | None = None) -> tuple[Remembered, ...]:
        """Return the entries, newest first, optionally of one kind and one signature."""
        about = None if signature is None else clean(signature)
        return tuple(
            entry
            for entry in reversed(self._entries)
            if kind in (None, entry.kind) and about in (None, entry.signature)
        )

    def rule(self, signature: str) -> Remembered | None:
        """Return the active rule about this failure, None without one."""
        return rule_of(self.entries("rule", signature=signature))

    def failed(self, signature: str) -> frozenset[str]:
        """Return the approaches whose last use against this signature failed."""
        last = _last_use(self.entries("approach", signature=signature))
        return frozenset(entry.approach for entry in last if entry.outcome == "failed")

    def stopped(self, signature: str) -> frozenset[str]:
        """Return the approaches that others have overtaken against this signature, and that were never judged."""
        used = self.entries("approach", signature=signature)
        judged = {entry.approach for entry in used if entry.outcome != "stopped"}
        return frozenset(entry.approach for entry in used if entry.approach not in judged)

    def _identity(self) -> tuple[int, int]:
        try:
            status = self.path.stat()
        except OSError:
            return (0, 0)
        return status.st_ino, status.st_size

    def _rewrite(self, select: Callable[[list[Remembered], int, int], list[Remembered] | None]) -> None:
        """Replace the file with the result of ``select`` for its entries, size and number of lines; None keeps it.

        The new file is synced before it replaces the old one, so a kill leaves one or the other. Processes that wait
        for the lock of the old file open the new one then.
        """
        if not self.path.exists():
            return
        with _record_errors(self.path, "written"), _locked(self.path):
            (_, size), raw = _read(self.path)
            kept = select([entry for entry in map(read_entry, raw) if entry], size, len(raw))
            if kept is not None:
                fresh = self.path.with_name(self.path.name + ".new")
                fd = open_fresh(fresh)
                try:
                    write_all(fd, b"".join(map(line_of, kept)))
                    os.fsync(fd)
                finally:
                    os.close(fd)
                fresh.replace(self.path)
                sync_directory(self.path.parent)
        if kept is not None:
            self.load()


def _read(path: Path, lines: int | None = None) -> tuple[tuple[int, int], list[bytes]]:
    """Return the identity of the file (inode and size) and the last ``lines`` lines within the read limit.

    A line that is too long is split into pieces that cannot be read.
    """
    try:
        with open_for_reading(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > READ_LIMIT:
                file.seek(status.st_size - READ_LIMIT)
                file.readline(LINE_LIMIT)
            found = iter(lambda: file.readline(LINE_LIMIT), b"")
            return (status.st_ino, status.st_size), list(deque(found, maxlen=lines))
    except FileNotFoundError:
        return (0, 0), []


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open and lock the file. A file that was replaced during the wait is opened again."""
    while True:
        fd = open_for_writing(path, os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_same_file(fd, path):
                yield fd
                return
        finally:
            os.close(fd)


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _record_errors(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise RecordError(f"{path}: cannot be {verb}: {problem.strerror or problem}") from problem


def _last_use(newest_first: Iterable[Remembered]) -> tuple[Remembered, ...]:
    """Return the newest entry of each approach that says how it ended, in the given order."""
    last: dict[str, Remembered] = {}
    for entry in newest_first:
        if entry.approach and entry.outcome != "stopped":
            last.setdefault(entry.approach, entry)
    return tuple(last.values())
