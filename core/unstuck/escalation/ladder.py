"""Escalation levels: retry, pivot, research, then checkpoint and ask. Pure.

The cause of a failure decides its first level; a used-up level leads to the next. Counters start again (retries after a
pivot, pivots after research) only for a failure with another signature. Without that rule the resets of the failure
handler allow 41 directives before the first question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from unstuck.diagnosis.enums import Cause, FailureType
from unstuck.escalation.ladder_state import Climb, Rung
from unstuck.escalation.limits import Limits

_ORDER: tuple[Rung, ...] = ("retry", "pivot", "research", "human")
_ENTRY: dict[Cause, Rung] = {
    Cause.SYNTAX_ERROR: "retry",
    Cause.SIMPLE_LOGIC: "retry",
    Cause.TEST_ASSERTION: "retry",
    Cause.APPROACH_WRONG: "pivot",
    Cause.PATTERN_MISMATCH: "pivot",
    Cause.DEPENDENCY_ISSUE: "pivot",
    Cause.COMPLEX_LOGIC: "research",
    Cause.UNKNOWN_API: "research",
    Cause.INTEGRATION_ISSUE: "research",
}


def entry_rung(cause: Cause) -> Rung:
    """Return the first level for a failure of this cause."""
    return _ENTRY.get(cause, "retry")


def next_rung(
    climb: Climb,
    cause: Cause,
    failure_type: FailureType,
    limits: Limits,
    *,
    fresh: bool,
    alternatives: bool,
    direct: bool = False,
) -> Rung:
    """Return the level for the last failure of ``climb``.

    ``fresh`` means that its signature is new in this climb, ``alternatives`` that a pivot has an approach. ``direct``
    is retry for any cause, then ask.
    """
    if climb.directives >= limits.max_attempts:
        return "human"
    current = climb.rung if climb.rung in _ORDER else "retry"
    start = "retry" if direct else entry_rung(cause)
    if not fresh and current != "human":
        start = max(start, current, key=_ORDER.index)
    counted = _restarted(climb) if fresh else climb
    for rung in _ORDER[_ORDER.index(start) :]:
        if _has_room(rung, counted, failure_type, limits, alternatives=alternatives, direct=direct):
            return rung
    return "human"


def _restarted(climb: Climb) -> Climb:
    """Return ``climb`` with retries reset after a pivot, retries and pivots after research."""
    if climb.rung == "research":
        return replace(climb, retries=0, pivots=0, unknown=0)
    if climb.rung == "pivot":
        return replace(climb, retries=0, unknown=0)
    return climb


def _has_room(
    rung: Rung, climb: Climb, failure_type: FailureType, limits: Limits, *, alternatives: bool, direct: bool
) -> bool:
    if rung == "retry":
        if failure_type is FailureType.UNKNOWN and climb.unknown >= limits.unknown_retries:
            return False
        if failure_type is FailureType.VERIFICATION_FAILED and climb.retries >= limits.verification_retries:
            return False
        return climb.retries < limits.max_retries
    if direct:
        return rung == "human"
    if rung == "pivot":
        return alternatives and climb.pivots < limits.max_pivots
    if rung == "research":
        return climb.research < limits.max_research
    return True


def step_onto(
    climb: Climb, rung: Literal["retry", "pivot", "research", "human"], failure_type: FailureType, *, fresh: bool
) -> Climb:
    """Return ``climb`` after a directive on ``rung``, counted as used and as given."""
    counted = _restarted(climb) if fresh else climb
    counted = replace(counted, rung=rung, directives=counted.directives + 1)
    if rung == "retry":
        unknown = counted.unknown + (failure_type is FailureType.UNKNOWN)
        return replace(counted, retries=counted.retries + 1, told_retries=counted.told_retries + 1, unknown=unknown)
    if rung == "pivot":
        return replace(counted, pivots=counted.pivots + 1, told_pivots=counted.told_pivots + 1)
    if rung == "research":
        return replace(counted, research=counted.research + 1, told_research=counted.told_research + 1)
    return counted
