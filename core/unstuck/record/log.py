"""The append-only log: one JSON object a line, numbered without gaps and chained by checksums.

A line is ``{"v":1,"seq":N,…,"crc":"xxxxxxxx"}`` in ASCII. The checksum is the CRC-32 of the line's bytes before
``,"crc":``, continued from the line before, so that no line can change, vanish, double or move unnoticed.

A line is either whole or *torn*: the unfinished last one that a crash leaves behind, which was never acknowledged.
Everything else that does not fit is damage and is refused, because guessing would rewrite history.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple

from unstuck.errors import RecordDamaged, RecordError, RecordWriteFailed

__all__ = [
    "LINE_LIMIT",
    "SCHEMA",
    "START",
    "Inspection",
    "Line",
    "LogWriter",
    "Position",
    "Torn",
    "holds",
    "read_lines",
    "sync_directory",
    "verify",
    "write_all",
]

SCHEMA = 1
LINE_LIMIT = 16 * 1024 * 1024
"""Bytes in the longest line; longer texts belong in files of their own."""

_SECTOR = bytes(512)
_SEAL = b',"crc":"%08x"}\n'
_SEAL_SIZE = len(_SEAL % 0)
_HEAD = re.compile(rb'\{"v":(\d{1,9}),"seq":(\d{1,18}),')


class Position(NamedTuple):
    """The end of record ``seq``: ``offset`` bytes into the file, with the checksum ``crc`` of all before it."""

    seq: int = 0
    offset: int = 0
    crc: int = 0


START = Position()


class Line(NamedTuple):
    """One record: ``offset`` is where it starts, ``raw`` its bytes with the newline, ``version`` its schema number."""

    seq: int
    offset: int
    raw: bytes
    version: int
    crc: int

    @property
    def end(self) -> Position:
        """Where the next record starts."""
        return Position(self.seq, self.offset + len(self.raw), self.crc)


class Inspection(NamedTuple):
    """A log that can be trusted: ``bytes`` of it are whole records, ``torn`` more follow."""

    records: int
    bytes: int
    last_crc: int
    torn: int

    @property
    def end(self) -> Position:
        """Where the next record starts, for a writer to go on from."""
        return Position(self.records, self.bytes, self.last_crc)


class Torn(NamedTuple):
    """A repair: ``bytes`` unfinished bytes from ``offset`` on were moved into ``file``."""

    offset: int
    bytes: int
    file: Path


def read_lines(path: Path, *, after: int = 0, start: Position = START) -> Iterator[Line]:
    """The records after number ``after``, checked one by one from ``start`` on; stops before a torn tail.

    Holds one line at a time. ``start`` spares reading what a snapshot stands for. A line of a newer schema is not
    damage: look at its ``version``. Raises RecordDamaged, and RecordError where the file cannot be read.
    """
    seq, offset, crc = start
    try:
        with path.open("rb") as file:
            if not _seek(file, start):
                raise RecordDamaged(path, seq, offset, f"record {seq} does not end here")
            while raw := file.readline(LINE_LIMIT + 1):
                seq += 1
                crc = zlib.crc32(raw[:-_SEAL_SIZE], crc)
                version = _version(raw, seq)
                if version is None or raw[-_SEAL_SIZE:] != _SEAL % crc:
                    if not _is_relined(raw, crc) and _is_torn(raw, file):
                        return
                    raise RecordDamaged(path, seq, offset, _problem(raw, seq))
                if seq > after:
                    yield Line(seq, offset, raw, version, crc)
                offset += len(raw)
    except OSError as problem:
        raise RecordError(f"{path}: cannot be read: {problem.strerror or problem}") from problem


def verify(path: Path, *, start: Position = START) -> Inspection:
    """Check every record from ``start`` on. Raises as ``read_lines`` does."""
    end = start
    for line in read_lines(path, start=start):
        end = line.end
    return Inspection(end.seq, end.offset, end.crc, path.stat().st_size - end.offset)


def holds(path: Path, position: Position) -> bool:
    """Whether a record with this checksum ends at ``position``; False too where the file cannot be read."""
    try:
        with path.open("rb") as file:
            return _seek(file, position)
    except OSError:
        return False


def _seek(file: IO[bytes], position: Position) -> bool:
    """Go to ``position`` and say whether it is the end of a record."""
    if position == START:
        return True
    file.seek(max(0, position.offset - _SEAL_SIZE))
    return file.read(_SEAL_SIZE) == _SEAL % position.crc


def _version(raw: bytes, seq: int) -> int | None:
    """The schema number of a line that claims to be record ``seq``, None for any other line."""
    if raw.startswith(b'{"v":%d,"seq":%d,' % (SCHEMA, seq)):
        return SCHEMA
    head = _HEAD.match(raw)
    return int(head[1]) if head and head[2] == b"%d" % seq else None


def _is_relined(raw: bytes, crc: int) -> bool:
    """Whether a whole record has another byte in the place of its newline: changed, for nothing is torn there.

    A zero is no such byte: a hole may be as small as that.
    """
    return raw[-_SEAL_SIZE:-1] == (_SEAL % crc)[:-1] and raw[-1:] not in b"\n\0"


def _is_torn(raw: bytes, file: IO[bytes]) -> bool:
    """Whether a line that does not fit is what an interrupted write leaves at the end of a file.

    That is a line without its newline, or a last line with a hole: file systems may write the sectors of one append
    in any order. A whole last line with a wrong checksum is neither, for it may have been acknowledged.
    """
    if raw.endswith(b"\n"):
        return _SECTOR in raw and not file.read(1)
    return all(b"\n" not in block for block in iter(lambda: file.read(1 << 20), b""))


def _problem(raw: bytes, seq: int) -> str:
    """What is wrong with a line in the place of record ``seq``."""
    head = _HEAD.match(raw)
    if not raw.endswith(b"\n"):
        return f"the line is longer than {LINE_LIMIT} bytes" if len(raw) > LINE_LIMIT else "its line end was changed"
    if head is None:
        return "not a record"
    if head[2] != b"%d" % seq:
        return f"record {int(head[2])} where record {seq} belongs"
    return "the checksum does not fit"


class LogWriter:
    """Appends records and says when they are safe. One per file; use it from the loop that opened it.

    A thread writes all that has come together since its last turn and syncs once: the busier, the larger the batch,
    with no timer. The first failed write or sync ends it for good, because after a failed sync the kernel may call
    pages clean that never reached the disk; what was not yet acknowledged is cut off, and the log can be opened anew.
    """

    def __init__(
        self, path: Path, fd: int, end: Position, repaired: Torn | None, on_durable: Callable[[int], None] | None
    ) -> None:
        self.path = path
        self.repaired = repaired
        self._loop = asyncio.get_running_loop()
        self._on_durable = on_durable
        self._end = end
        self._last_seq = end.seq
        self._crc = end.crc
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._failed = False
        self._finished: asyncio.Future[None] = self._loop.create_future()
        # Below is what the thread shares, under the condition; the descriptor and the position are the thread's alone.
        self._changed = threading.Condition()
        self._pending: list[tuple[bytes, int]] = []
        self._closing = False
        self._failure = ""
        self._fd = fd
        self._written = end
        self._thread = threading.Thread(target=self._work, name="unstuck-log", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, path: Path, *, on_durable: Callable[[int], None] | None = None, start: Position = START) -> LogWriter:
        """Check the file from ``start`` on, move a torn tail aside (see ``repaired``), and be ready to append.

        ``on_durable`` is called in the loop with the highest durable number, always rising, before those who wait for
        it go on. Must be called inside a running loop. Raises RecordDamaged, RecordError and RecordWriteFailed.
        """
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                end = verify(path, start=start).end
                repaired = _repair(fd, path, end.offset)
                # A killed process may have left whole records that only the page cache knows.
                os.fdatasync(fd)
                sync_directory(path.parent)
                return cls(path, fd, end, repaired, on_durable)
            except BaseException:
                os.close(fd)
                raise
        except OSError as problem:
            raise RecordWriteFailed(f"{path}: cannot be opened for writing: {problem.strerror or problem}") from problem

    @property
    def last_seq(self) -> int:
        """The number of the last record appended, durable or not."""
        return self._last_seq

    @property
    def durable_seq(self) -> int:
        """The number of the last record that is safe."""
        return self._end.seq

    @property
    def end(self) -> Position:
        """Where the last record that is safe ends."""
        return self._end

    def append(self, body: bytes) -> int:
        """Queue one record and return its number; ``await durable(number)`` to know it safe.

        ``body`` is a JSON object in ASCII on one line, without ``v``, ``seq`` and ``crc``; ValueError otherwise.
        Raises RecordWriteFailed once a write or sync has failed, or when the log is closed.
        """
        line, crc = _frame(self._last_seq + 1, body, self._crc)
        with self._changed:
            if self._failure or self._closing:
                raise RecordWriteFailed(self._failure or f"{self.path}: the log is closed")
            self._pending.append((line, crc))
            self._changed.notify()
        self._crc = crc
        self._last_seq += 1
        return self._last_seq

    async def durable(self, seq: int) -> None:
        """Wait until record ``seq`` is safe. Raises RecordWriteFailed if it never will be, ValueError if unknown."""
        if seq <= self._end.seq:
            return
        if seq > self._last_seq:
            raise ValueError(f"record {seq} was not appended yet")
        if self._failed:
            raise RecordWriteFailed(self._failure)
        future: asyncio.Future[None] = self._loop.create_future()
        heappush(self._waiters, (seq, next(self._order), future))
        await future

    async def close(self) -> None:
        """Write what is pending and end. Raises RecordWriteFailed if something appended did not become durable."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        await asyncio.shield(self._finished)
        self._thread.join()
        if self._end.seq < self._last_seq:
            raise RecordWriteFailed(self._failure)

    def _advance(self, end: Position) -> None:
        """In the loop: everything up to ``end`` is safe."""
        self._end = end
        while self._waiters and self._waiters[0][0] <= end.seq:
            future = heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)
        # Futures wake their tasks in the next turn of the loop, hence after this call.
        if self._on_durable:
            self._on_durable(end.seq)

    def _fail(self) -> None:
        """In the loop: nothing that still waits will be safe."""
        self._failed = True
        for _, _, future in self._waiters:
            if not future.done():
                future.set_exception(RecordWriteFailed(self._failure))
        self._waiters.clear()

    def _finish(self) -> None:
        if not self._finished.done():
            self._finished.set_result(None)

    def _work(self) -> None:
        """The thread."""
        try:
            while lines := self._take():
                self._commit(b"".join(line for line, _ in lines))
                seq, offset, _ = self._written
                self._written = Position(seq + len(lines), offset + sum(len(line) for line, _ in lines), lines[-1][1])
                self._tell(self._advance, self._written)
        except Exception as problem:
            self._give_up(problem)
        with suppress(OSError):
            os.close(self._fd)
        self._tell(self._finish)

    def _take(self) -> list[tuple[bytes, int]]:
        """Everything pending, at least one line; nothing when the log is closed and drained."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            lines, self._pending = self._pending, []
            return lines

    def _commit(self, data: bytes) -> None:
        write_all(self._fd, data)
        os.fdatasync(self._fd)
        # What is written to a file that has lost its name goes with it.
        if not _is_named(self._fd, self.path):
            raise FileNotFoundError(errno.ENOENT, "somebody has deleted or replaced it")

    def _give_up(self, problem: Exception) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, self._written.offset)
        said = problem.strerror if isinstance(problem, OSError) else repr(problem)
        with self._changed:
            self._failure = f"{self.path}: could not be written: {said}"
            self._pending.clear()
        self._tell(self._fail)

    def _tell(self, call: Callable[..., None], *arguments: Position) -> None:
        """Call in the loop; where it is closed already nobody is left to append either, so drain and end."""
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            with self._changed:
                self._closing = True


def _frame(seq: int, body: bytes, previous: int) -> tuple[bytes, int]:
    """The line of record ``seq`` and its checksum."""
    if not (body.startswith(b"{") and body.endswith(b"}") and body.isascii() and b"\n" not in body):
        raise ValueError("a record is one JSON object in ASCII on one line")
    if len(body) > LINE_LIMIT - 64:
        raise ValueError(f"a record of {len(body)} bytes is too long")
    fields = body[1:-1].strip()
    head = b'{"v":%d,"seq":%d%b%b' % (SCHEMA, seq, b"," if fields else b"", fields)
    crc = zlib.crc32(head, previous)
    return head + _SEAL % crc, crc


def _repair(fd: int, path: Path, end: int) -> Torn | None:
    """Move what follows byte ``end`` into ``<name>.torn.<n>``, and cut it off here once it is safe there."""
    size = os.fstat(fd).st_size
    if size == end:
        return None
    names = (path.with_name(f"{path.name}.torn.{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as torn, open(target, "wb") as file:
        torn.seek(end)
        shutil.copyfileobj(torn, file)
        file.flush()
        os.fsync(target)
    sync_directory(path.parent)
    os.ftruncate(fd, end)
    return Torn(end, size - end, aside)


def _is_named(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: the kernel may take fewer at a time, as it does on a disk that is nearly full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
