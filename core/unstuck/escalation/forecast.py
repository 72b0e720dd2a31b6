"""Forecast of a task: the steps that would follow if the same failure occurred again each time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstuck.contract import Report
from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import BackOff, Direct, Facts, Redispatch, decide

Ahead = Literal["retry", "pivot", "research", "continue", "wait", "again", "human", "halt"]
_NO_REPORT = Report()


@dataclass(frozen=True, slots=True)
class Step:
    """Step of a forecast. ``approach`` is that of a pivot."""

    kind: Ahead
    approach: str = ""


def forecast(
    climb: Climb, diagnosis: Diagnosis | None, limits: Limits, *, direct: bool = False, may_ask: bool = True
) -> tuple[Step, ...]:
    """Return the steps after ``climb`` up to the question or the end, by the rules that decide them.

    ``diagnosis`` is the repeated failure; without one the forecast is empty. Pivots are those that the agent has named
    and the built-in ones for the cause. The project's memory may put others before them.
    """
    if diagnosis is None:
        return ()
    steps: list[Step] = []
    most = limits.max_attempts + limits.transient_retries + limits.task_failure_limit + limits.continuations + 1
    while len(steps) < most:
        tried = {*climb.failed_approaches, climb.approach}
        ways = alternatives(diagnosis.cause, named=climb.named, failed=tried)
        facts = Facts(
            check="failed", report=_NO_REPORT, diagnosis=diagnosis, climb=climb, alternatives=ways, direct=direct,
            may_ask=may_ask,
        )  # fmt: skip
        decision = decide(facts, limits)
        match decision:
            case Direct(level="human"):
                return (*steps, Step("human"))
            case Direct(level=level, approach=approach):
                steps.append(Step(level, approach if level == "pivot" else ""))
            case BackOff():
                steps.append(Step("wait"))
            case Redispatch():
                steps.append(Step("again"))
            case _:
                return (*steps, Step("human" if may_ask else "halt"))
        climb = decision.climb
    return tuple(steps)
