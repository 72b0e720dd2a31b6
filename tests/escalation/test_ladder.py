"""The ladder as a person sees it: what follows what, and that it always ends in a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.contract import Report
from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.enums import Cause, ErrorCategory, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder import entry_rung
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import BackOff, Direct, Facts, Redispatch, decide
from unstuck.escalation.stuck_report import stuck_report
from unstuck.text import Clean

Make = Callable[..., Any]
WAYS = tuple(Approach(f"way {number}", "built_in", 0.4) for number in range(30))


def climb_through(
    failures: Sequence[Diagnosis], facts: Make, *, limits: Limits | None = None, **changes: Any
) -> tuple[list[str], Climb]:
    """The levels that answer ``failures`` one after the other, up to a question, and the climb at its end."""
    climb, levels = changes.pop("climb", Climb()), []
    ways = changes.pop("alternatives", WAYS)
    for diagnosis in failures:
        left = tuple(way for way in ways if way.name not in climb.failed_approaches and way.name != climb.approach)
        decision = decide(facts(diagnosis=diagnosis, climb=climb, alternatives=left, **changes), limits or Limits())
        assert isinstance(decision, Direct)
        levels.append(decision.level)
        climb = decision.climb
        if decision.level == "human":
            break
    return levels, climb


def test_the_same_failure_climbs_and_never_starts_a_rung_again(facts: Make, failure: Make) -> None:
    """Three retries, three other approaches, two rounds of research, then the question."""
    levels, climb = climb_through([failure()] * 20, facts)
    assert levels == ["retry"] * 3 + ["pivot"] * 3 + ["research"] * 2 + ["human"]
    assert climb.repeats == 9


def test_the_limits_are_the_users(facts: Make, failure: Make) -> None:
    """Each rung is as long as the settings say; none at all asks at once."""
    levels, _ = climb_through([failure()] * 9, facts, limits=Limits(max_retries=1, max_pivots=2, max_research=1))
    assert levels == ["retry", "pivot", "pivot", "research", "human"]
    levels, _ = climb_through([failure()], facts, limits=Limits(max_retries=0, max_pivots=0, max_research=0))
    assert levels == ["human"]


@pytest.mark.parametrize(
    ("rung", "causes"),
    [
        ("retry", {Cause.SYNTAX_ERROR, Cause.SIMPLE_LOGIC, Cause.TEST_ASSERTION}),
        ("pivot", {Cause.APPROACH_WRONG, Cause.PATTERN_MISMATCH, Cause.DEPENDENCY_ISSUE}),
        ("research", {Cause.COMPLEX_LOGIC, Cause.UNKNOWN_API, Cause.INTEGRATION_ISSUE}),
    ],
)
def test_the_cause_says_where_a_failure_enters(facts: Make, failure: Make, rung: str, causes: set[Cause]) -> None:
    """A wrong approach is not retried three times first."""
    assert {cause for cause in Cause if entry_rung(cause) == rung} == causes
    for cause in causes:
        assert climb_through([failure(cause=cause)], facts)[0] == [rung]


def test_a_new_failure_after_a_pivot_is_retried_again(facts: Make, failure: Make) -> None:
    """Another approach that fails in another way gets its own retries; the old failure goes on up."""
    up = [failure("one")] * 4
    levels, climb = climb_through([*up, failure("two"), failure("two"), failure("two"), failure("two")], facts)
    assert levels == ["retry"] * 3 + ["pivot"] + ["retry"] * 3 + ["pivot"]
    assert climb.pivots == 2
    assert climb_through([*up, failure("one")], facts)[0][-1] == "pivot"


def test_a_new_failure_after_research_may_pivot_again(facts: Make, failure: Make) -> None:
    """Findings of research allow new approaches, for another failure only."""
    up = [failure("one")] * 7
    wrong = failure("two", cause=Cause.APPROACH_WRONG)
    levels, climb = climb_through([*up, wrong], facts)
    assert levels[-2:] == ["research", "pivot"]
    assert climb.pivots == 1
    assert climb.told_pivots == 4
    assert climb_through([*up, replace(failure("one"), cause=Cause.APPROACH_WRONG)], facts)[0][-1] == "research"


def test_a_failure_that_comes_back_is_not_new(facts: Make, failure: Make) -> None:
    """Two failures that take turns start no rung again after each had its turn."""
    levels, _ = climb_through([failure("one"), failure("two")] * 20, facts)
    assert len(levels) <= 12
    assert levels[-1] == "human"


def test_an_unknown_failure_is_retried_once(facts: Make, failure: Make) -> None:
    """An unknown failure is not tried three times the same way."""
    unknown = failure(failure_type=FailureType.UNKNOWN)
    assert climb_through([unknown] * 3, facts)[0] == ["retry", "pivot", "pivot"]


def test_without_another_way_the_pivot_is_left_out(facts: Make, failure: Make) -> None:
    """Research where it is left, else the question."""
    levels, _ = climb_through([failure()] * 9, facts, alternatives=())
    assert levels == ["retry"] * 3 + ["research"] * 2 + ["human"]
    levels, _ = climb_through([failure()] * 9, facts, alternatives=(), limits=Limits(max_research=0))
    assert levels == ["retry"] * 3 + ["human"]


@pytest.mark.parametrize("cause", list(Cause))
def test_direct_mode_retries_whatever_the_cause_and_then_asks(facts: Make, failure: Make, cause: Cause) -> None:
    """No pivot and no research in direct mode."""
    assert climb_through([failure(cause=cause)] * 9, facts, direct=True)[0] == ["retry"] * 3 + ["human"]


def test_an_approach_that_failed_is_not_chosen_again(facts: Make, failure: Make) -> None:
    """Neither the agent's own approach nor an earlier pivot's is offered twice."""
    report = Report(exit_code=0, approach=Clean("use a table"))
    _, climb = climb_through([failure()] * 4, facts, report=report)
    assert climb.failed_approaches == ("use a table",)
    assert climb.approach == "way 0"
    _, climb = climb_through([failure()] * 9, facts, report=report)
    assert climb.failed_approaches == ("use a table", "way 0", "way 1", "way 2")


def test_a_retry_keeps_the_approach_of_the_pivot(facts: Make, failure: Make) -> None:
    """The agent is told again which approach it is on."""
    _, climb = climb_through([failure("one")] * 4, facts)
    decision = decide(facts(diagnosis=failure("two"), climb=climb, alternatives=WAYS), Limits())
    assert isinstance(decision, Direct)
    assert decision.level == "retry"
    assert decision.approach == "way 0"


def test_a_persons_answer_starts_a_new_climb(facts: Make, failure: Make) -> None:
    """All rungs are there again, what failed stays known, and a named approach is followed."""
    _, climb = climb_through([failure()] * 20, facts)
    again = climb.answered("retry", "use the raw body")
    assert again.approach == "use the raw body"
    assert again.failed_approaches == climb.failed_approaches
    levels, after = climb_through([failure()] * 20, facts, climb=again)
    assert levels == ["retry"] * 3 + ["pivot"] * 3 + ["research"] * 2 + ["human"]
    assert after.told_retries == 3
    assert after.told_pivots == 3
    assert after.told_research == 2
    assert "use the raw body" in after.failed_approaches
    assert len(after.failed_approaches) == 7


def test_what_persons_said_is_kept_but_not_without_end() -> None:
    """Advice stays for the agents to come; a long run does not carry all of it."""
    climb = Climb().answered("show_me", "first").answered("choose", "second")
    assert climb.advice == ("first", "second")
    assert climb.answered("retry", "other").advice == ("first", "second")
    for number in range(9):
        climb = climb.answered("show_me", str(number))
    assert climb.advice == ("6", "7", "8")


def test_the_stuck_report_counts_everything_since_the_last_question(facts: Make, failure: Make) -> None:
    """Also the rungs that were started again."""
    up = [failure("one")] * 4 + [failure("two")] * 9
    levels, climb = climb_through(up, facts)
    report = stuck_report("web", climb, failure("two"), reason="nothing is left to try")
    told = {"retries": levels.count("retry"), "pivots": levels.count("pivot"), "research": levels.count("research")}
    assert report.attempts == told
    assert told["retries"] == 6
    text = report.markdown()
    assert "- 6 retries" in text
    assert "It failed in 2 ways, the last one 8 times in a row" in text


NAMES = st.sampled_from("abcdef") | st.text("xyz", min_size=1, max_size=6)
KINDS = st.sampled_from(list(FailureType))
CATEGORIES = st.sampled_from(list(ErrorCategory))
ENDS = st.sampled_from(["ended", "ended", "ended", "crashed", "timed_out", "no_signal", "bad_signal"])


@given(st.data())
def test_every_climb_ends_in_a_question(data: st.DataObject) -> None:
    """Whatever fails however: at most `max_attempts` directives, and only the ladder uses up rungs."""
    limits = Limits(
        max_attempts=data.draw(st.integers(1, 25)),
        auto_resolve=((".", "try this", ""),) if data.draw(st.booleans()) else (),
    )
    climb, directives, beside = Climb(), 0, 0
    for _ in range(200):
        facts = _random_facts(data, climb)
        decision = decide(facts, limits)
        if isinstance(decision, Direct) and decision.level == "human":
            break
        assert isinstance(decision, Direct | BackOff | Redispatch)
        rungs = (climb.retries, climb.pivots, climb.research)
        if isinstance(decision, Direct):
            directives += 1
        else:
            beside += 1
        if not isinstance(decision, Direct) or decision.line != 10:
            assert (decision.climb.retries, decision.climb.pivots, decision.climb.research) == rungs
        climb = decision.climb
    else:
        raise AssertionError("no question after 200 failures")
    assert directives == climb.directives <= limits.max_attempts
    assert beside <= limits.transient_retries + limits.task_failure_limit


def _random_facts(data: st.DataObject, climb: Climb) -> Facts:
    diagnosis = _named(data.draw(NAMES))
    diagnosis = replace(
        diagnosis,
        cause=data.draw(st.sampled_from(list(Cause))),
        failure_type=data.draw(KINDS),
        category=data.draw(CATEGORIES),
    )
    return Facts(
        check="failed",
        report=Report(how=data.draw(ENDS), approach=data.draw(st.none() | st.sampled_from([Clean("p"), Clean("q")]))),
        diagnosis=diagnosis,
        climb=climb,
        alternatives=WAYS[: data.draw(st.integers(0, 2))],
    )


@cache
def _named(name: str) -> Diagnosis:
    found = diagnose(f"ValueError: {name}", exit_code=1)
    assert found is not None
    return found


@given(st.lists(NAMES, min_size=60, max_size=60), st.sampled_from(list(Cause)))
def test_never_forty_one_directives(names: list[str], cause: Cause) -> None:
    """With the default limits the first question comes after twenty directives at the latest."""
    climb = Climb()
    for name in names:
        facts = Facts(
            check="failed",
            report=Report(exit_code=0),
            diagnosis=replace(_named(name), cause=cause, failure_type=FailureType.VERIFICATION_FAILED),
            climb=climb,
            alternatives=WAYS,
        )
        decision = decide(facts, Limits())
        assert isinstance(decision, Direct)
        climb = decision.climb
        if decision.level == "human":
            break
    assert climb.rung == "human"
    assert climb.directives <= 20
