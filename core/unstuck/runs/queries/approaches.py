"""Approaches that a new approach would take against a failure, in their order and with the reason for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unstuck.diagnosis.enums import Cause
from unstuck.errors import UsageError
from unstuck.escalation.alternatives import Uses, uses_of
from unstuck.escalation.limits import Limits
from unstuck.eventlog.memory.entry import Remembered
from unstuck.eventlog.memory.store import Memory
from unstuck.supervision.memory.failure_memory import ways_against
from unstuck.text import one_line


def approach_rows(memory: Memory, limits: Limits, wanted: str, now: float) -> Iterator[dict[str, Any]]:
    """Yield a row for each approach against the failure whose signature begins with ``wanted``, best first.

    Empty is the newest failure of the memory. Those that others have overtaken come after the rest. Those that failed
    against it, and overtaken ones that no source names now, come last, without a ``place``. ``now`` is
    in seconds since 1970. Raises UsageError for an unknown failure.
    """
    failure = _failure(memory, wanted)
    signature, headline = failure.signature, failure.note
    cause = next((one for one in Cause if one.value == failure.cause), Cause.SIMPLE_LOGIC)
    uses = uses_of(memory.entries("approach"), signature=signature, headline=headline, now=now)
    ways = ways_against(memory, limits, cause=cause, signature=signature, headline=headline, now=now)
    stopped = memory.stopped(signature)
    ranked = [(place, way.name, way.source, round(way.confidence, 3)) for place, way in enumerate(ways, 1)]
    out = sorted({*memory.failed(signature), *stopped} - {way.name for way in ways})
    for place, name, source, score in (*ranked, *((None, name, "memory", 0.0) for name in out)):
        used = uses.get(name, Uses())
        yield {
            "signature": signature,
            "headline": headline,
            "order": "learned" if limits.learned else "confidence",
            "approach": name,
            "place": place,
            "source": source,
            "score": score,
            "worked": used.worked,
            "tried": used.tried,
            "stopped": name in stopped,
        }


def reason_of(row: Mapping[str, Any]) -> str:
    """Return the reason for the place of an approach, in words."""
    record = f"worked {row['worked']} of {row['tried']} against similar failures" if row["tried"] else "no record"
    if row["stopped"]:
        return "another one was faster: taken after all others"
    if row["place"] is None:
        return "failed against this failure: not taken again"
    return record if row["order"] == "learned" else f"by confidence; {record}"


def _failure(memory: Memory, wanted: str) -> Remembered:
    tried = memory.entries("approach")
    known = [entry for entry in tried if entry.signature == wanted]
    known = known or [entry for entry in tried if entry.signature.startswith(wanted)]
    if not known:
        raise UsageError(f"no approach is remembered for {one_line(wanted, 80) or 'any failure'} yet")
    found = {entry.signature for entry in known}
    if wanted and len(found) > 1:
        raise UsageError(f"{one_line(wanted, 80)} could be any of: {', '.join(sorted(found)[:5])}")
    return known[0]
