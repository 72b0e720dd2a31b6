"""The ladder: retry, pivot, research, checkpoint and ask. Pure.

The cause of a failure gives the rung on which it enters, exhaustion climbs. A rung starts again (retries after a pivot,
pivots after research) only for a failure with another signature: the same one goes on up. Without that rule the resets
of the failure handler allow 41 directives before the first question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from unstuck.diagnosis.enums import Cause, FailureType
from unstuck.escalation.ladder_state import Climb, Rung
from unstuck.escalation.limits import Limits

__all__ = ["entry_rung", "next_rung", "step_onto"]

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
    """The rung on which a failure of this cause enters the ladder."""
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
    """The rung that answers the failure that ``climb`` has just noted.

    ``fresh`` is whether its signature is new in this climb; ``alternatives`` whether a pivot has somewhere to go;
    ``direct`` is retry, whatever the cause, then ask.
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
    """Retries start again after a pivot, pivots (and retries) after research."""
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
    """``climb`` after a directive of ``rung``: one more used, one more told."""
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
