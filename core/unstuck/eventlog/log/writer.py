"""Log writer: appends batches and acknowledges records once they are synced."""

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

BURST = 256
"""Largest number of records acknowledged in one turn of the event loop."""

_BLOCK = 1 << 20

_Lines = Sequence[tuple[bytes, int]]


class Torn(NamedTuple):
    """A repair: ``bytes`` torn bytes from ``offset`` on were moved into ``file``."""

    offset: int
    bytes: int
    file: Path


class LogWriter:
    """Appends records and acknowledges them once synced. One per file, used from the event loop that opened it.

    A thread writes all pending records as one batch and syncs once, without a timer. On a full disk pending records
    wait: ``held`` is the reason, and ``retry`` tries again. Any other failed write, and every failed sync, is final,
    because the kernel may mark pages clean that never reached the disk. Unacknowledged bytes are cut off then, and the
    log can be opened again.
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
        """Reason why writes wait for disk space; empty if they do not."""
        self.failure = ""
        """Reason why the log has failed; empty if it has not."""
        self._loop = asyncio.get_running_loop()
        self._on_durable, self._on_trouble = on_durable, on_trouble
        self._end = end
        self._last_seq = end.seq
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        # The condition guards what the thread shares; descriptor and position belong to the thread.
        self._changed = threading.Condition()
        self._pending: list[bytes] = []
        self._messages: deque[Callable[[], None]] = deque()
        self._closing = self._discarding = self._retrying = False
        self._problem = ""
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
        """Check the file from ``start`` on, move a torn tail aside (see ``repaired``), and open it for appending.

        Record ``safe`` is known to have been synced, so zeros before its end are damage. ``on_durable`` is called in
        the loop with the highest durable number before tasks that wait for it continue. ``on_trouble`` is called when
        ``held`` or ``failure`` changes. Needs a running loop. Raises RecordDamaged, RecordError and RecordWriteFailed.
        """
        try:
            fd = open_for_writing(path, os.O_WRONLY | os.O_APPEND)
            try:
                _lock(fd)
                end = verify(path, start=start, safe=safe).end
                repaired = _repair(fd, path, end.offset)
                # A killed process may have left whole records in the page cache only.
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
        """End of the last durable record."""
        return self._end

    def append(self, body: bytes) -> int:
        """Queue one record and return its number; ``await durable(number)`` waits until it is on disk.

        ``body`` is a JSON object in ASCII on one line, without ``v``, ``seq`` and ``crc``; ValueError otherwise.
        Raises RecordWriteFailed if the log has failed or is closed.
        """
        check_body(body)
        with self._changed:
            if self._problem or self._closing:
                raise RecordWriteFailed(self._problem or f"{self.path}: the log is closed")
            self._pending.append(body)
            self._changed.notify()
        self._last_seq += 1
        return self._last_seq

    async def durable(self, seq: int) -> None:
        """Wait until record ``seq`` is durable. Raises RecordWriteFailed if the log fails, ValueError if unknown."""
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
        """Try again to write records that wait for disk space."""
        with self._changed:
            self._retrying = True
            self._changed.notify()

    def discard_pending(self) -> None:
        """Discard the records that wait for disk space; the log has failed then. Otherwise no effect."""
        if self.held:
            with self._changed:
                self._discarding = True
                self._changed.notify()

    async def close(self) -> None:
        """Write pending records and end. Raises RecordWriteFailed if a record did not become durable."""
        with self._changed:
            self._closing = self._retrying = True
            self._changed.notify()
        await asyncio.shield(self._finished)
        self._thread.join()
        if self._end.seq < self._last_seq:
            raise RecordWriteFailed(self.failure)

    # --- in the loop ------------------------------------------------------------------------------------------------

    def _handle_next(self) -> None:
        """Handle one message of the thread; other callbacks of the loop run before the next one."""
        with self._changed:
            message = self._messages.popleft()
            more = bool(self._messages)
        if more:
            self._loop.call_soon(self._handle_next)
        message()

    def _advance(self, end: Position) -> None:
        """Acknowledge all records up to ``end``."""
        self._end = end
        while self._waiters and self._waiters[0][0] <= end.seq:
            future = heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)
        # Futures wake their tasks in the next turn of the loop, after this call.
        if self._on_durable:
            self._on_durable(end.seq)

    def _hold(self, problem: str) -> None:
        """Set the reason why writes wait, empty if they do not."""
        changed, self.held = self.held != problem, problem
        if changed and self._on_trouble:
            self._on_trouble()

    def _fail(self, problem: str) -> None:
        """Fail all records that are not durable."""
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
                    self._post(partial(self._advance, end))
        except Exception as problem:
            self._fail_log(problem)
        with suppress(OSError):
            os.close(self._fd)
        self._post(self._finish)

    def _take(self) -> list[bytes]:
        """Wait for pending records and return them; none if the log is closed and drained."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            bodies, self._pending = self._pending, []
            return bodies

    def _commit(self, data: bytes) -> None:
        held = False
        while problem := self._write(data):
            held = True
            self._post(partial(self._hold, f"{self.path}: {problem.strerror}"))
            self._wait_for_room(problem)
        os.fdatasync(self._fd)
        _require_whole(self._fd, self.path, self._written.offset + len(data))
        if held:
            self._post(partial(self._hold, ""))

    def _write(self, data: bytes) -> OSError | None:
        """Write ``data``. On a full disk, remove the partial write and return the error."""
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
            while not (self._retrying or self._discarding or self._closing):
                self._changed.wait()
            if self._discarding or not self._retrying:
                raise problem
            self._retrying = False

    def _fail_log(self, problem: Exception) -> None:
        with suppress(OSError):
            _cut(self._fd, self._written.offset)
        reason = problem.strerror if isinstance(problem, OSError) else repr(problem)
        with self._changed:
            self._problem = f"{self.path}: could not be written: {reason}"
            self._pending.clear()
        self._post(partial(self._fail, self._problem))

    def _post(self, message: Callable[[], None]) -> None:
        """Queue a message for the loop. After the loop is closed, drain and end."""
        with self._changed:
            self._messages.append(message)
            first = len(self._messages) == 1
        try:
            if first:
                self._loop.call_soon_threadsafe(self._handle_next)
        except RuntimeError:
            with self._changed:
                self._closing = True
                self._changed.notify()


def _framed(bodies: list[bytes], end: Position) -> _Lines:
    """Return the lines of a batch after the synced position ``end``, each with its checksum."""
    lines, crc = [], end.crc
    for seq, body in enumerate(bodies, start=end.seq + 1):
        line, crc = framed(seq, body, crc, end.seq)
        lines.append((line, crc))
    return lines


def _slices(start: Position, lines: _Lines) -> Iterator[Position]:
    """Yield the end of each slice of at most BURST lines."""
    seq, offset, _ = start
    for at in range(0, len(lines), BURST):
        part = lines[at : at + BURST]
        seq, offset = seq + len(part), offset + sum(len(line) for line, _ in part)
        yield Position(seq, offset, part[-1][1])


def _repair(fd: int, path: Path, end: int) -> Torn | None:
    """Copy the bytes after ``end`` into ``<name>.torn.<n>``, sync the copy, and cut them off here."""
    size = os.fstat(fd).st_size
    if size == end:
        return None
    names = (path.with_name(f"{path.name}.torn.{number}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as torn, open(target, "wb") as file:
        torn.seek(end)
        for block in iter(lambda: torn.read(_BLOCK), b""):
            # Zeros become a sparse region, because there may be any number of them.
            file.seek(len(block), os.SEEK_CUR) if not block.strip(b"\0") else file.write(block)
        file.truncate(size - end)
        file.flush()
        os.fsync(target)
    sync_directory(path.parent)
    os.ftruncate(fd, end)
    return Torn(end, size - end, aside)


def _lock(fd: int) -> None:
    """Lock the file, so that no other process writes to it through another link or mount."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another process writes to it") from None


def _require_whole(fd: int, path: Path, size: int) -> None:
    """Raise OSError if another program deleted, replaced or resized the file."""
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
    """Cut the file to ``size`` bytes; a shorter file stays as it is."""
    if os.fstat(fd).st_size >= size:
        os.ftruncate(fd, size)
