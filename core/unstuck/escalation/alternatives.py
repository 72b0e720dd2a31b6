"""Alternative approaches: from memory, from patterns, from the agent, from the failure, and two built-in ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from unstuck.detection.similarity import similarity
from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.enums import Cause
from unstuck.escalation.research_targets import Known
from unstuck.settings.regex import matches

_ANYWHERE = (
    "start from the failing check and write the smallest change that satisfies it",
    "revert your edits and solve one failing case at a time",
)
BUILT_IN: dict[Cause, tuple[str, ...]] = {
    Cause.SYNTAX_ERROR: (
        "rewrite the broken block from scratch in simpler statements",
        "restore the file and apply smaller edits",
    ),
    Cause.TEST_ASSERTION: (
        "derive the expected value by hand, then correct the algorithm",
        "replace the failing function by a simpler implementation",
    ),
    Cause.DEPENDENCY_ISSUE: ("use only the standard library", "vendor a minimal implementation of the missing part"),
    Cause.SIMPLE_LOGIC: (
        "trace one failing input step by step before editing",
        "replace the failing function by a simpler implementation",
    ),
    Cause.APPROACH_WRONG: (
        "solve it in a different layer of the code",
        "delete the abstraction and write the direct version",
    ),
    Cause.PATTERN_MISMATCH: (
        "copy the structure of a working neighbour in this repository",
        "drop the pattern and write the direct version",
    ),
    Cause.COMPLEX_LOGIC: ("split the function into pieces and test each", "tabulate all cases and implement the table"),
    Cause.UNKNOWN_API: (
        "call the library through its simplest documented entry point",
        "avoid the unknown interface and compute the result yourself",
    ),
    Cause.INTEGRATION_ISSUE: (
        "isolate the two sides behind one small function",
        "make one side work alone, then connect the other",
    ),
}

_AGENT_CONFIDENCE = 0.6
_SIGNATURES_OF_A_PATTERN = 2
_FAILURE_CONFIDENCE = 0.5
_BUILT_IN_CONFIDENCE = 0.4
_SIMILAR_FAILURE = 0.7
HALF_LIFE_DAYS = 90.0
"""Age at which a success or a failure of an approach counts half."""
_DOUBT = 2.0
"""Number of uses that the confidence of an approach is worth beside its record."""


def built_in(cause: Cause) -> tuple[str, ...]:
    """Return the built-in approaches for this cause, at least two."""
    own = BUILT_IN.get(cause, ())
    return own + tuple(way for way in _ANYWHERE if way not in own)


class Tried(Known, Protocol):
    """Recorded use of an approach. ``outcome`` is ``worked``, ``failed`` or ``stopped``, ``note`` the headline."""

    @property
    def cause(self) -> str: ...
    @property
    def run(self) -> str: ...


@dataclass(slots=True)
class Uses:
    """Uses of an approach against similar failures. The weights are the same numbers, less with age."""

    worked: int = 0
    tried: int = 0
    worked_weight: float = 0.0
    weight: float = 0.0

    @property
    def words(self) -> str:
        return f"worked {self.worked} of {self.tried}"


def uses_of(tried: Iterable[Tried], *, signature: str, headline: str, now: float) -> dict[str, Uses]:
    """Return the uses of each approach against this failure and similar ones; ``now`` is in seconds since 1970.

    ``tried`` is newest first; of the uses by one task of a run the newest counts.
    """
    found: dict[str, Uses] = {}
    similar: dict[str, bool] = {}
    seen: set[tuple[str, ...]] = set()
    for use in tried:
        key = (use.approach, use.signature, use.run, use.task)
        if use.note not in similar:
            similar[use.note] = similarity(use.note, headline) >= _SIMILAR_FAILURE
        if (
            key in seen
            or not use.approach
            or use.outcome == "stopped"
            or not (use.signature == signature or similar[use.note])
        ):
            continue
        seen.add(key)
        uses, weight = found.setdefault(use.approach, Uses()), _weight(use.when, now)
        uses.tried, uses.weight = uses.tried + 1, uses.weight + weight
        if use.outcome == "worked":
            uses.worked, uses.worked_weight = uses.worked + 1, uses.worked_weight + weight
    return found


def _weight(when: str, now: float) -> float:
    try:
        then = datetime.fromisoformat(when)
    except ValueError:
        return 0.5
    age = max(0.0, now - then.replace(tzinfo=then.tzinfo or UTC).timestamp())
    return float(0.5 ** (age / 86_400.0 / HALF_LIFE_DAYS))


def learned_order(ways: Iterable[Approach], uses: Mapping[str, Uses]) -> tuple[Approach, ...]:
    """Return ``ways`` by their share of successes, best first; its confidence stands for an approach without a record.

    The share is also the confidence of the result.
    """
    ranked = [replace(way, confidence=_share(way, uses.get(way.name)), record=_record(uses, way)) for way in ways]
    return tuple(sorted(ranked, key=lambda way: way.confidence, reverse=True))


def _share(way: Approach, uses: Uses | None) -> float:
    if uses is None:
        return way.confidence
    prior = min(way.confidence, 0.5)  # what is remembered is in the record, and counts once
    return (uses.worked_weight + _DOUBT * prior) / (uses.weight + _DOUBT)


def _record(uses: Mapping[str, Uses], way: Approach) -> str:
    return uses[way.name].words if way.name in uses else ""


def remembered_ways(
    tried: Iterable[Tried], *, cause: Cause, signature: str, headline: str
) -> tuple[tuple[str, float], ...]:
    """Return approaches that worked before, as (approach, similarity): 1.0 for the same failure, else by headline.

    ``tried`` is newest first; only the last use of an approach against a failure counts.
    """
    best: dict[str, float] = {}
    for use in _last_uses(tried, cause, signature).values():
        if use.outcome == "worked":
            score = 1.0 if use.signature == signature else similarity(use.note, headline)
            best[use.approach] = max(score, best.get(use.approach, 0.0))
    return tuple((approach, score) for approach, score in best.items() if score > 0)


def learnt_patterns(tried: Iterable[Tried], *, cause: Cause) -> tuple[tuple[str, float], ...]:
    """Return approaches that worked against two failures of this cause, with their share of successes."""
    met: dict[str, list[bool]] = {}
    for use in _last_uses(tried, cause, "").values():
        met.setdefault(use.approach, []).append(use.outcome == "worked")
    return tuple(
        (approach, sum(worked) / len(worked))
        for approach, worked in met.items()
        if sum(worked) >= _SIGNATURES_OF_A_PATTERN
    )


def known_ways(patterns: Iterable[tuple[str, str, float]], headline: str) -> tuple[tuple[str, float], ...]:
    """Return the user's patterns that match this failure, as (approach, confidence)."""
    return tuple((approach, confidence) for pattern, approach, confidence in patterns if matches(pattern, headline))


def _last_uses(tried: Iterable[Tried], cause: Cause, signature: str) -> Mapping[tuple[str, str], Tried]:
    """Return the newest use of each approach against each failure that is the same or has this cause."""
    last: dict[tuple[str, str], Tried] = {}
    for use in tried:
        if (
            use.approach
            and use.outcome != "stopped"
            and (use.cause == cause.value or (signature and use.signature == signature))
        ):
            last.setdefault((use.approach, use.signature), use)
    return last


def alternatives(
    cause: Cause,
    *,
    remembered: Iterable[tuple[str, float]] = (),
    patterns: Iterable[tuple[str, float]] = (),
    named: Sequence[str] = (),
    failed: Collection[str] = (),
) -> tuple[Approach, ...]:
    """Return every approach that has not failed yet, best first.

    ``remembered`` holds (approach, similarity) of tasks that succeeded, ``patterns`` (approach, confidence), ``named``
    the agent's own. Confidence: memory x 0.8, patterns x 0.7, the agent 0.6, the failure 0.5, built-in 0.4.
    """
    found = [Approach(name, "memory", similarity * 0.8) for name, similarity in remembered]
    found += [Approach(name, "pattern", confidence * 0.7) for name, confidence in patterns]
    found += [Approach(name, "agent", _AGENT_CONFIDENCE) for name in named]
    if cause is Cause.DEPENDENCY_ISSUE:
        found.append(Approach("use_alternative_library", "failure_analysis", _FAILURE_CONFIDENCE))
    found += [Approach(name, "built_in", _BUILT_IN_CONFIDENCE) for name in built_in(cause)]
    unique: dict[str, Approach] = {}
    for approach in sorted(found, key=lambda approach: approach.confidence, reverse=True):
        if approach.name and approach.name not in failed:
            unique.setdefault(approach.name, approach)
    return tuple(unique.values())
