"""An index of a log: offset and time of each record, and those that tell of trouble. Blocks; reads once."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from unstuck.errors import RecordDamaged
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.envelope_scan import envelope_of
from unstuck.eventlog.log.log_format import Line, Position, read_lines
from unstuck.eventlog.log.records import decoded, read_records

IDLE_S = 60.0
_FAILURES = frozenset(("agent_crashed", "agent_timeout", "infrastructure_blocked", "workflow_failed"))


@dataclass(slots=True)
class LogIndex:
    """The places of a log's records, without keeping them: 32 bytes for each.

    ``times`` are seconds since 1970, ``active`` the seconds gone by until each record with every pause cut to a
    minute. ``failures`` and ``gates`` are the numbers of the records that tell of them, ``begun`` that of the first
    attempt. ``damage`` is what ends it early.
    """

    path: Path
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    checksums: array[int] = field(default_factory=lambda: array("L"))
    times: array[float] = field(default_factory=lambda: array("d"))
    active: array[float] = field(default_factory=lambda: array("d"))
    failures: list[int] = field(default_factory=list)
    gates: list[int] = field(default_factory=list)
    begun: int = 0
    damage: RecordDamaged | None = None

    def __len__(self) -> int:
        """The number of records; they are numbered from 1 on."""
        return len(self.offsets)

    def records(self, after: int, until: int) -> Iterator[Record]:
        """The records after number ``after``, up to number ``until``."""
        if after >= min(until, len(self)):
            return
        start = Position(after, self.offsets[after], self.checksums[after - 1] if after else 0)
        for record in read_records(self.path, start=start):
            yield record
            if record.seq >= until:
                return

    def time_of(self, seq: int) -> float:
        """The time of record ``seq``; before the first one it is the time of that."""
        return self.times[max(0, min(seq, len(self)) - 1)] if len(self) else 0.0

    def at(self, share: float) -> int:
        """The record that stands at ``share`` (0 to 1) of the time in which something happened."""
        if not self.active:
            return 0
        return min(len(self), bisect_left(self.active, share * self.active[-1]) + 1)

    def share(self, seq: int) -> float:
        """At which share of the time in which something happened record ``seq`` stands."""
        whole = self.active[-1] if self.active else 0.0
        return self.active[min(seq, len(self)) - 1] / whole if whole and seq else 0.0


def indexed(path: Path) -> LogIndex:
    """Look through a log once. Raises RecordError where it cannot be read; damage ends it, and stands in it."""
    index = LogIndex(path)
    try:
        for line in read_lines(path):
            _note(index, line)
    except RecordDamaged as damage:
        index.damage = damage
    return index


def _note(index: LogIndex, line: Line) -> None:
    try:
        head = envelope_of(line.raw)
        time = datetime.fromisoformat(head.time).timestamp()
    except ValueError as problem:
        raise RecordDamaged(index.path, line.seq, line.offset, f"not an event:  {problem}") from problem
    gap = max(0.0, time - index.times[-1]) if index.times else 0.0
    index.offsets.append(line.offset)
    index.checksums.append(line.crc)
    index.times.append(time)
    index.active.append((index.active[-1] if index.active else 0.0) + min(gap, IDLE_S))
    if head.event == "gate_opened":
        index.gates.append(line.seq)
    elif head.event in _FAILURES or (head.event == "check_finished" and _has_failed(index.path, line)):
        index.failures.append(line.seq)
    elif head.event == "attempt_started" and not index.begun:
        index.begun = line.seq


def _has_failed(path: Path, line: Line) -> bool:
    event = decoded(path, line).event
    return isinstance(event, e.CheckFinished) and event.result in ("failed", "could_not_run", "contradicted")


def next_of(places: Sequence[int], seq: int) -> int:
    """The first of the sorted ``places`` after ``seq``; 0 where there is none."""
    at = bisect_right(places, seq)
    return places[at] if at < len(places) else 0


def last_of(places: Sequence[int], seq: int) -> int:
    """The last of the sorted ``places`` before ``seq``; 0 where there is none."""
    at = bisect_left(places, seq)
    return places[at - 1] if at else 0
