"""Open log of a run with its two states: head (decided) and durable (on disk).

Appending is synchronous: an event gets its number, goes to the writer and is folded into head at once. Nothing can
happen between a decision and its record. The durable state follows once the record is on disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Self

from unstuck.clock import Clock, iso
from unstuck.contract import Actor
from unstuck.errors import LaggedBehind, RecordDamaged, RecordError, RecordWriteFailed
from unstuck.eventlog.envelope import Record, encode
from unstuck.eventlog.events import Event, LogRepaired
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import (
    LOG_NAME,
    SNAPSHOT_NAME,
    STATE_PREFIX,
    Restored,
    require_end,
    require_schema,
    restored,
)
from unstuck.eventlog.log.log_format import Line, Position, holds, read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.log.snapshot import save as save_snapshot
from unstuck.eventlog.log.writer import LogWriter
from unstuck.eventlog.state import State, copied, dump
from unstuck.eventlog.storage.durable_files import make_directory, refuse_links

__all__ = ["LOG_NAME", "SNAPSHOT_NAME", "Journal"]

_FOLDERS = ("output", "prompts", "reports")

BACKLOG = 10_000
"""Records that are kept for a reader that is behind."""
SNAPSHOT_BYTES = 2 * 1024 * 1024
"""Least growth of the log, in bytes, between two snapshots of a run that is open."""
SNAPSHOT_SHARE = 4
"""Growth of the log between two snapshots, in sizes of a snapshot: a large state is saved less often."""
READ_SLICE = 256
"""Records of the old log that a reader gets per turn of the event loop."""


@dataclass(slots=True, eq=False)
class _Reader:
    """A reader of new records: its backlog, and whether the backlog became too long."""

    backlog: deque[Record] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    lagged: bool = False

    def push(self, record: Record) -> None:
        if self.lagged:
            return
        self.backlog.append(record)
        if len(self.backlog) > BACKLOG:
            self.lagged = True
            self.backlog.clear()


class Journal:
    """The log of one run, open for writing. Use :meth:`open`, once per process and run."""

    def __init__(self, folder: Path, run: str, clock: Clock, head: State, durable: State) -> None:
        self.folder, self.run = folder, run
        self.head, self.durable = head, durable
        self._clock = clock
        self._writer: LogWriter
        self._pending: deque[Record] = deque()
        self._readers: list[_Reader] = []
        self._closed = False
        self._save_at = 0
        self._saving: asyncio.Future[None] | None = None
        self._head_listeners: list[Callable[[Record], None]] = []
        self._durable_listeners: list[Callable[[Record], None]] = []
        self._trouble_listeners: list[Callable[[], None]] = []

    @classmethod
    async def open(cls, folder: Path, *, run: str, clock: Clock, known: Restored | None = None) -> Self:
        """Open or create the log in ``folder``. Raises RecordDamaged and RecordWriteFailed.

        ``known`` is a state that was read from it before, which spares reading it again. A log that cannot be read, or
        that a later version wrote, stays unchanged.
        """
        try:
            refuse_links(folder.parent.parent, folder.parent, folder, *(folder / name for name in _FOLDERS))
            make_directory(folder)
        except OSError as problem:
            raise RecordWriteFailed(f"{folder}: cannot be made: {problem.strerror or problem}") from problem
        path = folder / LOG_NAME
        if known is None or not holds(path, known.position):
            known = restored(folder / SNAPSHOT_NAME, path)
        head, end, safe = known
        head = copied(head)
        for line in read_lines(path, start=end, safe=safe) if path.exists() else ():
            require_schema(path, line)
            fold(head, decoded(path, line))
            end = line.end
        if path.exists():
            require_end(path, end, safe)
        journal = cls(folder, run, clock, head, copied(head))
        journal._save_at = end.offset + (SNAPSHOT_BYTES if end.seq == safe else 0)
        journal._writer = LogWriter.open(
            path, on_durable=journal._on_durable, on_trouble=journal._on_trouble, start=end, safe=safe
        )
        repaired = journal._writer.repaired
        if repaired is not None:
            journal.append(LogRepaired(file=str(repaired.file), offset=repaired.offset, bytes=repaired.bytes))
        return journal

    @property
    def path(self) -> Path:
        """The log file."""
        return self.folder / LOG_NAME

    @property
    def end(self) -> Position:
        """End of the last durable record."""
        return self._writer.end

    @property
    def held(self) -> str:
        """Reason why writes wait for disk space; empty if they do not."""
        return self._writer.held

    @property
    def failure(self) -> str:
        """Reason why the log has failed and takes no more records; empty if it has not."""
        return self._writer.failure

    def require(self) -> None:
        """Raise RecordWriteFailed if the log has failed, because no work may continue unrecorded."""
        if self.failure:
            raise RecordWriteFailed(self.failure)

    def retry(self) -> None:
        """Try again to write records that wait for disk space."""
        self._writer.retry()

    def discard_pending(self) -> None:
        """Discard the records that wait for disk space, as a kill would. The log has failed then."""
        self._writer.discard_pending()

    def append(self, event: Event, *, actor: Actor = "policy", task: str = "", attempt: str = "") -> Record:
        """Record ``event`` and fold it into head. Its cause is the last change of the task.

        Raises RecordWriteFailed; then nothing has changed.
        """
        row = self.head.tasks.get(task)
        now = self._clock.now()
        draft = Record(
            seq=self.head.seq + 1,
            time=iso(now),
            mono=round(self._clock.monotonic(), 6),
            run=self.run,
            actor=actor,
            event=event,
            name=event.name,
            task=task,
            attempt=attempt,
            cause=row.changed if row is not None else 0,
        )
        try:
            seq = self._writer.append(encode(draft))
        except ValueError as error:
            raise RecordWriteFailed(f"{self.path}: {event.name} cannot be recorded: {error}") from error
        if seq != draft.seq:
            raise RecordDamaged(self.path, seq, 0, f"state is at {draft.seq - 1}, the log at {seq - 1}")
        self._pending.append(draft)
        fold(self.head, draft)
        for listener in self._head_listeners:
            listener(draft)
        return draft

    async def committed(self, seq: int | None = None) -> None:
        """Wait until record ``seq`` (by default the last one) is on disk. Raises RecordWriteFailed."""
        await self._writer.durable(self.head.seq if seq is None else seq)

    def on_append(self, listener: Callable[[Record], None]) -> None:
        """Call ``listener`` with each record when it is appended."""
        self._head_listeners.append(listener)

    def on_durable(self, listener: Callable[[Record], None]) -> None:
        """Call ``listener`` with each record once it is on disk."""
        self._durable_listeners.append(listener)

    def on_trouble(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever ``held`` or ``failure`` has changed."""
        self._trouble_listeners.append(listener)

    def remove_listener(self, listener: Callable[..., None]) -> None:
        """Stop calling ``listener``."""
        listening: tuple[list[Any], ...] = self._head_listeners, self._durable_listeners, self._trouble_listeners
        for listeners in listening:
            listeners[:] = [kept for kept in listeners if kept != listener]

    def _on_trouble(self) -> None:
        for listener in self._trouble_listeners:
            listener()

    def _on_durable(self, seq: int) -> None:
        while self._pending and self._pending[0].seq <= seq:
            record = self._pending.popleft()
            fold(self.durable, record)
            for listener in self._durable_listeners:
                listener(record)
            for reader in self._readers:
                reader.push(record)
        for reader in self._readers:
            reader.wake.set()
        if self._writer.end.offset >= self._save_at and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(self.save())

    async def follow(self, after: int = 0) -> AsyncIterator[Record]:
        """Yield durable records after number ``after`` without gaps, then new ones until the journal is closed.

        Any number of readers may follow. Raises LaggedBehind for a reader that is too slow.
        """
        reader = _Reader()
        last, limit = after, self.durable.seq
        self._readers.append(reader)
        try:
            if last < limit:
                # The line after ``limit`` may be half written.
                lines = islice(read_lines(self.path, after=last), limit - last)
                while records := await asyncio.to_thread(self._decoded, lines):
                    for record in records:
                        last = record.seq
                        yield record
            while True:
                while reader.backlog:
                    record = reader.backlog.popleft()
                    if record.seq > last:
                        last = record.seq
                        yield record
                if reader.lagged:
                    raise LaggedBehind(last)
                if self._closed:
                    return
                reader.wake.clear()
                await reader.wake.wait()
        finally:
            self._readers.remove(reader)

    def _decoded(self, lines: Iterator[Line]) -> list[Record]:
        """Return the next records of ``lines``; few enough that an abandoned reader leaves little work behind."""
        return [decoded(self.path, line) for line in islice(lines, READ_SLICE)]

    async def save(self) -> None:
        """Write a snapshot of the durable state, which spares the next start most of the log."""
        end, state = self._writer.end, copied(self.durable)
        self._save_at = end.offset + SNAPSHOT_BYTES
        with suppress(RecordError, ValueError):  # ValueError: text of an embedder that is not UTF-8; the log escapes it
            size = await asyncio.to_thread(self._write_snapshot, end, state)
            self._save_at = end.offset + max(SNAPSHOT_BYTES, SNAPSHOT_SHARE * size)

    def _write_snapshot(self, end: Position, state: State) -> int:
        """Write the snapshot and return its size."""
        saved = STATE_PREFIX + dump(state) + b"}"
        save_snapshot(self.folder / SNAPSHOT_NAME, seq=end.seq, offset=end.offset, crc=end.crc, state=saved)
        return len(saved)

    async def close(self) -> None:
        """Write pending records and a snapshot, end the readers, and close."""
        try:
            await self._writer.close()
        finally:
            if self._saving is not None:
                await self._saving
            await self.save()
            self._closed = True
            for reader in self._readers:
                reader.wake.set()
