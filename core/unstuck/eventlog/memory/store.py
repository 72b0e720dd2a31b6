"""What a project has learnt: approaches that failed or worked, insights, and answers that people gave.

One JSON object a line, shared by all runs of a project, possibly several at once. It advises and decides nothing, so
reading is lenient: a line that makes no sense is skipped and counted. The file is only ever added to or replaced as a
whole, under its own lock.
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

__all__ = ["READ_LIMIT", "SPARE_LINES", "Memory", "memory_file"]

READ_LIMIT = 32 * 1024 * 1024
"""Bytes at the end of the file that are read, however long it has become; what stands before them is forgotten."""
SPARE_LINES = 1_000
"""How many lines that are worth nothing any more may stand in the file before it is written anew."""
_LINES_LIMIT = ENTRIES_LIMIT + RULES_LIMIT + SPARE_LINES


def memory_file(home: Path) -> Path:
    """Where the project with this home keeps it."""
    return home / "memory.jsonl"


class Memory:
    """The memory in the file at ``path``. Empty until ``load``, which also brings in what other runs have learnt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        """How many lines made no sense when it was loaded."""
        self._entries: list[Remembered] = []
        self._known = (0, 0)
        self._unsynced = False

    def __len__(self) -> int:
        return len(self._entries)

    def load(self) -> None:
        """Read the end of the file again; a missing one is empty. Blocks. Raises RecordError."""
        with _said(self.path, "read"):
            known, raw = _read(self.path, _LINES_LIMIT)
        entries = [read_entry(line) for line in raw]
        found = [entry for entry in entries if entry]
        self.skipped = len(entries) - len(found)
        self._entries, self._known = bounded(found), known

    async def refresh(self) -> None:
        """Load it again where another process has changed the file since. Raises RecordError."""
        if self._seen() != self._known:
            await asyncio.to_thread(self.load)

    def remember(self, entry: Remembered) -> None:
        """Keep one thing: a kill does not lose it any more, a power cut may until it is synced. Raises RecordError."""
        line = line_of(entry)
        with _said(self.path, "written"), _locked(self.path) as fd:
            status = os.fstat(fd)
            if status.st_size and os.pread(fd, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line  # a line that a crash cut short must not swallow this one
            write_all(fd, line)
            if self._known in ((0, 0), (status.st_ino, status.st_size)):
                self._known = status.st_ino, status.st_size + len(line)
        self._unsynced = True
        self._entries.append(entry)
        if len(self._entries) > _LINES_LIMIT:
            self._entries = bounded(self._entries)

    def sync(self) -> None:
        """Wait until everything that was remembered is safe. Blocks. Raises RecordError."""
        if not self._unsynced:
            return
        self._unsynced = False
        with _said(self.path, "written"), suppress(FileNotFoundError), open_for_reading(self.path) as file:
            os.fsync(file.fileno())
            sync_directory(self.path.parent)

    async def synced(self) -> None:
        """Wait, without holding anything up, until everything that was remembered is safe. Raises RecordError."""
        if self._unsynced:
            await asyncio.to_thread(self.sync)

    def compact(self, now: float) -> None:
        """Write a file that has grown anew, without what is worth nothing any more. Blocks. Raises RecordError.

        ``now`` is in seconds since 1970.
        """

        def left(entries: list[Remembered], size: int, lines: int) -> list[Remembered] | None:
            kept = worth_keeping(entries, now)
            return kept if size > READ_LIMIT or lines - len(kept) >= SPARE_LINES else None

        self._rewrite(left)

    def forget(self, ids: Collection[str]) -> tuple[Remembered, ...]:
        """Take out of the file what is called so, and return it. Blocks. Raises RecordError.

        With a rule go the ones that it had replaced, which would hold again.
        """
        gone: list[Remembered] = []

        def left(entries: list[Remembered], size: int, lines: int) -> list[Remembered] | None:
            named = [entry for entry in entries if entry.id in ids]
            rules = {entry.signature for entry in named if entry.kind == "rule"}
            kept = [e for e in entries if e not in named and not (e.kind == "rule" and e.signature in rules)]
            gone.extend(named)
            return kept if named else None

        self._rewrite(left)
        return tuple(gone)

    def entries(self, kind: Kind | None = None, *, signature: str | None = None) -> tuple[Remembered, ...]:
        """What is remembered, newest first; of one kind and about one signature where these are given."""
        about = None if signature is None else clean(signature)
        return tuple(
            entry
            for entry in reversed(self._entries)
            if kind in (None, entry.kind) and about in (None, entry.signature)
        )

    def rule(self, signature: str) -> Remembered | None:
        """What a person wants an agent to be told about this failure by itself; None where nothing is."""
        return rule_of(self.entries("rule", signature=signature))

    def failed(self, signature: str) -> frozenset[str]:
        """Approaches whose last use against this signature failed."""
        last = _last_use(self.entries("approach", signature=signature))
        return frozenset(entry.approach for entry in last if entry.outcome == "failed")

    def _seen(self) -> tuple[int, int]:
        try:
            status = self.path.stat()
        except OSError:
            return (0, 0)
        return status.st_ino, status.st_size

    def _rewrite(self, left: Callable[[list[Remembered], int, int], list[Remembered] | None]) -> None:
        """Replace the file by what ``left`` makes of its entries, size and number of lines; None leaves it.

        The new file is whole and on disk before it takes the old one's name, so a kill leaves one or the other; who
        waits for the old one's lock takes the new one then.
        """
        if not self.path.exists():
            return
        with _said(self.path, "written"), _locked(self.path):
            (_, size), raw = _read(self.path)
            kept = left([entry for entry in map(read_entry, raw) if entry], size, len(raw))
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
    """The file (its number and size) and its last ``lines`` whole lines, of the end that is read at all.

    One that is too long comes in pieces, none of which makes sense.
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
    """The file, which nobody else may change meanwhile; never one that has been replaced while it was waited for."""
    while True:
        fd = open_for_writing(path, os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is(fd, path):
                yield fd
                return
        finally:
            os.close(fd)


def _is(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _said(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise RecordError(f"{path}: cannot be {verb}: {problem.strerror or problem}") from problem


def _last_use(newest_first: Iterable[Remembered]) -> tuple[Remembered, ...]:
    """The newest entry of each approach, in the order given."""
    last: dict[str, Remembered] = {}
    for entry in newest_first:
        if entry.approach:
            last.setdefault(entry.approach, entry)
    return tuple(last.values())
