"""The one reader of a run's records for whoever looks back.

They are streamed: of each line only the envelope is read until it is known to be wanted, and one line is held at a
time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.log.envelope_scan import Head, head_of
from unstuck.eventlog.log.load_state import LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import START, Line, read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.log.snapshot import load as load_snapshot

__all__ = ["RunReader", "Wanted", "signatures_in"]

_DECISIONS = frozenset(
    {
        "agent_failure",
        "budget_reached",
        "directive_issued",
        "gate_answered",
        "gate_withdrawn",
        "infrastructure_blocked",
        "recovery_decided",
        "remediation_dispatched",
        "stop_requested",
        "transient_error_escalated",
        "transient_error_retry",
        "workflow_failed",
    }
)
_ENDED = "task_ended"
_ENDED_BY_DECISION = frozenset({"skipped", "abandoned", "failed", "cancelled"})
_HASH = 16
_PLAIN = re.compile(r"[0-9A-Za-z_.-]+")
# Such a character may also be written as an escape; whoever has written a line so is read as a whole.
_HIDDEN = b"\\u00"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which records are looked for; what is empty does not matter.

    ``tasks`` may hold ``*``; ``types`` are names of events; ``signature`` is the beginning of a failure's identity;
    ``since`` seconds since 1970. ``without_me``: what was decided, and not by a person.
    """

    tasks: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    actors: frozenset[str] = frozenset()
    signature: str = ""
    since: float | None = None
    without_me: bool = False

    def may_be(self, line: bytes) -> bool:
        """Whether the record in ``line`` may be wanted. Raises ValueError for a line that is no record."""
        if _HIDDEN not in line and not all(needle(line) for needle in self._needles):
            return False
        return self._by_head(head_of(line)) if self._heeds_heads else True

    def finds(self, line: bytes) -> bool:
        """Whether the record in ``line`` is wanted; it is decoded only where its envelope does not tell.

        Raises ValueError for a line that is no record.
        """
        if not self.may_be(line):
            return False
        return not (self.signature or self.without_me) or self(decode(line))

    @cached_property
    def _needles(self) -> tuple[Callable[[bytes], object], ...]:
        """What a line has to hold somewhere to be worth a look at its envelope."""
        decisions = {*_DECISIONS, _ENDED} if self.without_me else ()
        names = (
            _either(f'"{name}"' for name in sorted(one)) for one in (self.types, self.actors, self.tasks, decisions)
        )
        begins = _either((self.signature[:_HASH],) if self.signature else ())
        return tuple(needle for needle in (begins, *names) if needle is not None)

    def __call__(self, record: Record) -> bool:
        """Whether this record is wanted."""
        head = Head(record.seq, record.time, record.mono, record.actor, record.task, record.attempt, record.name)
        if not self._by_head(head):
            return False
        if self.without_me and isinstance(record.event, e.TaskEnded) and record.event.status not in _ENDED_BY_DECISION:
            return False
        return not self.signature or any(found.startswith(self.signature) for found in signatures_in(record))

    @property
    def _heeds_heads(self) -> bool:
        return bool(self.tasks or self.types or self.actors or self.since is not None or self.without_me)

    def _by_head(self, head: Head) -> bool:
        if self.types and head.event not in self.types:
            return False
        if self.actors and head.actor not in self.actors:
            return False
        if self.without_me and (head.actor == "human" or (head.event not in _DECISIONS and head.event != _ENDED)):
            return False
        if self.tasks and not any(head.task == task or fnmatchcase(head.task, task) for task in self.tasks):
            return False
        if self.since is None:
            return True
        moment = seconds_of(head.time)
        return moment is not None and moment >= self.since


def _either(words: Iterable[str]) -> Callable[[bytes], object] | None:
    """A search for any of these words in the bytes of a line; None where JSON may write one in another way."""
    found = list(words)
    if not found or not all(_PLAIN.fullmatch(word.strip('"')) for word in found):
        return None
    return re.compile("|".join(map(re.escape, found)).encode()).search


class RunReader:
    """The record in a run's ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME
        self._snapshot = folder / SNAPSHOT_NAME

    def records(self, wanted: Wanted | None = None) -> Iterator[Record]:
        """The records that are wanted, in their order. Raises RecordDamaged, after those before the damage."""
        saved = load_snapshot(self._snapshot)
        for line in read_lines(self.path, safe=saved.seq if saved else 0):
            if record := self._wanted(line, wanted):
                yield record

    def follow(
        self, wanted: Wanted | None = None, *, is_live: Callable[[], bool], wait: Callable[[], None]
    ) -> Iterator[Record]:
        """The same, and what comes later, until ``is_live`` says that nobody writes any more.

        ``wait`` returns when it is time to look again. A last line that is only half written is waited for; a log that
        was deleted meanwhile is over. Raises RecordDamaged where the same damage is met twice.
        """
        end, met = START, 0
        while True:
            going = is_live()  # asked first, so that the last words of whoever has just ended are read
            try:
                for line in read_lines(self.path, start=end):
                    end = line.end
                    if record := self._wanted(line, wanted):
                        yield record
            except RecordDamaged as damage:
                # A supervisor that has just been started may be moving a torn end aside.
                if not going or damage.line == met:
                    raise
                met = damage.line
            except RecordError:
                if self.path.exists():
                    raise
                return
            if not going:
                return
            wait()

    def _wanted(self, line: Line, wanted: Wanted | None) -> Record | None:
        if wanted is None:
            return decoded(self.path, line)
        try:
            if not wanted.may_be(line.raw):
                return None
        except (RecursionError, ValueError):
            pass  # what is wrong with it is said by whoever decodes it
        record = decoded(self.path, line)
        return record if wanted(record) else None


def signatures_in(record: Record) -> Iterator[str]:
    """The identities of the failures that a record is about."""
    event: Any = record.event
    for name in ("identity", "pattern"):
        yield _text(getattr(event, name, ""))
    yield _text(getattr(getattr(event, "climb", None), "signature", ""))
    for name in ("signature", "error_signature"):
        yield _text((getattr(event, "context", None) or {}).get(name, ""))
    diagnosis = getattr(event, "diagnosis", None)
    if diagnosis:
        try:
            yield Diagnosis.from_dict(diagnosis).identity
        except (AttributeError, TypeError, ValueError):
            return


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
