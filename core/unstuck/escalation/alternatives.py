"""Where a pivot can go: what worked before, what the agent sees, what the failure suggests, and two built-in ways."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from unstuck.diagnosis import Approach, Cause

__all__ = ["BUILT_IN", "alternatives", "built_in"]

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
_FAILURE_CONFIDENCE = 0.5
_BUILT_IN_CONFIDENCE = 0.4


def built_in(cause: Cause) -> tuple[str, ...]:
    """The ways every project knows for this cause, at least two."""
    own = BUILT_IN.get(cause, ())
    return own + tuple(way for way in _ANYWHERE if way not in own)


def alternatives(
    cause: Cause,
    *,
    remembered: Iterable[tuple[str, float]] = (),
    patterns: Iterable[tuple[str, float]] = (),
    named: Iterable[str] = (),
    failed: Collection[str] = (),
) -> tuple[Approach, ...]:
    """Every approach that has not failed yet, best first.

    ``remembered`` holds (approach, similarity) of tasks that succeeded, ``patterns`` (approach, confidence), ``named``
    what the agent itself offered. Discounts: memory x 0.8, patterns x 0.7, the failure itself 0.5.
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
