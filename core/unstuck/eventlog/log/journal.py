"""The log and its two states: head (what was decided) and durable (what may leave the process).

Appending is synchronous: an event gets its number, goes to the writer and is folded into head at once, so that a
decision and its record have nothing between them. The durable state follows when the disk has it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Self

from unstuck.clock import Clock, iso
from unstuck.contract import Actor
from unstuck.errors import LaggedBehind, RecordDamaged, RecordError, RecordWriteFailed
from unstuck.eventlog.envelope import SCHEMA, Record, encode
from unstuck.eventlog.events import Event, LogRepaired
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import BY_US, LOG_NAME, SNAPSHOT_NAME, restored
from unstuck.eventlog.log.log_format import Position, read_lines
from unstuck.eventlog.log.records import decoded, read_records
from unstuck.eventlog.log.snapshot import save as save_snapshot
from unstuck.eventlog.log.writer import LogWriter
from unstuck.eventlog.state import State, copied, dump

__all__ = ["LOG_NAME", "SNAPSHOT_NAME", "Journal"]

BACKLOG = 10_000
SNAPSHOT_EVERY = 20_000


@dataclass(slots=True, eq=False)
class _Reader:
    """Who follows the log: what it has not read yet, and whether that became too much to keep."""

    backlog: deque[Record] = field(default_factory=deque)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    lagged: bool = False

    def give(self, record: Record) -> None:
        if self.lagged:
            return
        self.backlog.append(record)
        if len(self.backlog) > BACKLOG:
            self.lagged = True
            self.backlog.clear()


class Journal:
    """One run's log, open for writing. Use :meth:`open`; one per process and run."""

    def __init__(self, folder: Path, run: str, clock: Clock, head: State, durable: State) -> None:
        self.folder, self.run = folder, run
        self.head, self.durable = head, durable
        self._clock = clock
        self._writer: LogWriter
        self._pending: deque[Record] = deque()
        self._readers: list[_Reader] = []
        self._closed = False
        self._saved = 0
        self._saving: asyncio.Future[None] | None = None
        self._head_listeners: list[Callable[[Record], None]] = []
        self._durable_listeners: list[Callable[[Record], None]] = []
        self._trouble_listeners: list[Callable[[], None]] = []

    @classmethod
    async def open(cls, folder: Path, *, run: str, clock: Clock) -> Self:
        """Open or create the log in ``folder``. Raises RecordDamaged, RecordWriteFailed.

        A log that cannot be read, or in which a later version wrote, is left as it is.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise RecordWriteFailed(f"{folder}: cannot be made: {problem.strerror or problem}") from problem
        path = folder / LOG_NAME
        head, end, safe = restored(folder / SNAPSHOT_NAME, path)
        for line in read_lines(path, start=end, safe=safe) if path.exists() else ():
            if line.version != SCHEMA:
                said = f"written by a later version (schema {line.version}): update unstuck to resume it"
                raise RecordDamaged(path, line.seq, line.offset, said)
            fold(head, decoded(path, line))
            end = line.end
        journal = cls(folder, run, clock, head, copied(head))
        journal._saved = end.seq
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
    def held(self) -> str:
        """Why nothing can be written for the moment, which a disk with room again will end; empty where it can."""
        return self._writer.held

    @property
    def failure(self) -> str:
        """Why nothing will be written any more; empty where it will."""
        return self._writer.failure

    def require(self) -> None:
        """Raise RecordWriteFailed where nothing will be written any more: nobody may go on working unrecorded."""
        if self.failure:
            raise RecordWriteFailed(self.failure)

    def retry(self) -> None:
        """There may be room again on the disk: try to write what is held back."""
        self._writer.retry()

    def give_up(self) -> None:
        """Nobody waits for room any more: what is held back is lost, as by a kill, and the record has failed."""
        self._writer.give_up()

    def append(self, event: Event, *, actor: Actor = "policy", task: str = "", attempt: str = "") -> Record:
        """Record ``event``; head knows it at once, and its cause is what last changed the task.

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
        """Wait until ``seq`` (by default everything appended) is on disk. Raises RecordWriteFailed."""
        await self._writer.durable(self.head.seq if seq is None else seq)

    def on_append(self, listener: Callable[[Record], None]) -> None:
        """Call ``listener`` with each record as soon as it is decided."""
        self._head_listeners.append(listener)

    def on_durable(self, listener: Callable[[Record], None]) -> None:
        """Call ``listener`` with each record once it is on disk."""
        self._durable_listeners.append(listener)

    def on_trouble(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever ``held`` or ``failure`` has changed."""
        self._trouble_listeners.append(listener)

    def unheard(self, listener: Callable[..., None]) -> None:
        """Do not call ``listener`` any more."""
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
                reader.give(record)
        for reader in self._readers:
            reader.news.set()
        if self.durable.seq - self._saved >= SNAPSHOT_EVERY and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(self.save())

    async def follow(self, after: int = 0) -> AsyncIterator[Record]:
        """Durable records after ``after``, without gaps, then live ones until the journal is closed.

        Any number may follow. Raises LaggedBehind for a reader that is too slow.
        """
        reader = _Reader()
        last, limit = after, self.durable.seq
        self._readers.append(reader)
        try:
            if last < limit:
                # Not a line further: the writer may be in the middle of it.
                for record in islice(read_records(self.path), limit):
                    if record.seq > last:
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
                reader.news.clear()
                await reader.news.wait()
        finally:
            self._readers.remove(reader)

    async def save(self) -> None:
        """Write a snapshot of the durable state, so that the next start need not read the whole log."""
        end, state = self._writer.end, copied(self.durable)
        self._saved = end.seq
        with suppress(RecordError, ValueError):  # ValueError: a caller's own text that is no UTF-8; the log escapes it
            await asyncio.to_thread(self._write_snapshot, end, state)

    def _write_snapshot(self, end: Position, state: State) -> None:
        saved = BY_US + dump(state) + b"}"
        save_snapshot(self.folder / SNAPSHOT_NAME, seq=end.seq, offset=end.offset, crc=end.crc, state=saved)

    async def close(self) -> None:
        """Write what is pending, leave a snapshot behind, let the readers come to their end, and close."""
        try:
            await self._writer.close()
        finally:
            if self._saving is not None:
                await self._saving
            await self.save()
            self._closed = True
            for reader in self._readers:
                reader.news.set()
