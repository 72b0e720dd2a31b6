"""The announced next step is the step that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from unstuck.diagnosis.enums import Cause, FailureType
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.forecast import forecast
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import Direct, decide

Make = Callable[..., Any]


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize("direct", [False, True])
def test_what_is_told_comes_if_nothing_changes(facts: Make, failure: Make, cause: Cause, direct: bool) -> None:
    """From every step of a climb the steps told are those that the same failure then leads to."""
    diagnosis = replace(failure(), cause=cause)
    climb = Climb()
    told = forecast(climb, diagnosis, Limits(), direct=direct)
    assert told[-1].kind == "human"
    for ahead in range(len(told)):
        assert [step.kind for step in forecast(climb, diagnosis, Limits(), direct=direct)] == [
            step.kind for step in told[ahead:]
        ]
        ways = alternatives(cause, failed={*climb.failed_approaches, climb.approach})
        decision = decide(facts(diagnosis=diagnosis, climb=climb, alternatives=ways, direct=direct), Limits())
        assert isinstance(decision, Direct)
        assert decision.level == told[ahead].kind
        climb = decision.climb


def test_a_pivot_is_told_with_its_way(failure: Make) -> None:
    """The agent's own next approach comes first, and one that failed is not announced again."""
    diagnosis = replace(failure(), cause=Cause.APPROACH_WRONG)
    climb = Climb(named=("use the queue",), failed_approaches=("simplify",))
    ways = [step.approach for step in forecast(climb, diagnosis, Limits()) if step.kind == "pivot"]
    assert ways[0] == "use the queue"
    assert len(set(ways)) == len(ways)
    assert "simplify" not in ways


def test_what_passes_is_waited_for_first() -> None:
    """A trouble that may pass is waited out three times before it climbs."""
    diagnosis = diagnose("HTTP 429: Too Many Requests", exit_code=1)
    assert diagnosis is not None
    kinds = [step.kind for step in forecast(Climb(), diagnosis, Limits())]
    assert kinds[:3] == ["wait"] * 3
    assert kinds[-1] == "human"


def test_where_nobody_may_be_asked_it_ends(failure: Make) -> None:
    """Without anybody to ask the last step is the end of the run."""
    assert forecast(Climb(), failure(), Limits(), may_ask=False)[-1].kind == "halt"


def test_without_a_failure_nothing_is_told() -> None:
    """Of a task that has not failed nothing is foretold."""
    assert forecast(Climb(), None, Limits()) == ()


@pytest.mark.parametrize("kind", list(FailureType))
def test_it_always_ends(failure: Make, kind: FailureType) -> None:
    """Whatever the failure, what lies ahead is not endless."""
    limits = Limits(max_attempts=7)
    assert len(forecast(Climb(), replace(failure(), failure_type=kind), limits)) <= 7 + 3 + 3 + 3 + 1
