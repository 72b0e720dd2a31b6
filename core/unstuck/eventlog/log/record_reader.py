"""Filtered, streaming reader of the records of a run.

Of each line only the envelope is parsed before the filter has matched. One line is held at a time.
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
from unstuck.eventlog.attention_stats import DECISIONS, decider, seconds_of
from unstuck.eventlog.envelope import Record, decode, event_name
from unstuck.eventlog.log.envelope_scan import Envelope, envelope_of
from unstuck.eventlog.log.load_state import LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import START, Line, read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.log.snapshot import load as load_snapshot

_HASH = 16
_PLAIN = re.compile(r"[0-9A-Za-z_.-]+")
# Plain characters may also be written as escapes; such a line is always decoded.
_ESCAPE = b"\\u00"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Filter of records. An empty field matches every record.

    ``tasks`` may contain ``*``. ``types`` are names of events. ``signature`` is the start of a failure's identity.
    ``since`` is in seconds since 1970. ``without_me`` matches decisions without a person.
    """

    tasks: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    actors: frozenset[str] = frozenset()
    signature: str = ""
    since: float | None = None
    without_me: bool = False

    def may_match(self, line: bytes) -> bool:
        """Return whether the record in ``line`` may match. Raises ValueError for a line that is not a record."""
        if _ESCAPE not in line and not all(search(line) for search in self._prefilters):
            return False
        if self.types and (name := event_name(line)) and name not in self.types:
            return False
        return self._matches_envelope(envelope_of(line)) if self._filters_envelope else True

    def finds(self, line: bytes) -> bool:
        """Return whether the record in ``line`` matches. The line is decoded only if its envelope is not enough.

        Raises ValueError for a line that is not a record.
        """
        if not self.may_match(line):
            return False
        return not (self.signature or self.without_me) or self(decode(line))

    @cached_property
    def _prefilters(self) -> tuple[Callable[[bytes], object], ...]:
        """Prefilters: searches that a matching line has to satisfy before its envelope is parsed."""
        decisions = DECISIONS if self.without_me else ()
        names = (_any_of(f'"{name}"' for name in sorted(one)) for one in (self.actors, self.tasks, decisions))
        begins = _any_of((self.signature[:_HASH],) if self.signature else ())
        return tuple(search for search in (begins, *names) if search is not None)

    def __call__(self, record: Record) -> bool:
        """Return whether this record matches."""
        envelope = Envelope(
            record.seq, record.time, record.mono, record.actor, record.task, record.attempt, record.name
        )
        if not self._matches_envelope(envelope):
            return False
        if self.without_me and decider(record) is None:
            return False
        return not self.signature or any(found.startswith(self.signature) for found in signatures_in(record))

    @property
    def _filters_envelope(self) -> bool:
        return bool(self.tasks or self.types or self.actors or self.since is not None or self.without_me)

    def _matches_envelope(self, envelope: Envelope) -> bool:
        if self.types and envelope.event not in self.types:
            return False
        if self.actors and envelope.actor not in self.actors:
            return False
        if self.without_me and (envelope.actor == "human" or envelope.event not in DECISIONS):
            return False
        if self.tasks and not any(envelope.task == task or fnmatchcase(envelope.task, task) for task in self.tasks):
            return False
        if self.since is None:
            return True
        moment = seconds_of(envelope.time)
        return moment is not None and moment >= self.since


def _any_of(words: Iterable[str]) -> Callable[[bytes], object] | None:
    """Return a search for any of these words in a line, or None if JSON may escape one of them."""
    found = list(words)
    if not found or not all(_PLAIN.fullmatch(word.strip('"')) for word in found):
        return None
    return re.compile("|".join(map(re.escape, found)).encode()).search


class RunReader:
    """Reader of the log in the ``folder`` of a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME
        self._snapshot = folder / SNAPSHOT_NAME

    def records(self, wanted: Wanted | None = None) -> Iterator[Record]:
        """Yield the matching records in order. Raises RecordDamaged after the records before the damage."""
        saved = load_snapshot(self._snapshot)
        for line in read_lines(self.path, safe=saved.seq if saved else 0):
            if record := self._wanted(line, wanted):
                yield record

    def follow(
        self, wanted: Wanted | None = None, *, is_live: Callable[[], bool], wait: Callable[[], None]
    ) -> Iterator[Record]:
        """Yield the matching records and new ones, until ``is_live`` returns False.

        ``wait`` returns when it is time to read again. A half-written last line is read once it is whole. A deleted log
        ends the iteration. Raises RecordDamaged if two reads meet the same damage.
        """
        end, last_damage = START, 0
        while True:
            going = is_live()  # asked first, so that the last records of a run that ends now are read
            try:
                for line in read_lines(self.path, start=end):
                    end = line.end
                    if record := self._wanted(line, wanted):
                        yield record
            except RecordDamaged as damage:
                # A supervisor that is starting may be moving a torn end aside.
                if not going or damage.line == last_damage:
                    raise
                last_damage = damage.line
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
            if not wanted.may_match(line.raw):
                return None
        except (RecursionError, ValueError):
            pass  # decoding reports the problem
        record = decoded(self.path, line)
        return record if wanted(record) else None


def signatures_in(record: Record) -> Iterator[str]:
    """Yield the identities of the failures that a record is about."""
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
