"""The occurrences of each failure of a log: read once and in pieces, then only what is new. Blocks."""

from __future__ import annotations

import re
from array import array
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.record_reader import Wanted
from unstuck_tui.render.browse.signatures import Occurrence
from unstuck_tui.runs.log.lines import LogLines
from unstuck_tui.runs.log.query import Query

_KEPT = 200
_TIMES = 20_000
_PIECE = 50_000
_CHECKS = Query(Wanted(types=frozenset({"check_finished"})))
_STEPS = Query(Wanted(types=frozenset({"step_recorded"})), (re.compile(rb'"kind":"failure"'),))


@dataclass(slots=True)
class FailureTimes:
    """All of one failure: their ``times`` in seconds since 1970 and the ``last`` 200 of them.

    ``diagnosis`` and ``printed``, the end of its check's output, are those of the last one that a check found.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    last: deque[Occurrence] = field(default_factory=lambda: deque(maxlen=_KEPT))
    diagnosis: Diagnosis | None = None
    printed: str = ""

    @property
    def signature(self) -> FailureSignature | None:
        return self.diagnosis.signature if self.diagnosis is not None else None


class Occurrences:
    """The failures in the log at ``path``, by their identity; it may still grow."""

    def __init__(self, path: Path) -> None:
        self._lines = LogLines(path)
        self._searched = 0
        self.found: dict[str, FailureTimes] = {}

    @property
    def is_whole(self) -> bool:
        """True where all lines that were there have been looked at."""
        return self._searched >= len(self._lines)

    def look(self, most: int = _PIECE) -> dict[str, FailureTimes]:
        """The failures found so far, after at most so many lines more. Raises OSError."""
        self._lines.grow()
        begin = min(self._searched, len(self._lines))
        end = min(begin + most, len(self._lines))
        places = {*self._lines.matching(_CHECKS, begin, end), *self._lines.matching(_STEPS, begin, end)}
        for place in sorted(places):
            record = self._lines.record(place)
            if record is not None:
                self._note(record)
        self._searched = end
        return dict(self.found)

    def _note(self, record: Record) -> None:
        identity, diagnosis, printed = _failure_in(record)
        moment = seconds_of(record.time)
        if not identity or moment is None:
            return
        seen = self.found.setdefault(identity, FailureTimes())
        if diagnosis is not None:
            seen.diagnosis, seen.printed = diagnosis, printed
        seen.last.append(Occurrence(record.seq, record.time, record.task, record.attempt))
        if len(seen.times) < _TIMES:
            seen.times.append(moment)


def _failure_in(record: Record) -> tuple[str, Diagnosis | None, str]:
    event = record.event
    if isinstance(event, e.StepRecorded):
        return event.identity, None, ""
    if isinstance(event, e.CheckFinished) and event.result in ("failed", "contradicted") and event.diagnosis:
        try:
            found = Diagnosis.from_dict(event.diagnosis)
        except (AttributeError, TypeError, ValueError):
            return "", None, ""
        return found.identity, found, event.evidence
    return "", None, ""
