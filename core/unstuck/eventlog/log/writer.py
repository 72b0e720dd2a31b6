"""The writing end of the log: batches onto the disk, acknowledgements once they are safe there."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import RecordWriteFailed
from unstuck.eventlog.log.log_format import START, Position, check_body, framed, verify
from unstuck.eventlog.storage.durable_files import NO_ROOM, open_for_writing, sync_directory, write_all

__all__ = ["BURST", "LogWriter", "Torn"]

BURST = 256
"""How many records are acknowledged in one turn of the loop; the others wait their turn, and so does nobody else."""

_BLOCK = 1 << 20

_Lines = Sequence[tuple[bytes, int]]


class Torn(NamedTuple):
    """A repair: ``bytes`` unfinished bytes from ``offset`` on were moved into ``file``."""

    offset: int
    bytes: int
    file: Path


class LogWriter:
    """Appends records and says when they are safe. One per file; use it from the loop that opened it.

    A thread writes all that has come together since its last turn and syncs once: the busier, the larger the batch,
    with no timer. Where the disk is full, what is pending is held back: ``held`` says why, nothing is acknowledged, and
    ``retry`` tries again. Any other failed write, and every failed sync, ends the log for good, because after a failed
    sync the kernel may call pages clean that never reached the disk; what was not yet acknowledged is cut off, and the
    log can be opened anew.
    """

    def __init__(
        self,
        path: Path,
        fd: int,
        end: Position,
        repaired: Torn | None,
        on_durable: Callable[[int], None] | None,
        on_trouble: Callable[[], None] | None,
    ) -> None:
        self.path = path
        self.repaired = repaired
        self.held = ""
        """Why nothing can be written for the moment; empty where it can."""
        self.failure = ""
        """Why nothing will be written any more; empty where it will."""
        self._loop = asyncio.get_running_loop()
        self._on_durable, self._on_trouble = on_durable, on_trouble
        self._end = end
        self._last_seq = end.seq
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        # Below is what the thread shares, under the condition; the descriptor and the position are the thread's alone.
        self._changed = threading.Condition()
        self._pending: list[bytes] = []
        self._news: deque[Callable[[], None]] = deque()
        self._closing = self._given_up = self._again = False
        self._refused = ""
        self._fd = fd
        self._written = end
        self._thread = threading.Thread(target=self._work, name="unstuck-log", daemon=True)
        self._thread.start()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        on_durable: Callable[[int], None] | None = None,
        on_trouble: Callable[[], None] | None = None,
        start: Position = START,
        safe: int = 0,
    ) -> LogWriter:
        """Check the file from ``start`` on, move a torn tail aside (see ``repaired``), and be ready to append.

        ``safe`` is the number of a record that is known to have been synced: a hole up to there is no torn tail.
        ``on_durable`` is called in the loop with the highest durable number, always rising, before those who wait for
        it go on; ``on_trouble`` whenever ``held`` or ``failure`` has changed. Must be called inside a running loop.
        Raises RecordDamaged, RecordError and RecordWriteFailed.
        """
        try:
            fd = open_for_writing(path, os.O_WRONLY | os.O_APPEND)
            try:
                _lock(fd)
                end = verify(path, start=start, safe=safe).end
                repaired = _repair(fd, path, end.offset)
                # A killed process may have left whole records that only the page cache knows.
                os.fdatasync(fd)
                sync_directory(path.parent)
                return cls(path, fd, end, repaired, on_durable, on_trouble)
            except BaseException:
                os.close(fd)
                raise
        except OSError as problem:
            raise RecordWriteFailed(f"{path}: cannot be opened for writing: {problem.strerror or problem}") from problem

    @property
    def end(self) -> Position:
        """Where the last record that is safe ends."""
        return self._end

    def append(self, body: bytes) -> int:
        """Queue one record and return its number; ``await durable(number)`` to know it safe.

        ``body`` is a JSON object in ASCII on one line, without ``v``, ``seq`` and ``crc``; ValueError otherwise.
        Raises RecordWriteFailed once a write or sync has failed, or when the log is closed.
        """
        check_body(body)
        with self._changed:
            if self._refused or self._closing:
                raise RecordWriteFailed(self._refused or f"{self.path}: the log is closed")
            self._pending.append(body)
            self._changed.notify()
        self._last_seq += 1
        return self._last_seq

    async def durable(self, seq: int) -> None:
        """Wait until record ``seq`` is safe. Raises RecordWriteFailed if it never will be, ValueError if unknown."""
        if seq <= self._end.seq:
            return
        if seq > self._last_seq:
            raise ValueError(f"record {seq} was not appended yet")
        if self.failure:
            raise RecordWriteFailed(self.failure)
        future: asyncio.Future[None] = self._loop.create_future()
        heappush(self._waiters, (seq, next(self._order), future))
        await future

    def retry(self) -> None:
        """There may be room again: try to write what is held back."""
        with self._changed:
            self._again = True
            self._changed.notify()

    def give_up(self) -> None:
        """Nobody waits for room any more: what is held back is lost, and the log has failed. Otherwise no effect."""
        if self.held:
            with self._changed:
                self._given_up = True
                self._changed.notify()

    async def close(self) -> None:
        """Write what is pending and end. Raises RecordWriteFailed if something appended did not become durable."""
        with self._changed:
            self._closing = self._again = True
            self._changed.notify()
        await asyncio.shield(self._finished)
        self._thread.join()
        if self._end.seq < self._last_seq:
            raise RecordWriteFailed(self.failure)

    # --- in the loop ------------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        """Take one piece of the thread's news; whatever else waits for the loop comes before the next one."""
        with self._changed:
            news = self._news.popleft()
            more = bool(self._news)
        if more:
            self._loop.call_soon(self._hear)
        news()

    def _advance(self, end: Position) -> None:
        """Everything up to ``end`` is safe."""
        self._end = end
        while self._waiters and self._waiters[0][0] <= end.seq:
            future = heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)
        # Futures wake their tasks in the next turn of the loop, hence after this call.
        if self._on_durable:
            self._on_durable(end.seq)

    def _hold(self, problem: str) -> None:
        """Nothing is safe before there is room; empty where there is."""
        changed, self.held = self.held != problem, problem
        if changed and self._on_trouble:
            self._on_trouble()

    def _fail(self, problem: str) -> None:
        """Nothing that still waits will be safe."""
        self.failure, self.held = problem, ""
        for _, _, future in self._waiters:
            if not future.done():
                future.set_exception(RecordWriteFailed(problem))
        self._waiters.clear()
        if self._on_trouble:
            self._on_trouble()

    def _finish(self) -> None:
        if not self._finished.done():
            self._finished.set_result(None)

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while lines := _framed(self._take(), self._written):
                self._commit(b"".join(line for line, _ in lines))
                for end in _slices(self._written, lines):
                    self._written = end
                    self._tell(partial(self._advance, end))
        except Exception as problem:
            self._give_up(problem)
        with suppress(OSError):
            os.close(self._fd)
        self._tell(self._finish)

    def _take(self) -> list[bytes]:
        """Everything pending, at least one body; nothing when the log is closed and drained."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            bodies, self._pending = self._pending, []
            return bodies

    def _commit(self, data: bytes) -> None:
        held = False
        while problem := self._write(data):
            held = True
            self._tell(partial(self._hold, f"{self.path}: {problem.strerror}"))
            self._wait_for_room(problem)
        os.fdatasync(self._fd)
        _require_whole(self._fd, self.path, self._written.offset + len(data))
        if held:
            self._tell(partial(self._hold, ""))

    def _write(self, data: bytes) -> OSError | None:
        """Write ``data``; where there is no room for all of it, none of it stays and the kernel's word is returned."""
        try:
            write_all(self._fd, data)
        except OSError as problem:
            if problem.errno not in NO_ROOM:
                raise
            _cut(self._fd, self._written.offset)
            return problem
        return None

    def _wait_for_room(self, problem: OSError) -> None:
        with self._changed:
            while not (self._again or self._given_up or self._closing):
                self._changed.wait()
            if self._given_up or not self._again:
                raise problem
            self._again = False

    def _give_up(self, problem: Exception) -> None:
        with suppress(OSError):
            _cut(self._fd, self._written.offset)
        said = problem.strerror if isinstance(problem, OSError) else repr(problem)
        with self._changed:
            self._refused = f"{self.path}: could not be written: {said}"
            self._pending.clear()
        self._tell(partial(self._fail, self._refused))

    def _tell(self, news: Callable[[], None]) -> None:
        """Say it in the loop; where that is closed already nobody is left to append either, so drain and end."""
        with self._changed:
            self._news.append(news)
            first = len(self._news) == 1
        try:
            if first:
                self._loop.call_soon_threadsafe(self._hear)
        except RuntimeError:
            with self._changed:
                self._closing = True
                self._changed.notify()


def _framed(bodies: list[bytes], end: Position) -> _Lines:
    """The lines of a batch after ``end``, up to which everything is synced, each with its checksum."""
    lines, crc = [], end.crc
    for seq, body in enumerate(bodies, start=end.seq + 1):
        line, crc = framed(seq, body, crc, end.seq)
        lines.append((line, crc))
    return lines


def _slices(start: Position, lines: _Lines) -> Iterator[Position]:
    """Where each slice of at most BURST lines ends."""
    seq, offset, _ = start
    for at in range(0, len(lines), BURST):
        part = lines[at : at + BURST]
        seq, offset = seq + len(part), offset + sum(len(line) for line, _ in part)
        yield Position(seq, offset, part[-1][1])


def _repair(fd: int, path: Path, end: int) -> Torn | None:
    """Move what follows byte ``end`` into ``<name>.torn.<n>``, and cut it off here once it is safe there."""
    size = os.fstat(fd).st_size
    if size == end:
        return None
    names = (path.with_name(f"{path.name}.torn.{number}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as torn, open(target, "wb") as file:
        torn.seek(end)
        for block in iter(lambda: torn.read(_BLOCK), b""):
            # Zeros take no room there: as many as you like may have been added here.
            file.seek(len(block), os.SEEK_CUR) if not block.strip(b"\0") else file.write(block)
        file.truncate(size - end)
        file.flush()
        os.fsync(target)
    sync_directory(path.parent)
    os.ftruncate(fd, end)
    return Torn(end, size - end, aside)


def _lock(fd: int) -> None:
    """Be this file's only writer, by whatever name others know it: another link to it, another mount."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another process writes to it") from None


def _require_whole(fd: int, path: Path, size: int) -> None:
    """Raise OSError where somebody else was at the file: what is written to one without a name goes with it."""
    known = os.fstat(fd)
    try:
        is_named = os.path.samestat(known, os.stat(path))
    except OSError:
        is_named = False
    if not is_named:
        raise FileNotFoundError(errno.ENOENT, "it was deleted or replaced")
    if known.st_size != size:
        raise OSError(errno.EIO, "its length was changed")


def _cut(fd: int, size: int) -> None:
    """Take away what follows byte ``size``; a file that is shorter already stays so."""
    if os.fstat(fd).st_size >= size:
        os.ftruncate(fd, size)
