"""The log and its two states: head (what was decided) and durable (what may leave the process).

Appending is synchronous: an event gets its number, goes to the writer and is folded into head at once, so that a
decision and its record have nothing between them. The durable state follows when the disk has it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from unstuck.clock import Clock, iso
from unstuck.contract import Actor
from unstuck.errors import LaggedBehind, RecordDamaged, RecordError
from unstuck.record.envelope import SCHEMA, Record, decode, encode
from unstuck.record.events import Event, LogRepaired
from unstuck.record.fold import fold
from unstuck.record.log import START, LogWriter, Position, holds, read_lines, verify
from unstuck.record.snapshot import load as load_snapshot
from unstuck.record.snapshot import save as save_snapshot
from unstuck.record.state import State, copied, dump, load

__all__ = ["LOG_NAME", "SNAPSHOT_NAME", "Journal", "read_records", "replay"]

LOG_NAME = "events.jsonl"
SNAPSHOT_NAME = "state.json"
_BACKLOG = 10_000


def read_records(path: Path, *, start: Position = START) -> Iterator[Record]:
    """The records of a log file from ``start`` on. Raises RecordDamaged."""
    for line in read_lines(path, start=start):
        try:
            yield decode(line.raw)
        except ValueError as error:
            said = str(error).splitlines()[0]
            raise RecordDamaged(path, line.seq, line.offset, f"not a record: {said}") from error


def replay(path: Path) -> State:
    """The state that a log file tells, from its first record. Raises RecordDamaged."""
    state = State()
    for record in read_records(path):
        fold(state, record)
    return state


class Journal:
    """One run's log, open for writing. Use :meth:`open`; one per process and run."""

    def __init__(self, folder: Path, run: str, clock: Clock, head: State, durable: State) -> None:
        self.folder, self.run = folder, run
        self.head, self.durable = head, durable
        self._clock = clock
        self._writer: LogWriter
        self._pending: deque[Record] = deque()
        self._readers: list[deque[Record]] = []
        self._wake: list[asyncio.Event] = []
        self._head_listeners: list[Callable[[Record], None]] = []
        self._durable_listeners: list[Callable[[Record], None]] = []

    @classmethod
    async def open(cls, folder: Path, *, run: str, clock: Clock) -> Self:
        """Open or create the log in ``folder``. Raises RecordDamaged, RecordWriteFailed."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / LOG_NAME
        head, start = _restored(folder / SNAPSHOT_NAME, path)
        journal = cls(folder, run, clock, head, State())
        journal._writer = LogWriter.open(path, on_durable=journal._on_durable, start=start)
        try:
            for record in read_records(path, start=start):
                if record.version > SCHEMA:
                    raise RecordDamaged(path, record.seq, 0, f"written by a later version (schema {record.version})")
                fold(head, record)
        except BaseException:
            await journal._writer.close()
            raise
        journal.durable = copied(head)
        repaired = journal._writer.repaired
        if repaired is not None:
            journal.append(LogRepaired(file=str(repaired.file), offset=repaired.offset, bytes=repaired.bytes))
        return journal

    @property
    def path(self) -> Path:
        """The log file."""
        return self.folder / LOG_NAME

    def append(self, event: Event, *, actor: Actor = "policy", task: str = "", attempt: str = "") -> Record:
        """Record ``event``; head knows it at once, and its cause is what last changed the task.

        Raises RecordWriteFailed.
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
        seq = self._writer.append(encode(draft))
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

    def _on_durable(self, seq: int) -> None:
        while self._pending and self._pending[0].seq <= seq:
            record = self._pending.popleft()
            fold(self.durable, record)
            for listener in self._durable_listeners:
                listener(record)
            for backlog in self._readers:
                backlog.append(record)
        for event in self._wake:
            event.set()

    async def follow(self, after: int = 0) -> AsyncIterator[Record]:
        """Durable records after ``after``, without gaps, then live ones. Raises LaggedBehind for a slow reader."""
        backlog: deque[Record] = deque()
        event = asyncio.Event()
        limit = self.durable.seq
        self._readers.append(backlog)
        self._wake.append(event)
        last = after
        try:
            for record in read_records(self.path):
                if record.seq > limit:
                    break
                if record.seq > after:
                    last = record.seq
                    yield record
            while True:
                while backlog:
                    if len(backlog) > _BACKLOG:
                        raise LaggedBehind(last)
                    record = backlog.popleft()
                    if record.seq > last:
                        last = record.seq
                        yield record
                event.clear()
                await event.wait()
        finally:
            # By identity: two empty backlogs are equal.
            self._readers = [other for other in self._readers if other is not backlog]
            self._wake.remove(event)

    async def save(self) -> None:
        """Write a snapshot of the durable state, so that the next start need not read the whole log."""
        end = await asyncio.to_thread(lambda: verify(self.path).end)
        if end.seq == self.durable.seq:
            with suppress(RecordError):
                save_snapshot(
                    self.folder / SNAPSHOT_NAME, seq=end.seq, offset=end.offset, crc=end.crc, state=dump(self.durable)
                )

    async def close(self) -> None:
        """Write what is pending, leave a snapshot behind, and close."""
        await self._writer.close()
        with suppress(RecordError):
            await self.save()


def _restored(snapshot: Path, log: Path) -> tuple[State, Position]:
    """The state of the snapshot and where the log goes on from there; the beginning where it cannot be trusted."""
    found = load_snapshot(snapshot)
    if found is None or not log.exists() or not holds(log, found.position):
        return State(), START
    state = load(found.state)
    return (state, found.position) if state is not None and state.seq == found.seq else (State(), START)
