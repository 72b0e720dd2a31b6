"""One failure, one answer: every line of the precedence table, and each line before its neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from unstuck.contract import Denial, Report
from unstuck.diagnosis.enums import Cause, ErrorCategory, FailureType
from unstuck.diagnosis.extent import Extent
from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import (
    AskQuestion,
    BackOff,
    Block,
    Decision,
    Direct,
    Facts,
    Finish,
    Halt,
    Redispatch,
    decide,
)
from unstuck.text import Clean

Make = Callable[..., Any]

LIMITS = Limits(skip_to_ask=("EACCES",), auto_resolve=(("node_modules", "run npm install", ""),))
ASKS = Report(exit_code=0, signal="needs_guidance", question=Clean("Which port?"), options=(Clean("80"), Clean("81")))
CRASHED = Report(exit_code=None, how="crashed", error=Clean("killed"))


def line(decision: Decision) -> int:
    """The line of the table that gave ``decision``."""
    match decision:
        case Finish():
            return 1
        case Direct(line=number) | AskQuestion(line=number):
            return number
        case BackOff():
            return 6
        case Block():
            return 7
        case Redispatch():
            return 8
    raise AssertionError(decision)


def test_a_passed_check_is_success_whatever_the_agent_says(facts: Make) -> None:
    """The check decides, not the agent's exit code, signal or question."""
    for report in (Report(exit_code=1), ASKS, CRASHED, Report(how="no_signal")):
        assert decide(facts(check="passed", report=report, diagnosis=None), LIMITS) == Finish(status="succeeded")


def test_no_check_and_a_good_end_is_unverified(facts: Make) -> None:
    """Without a check a task is never called succeeded."""
    for signal in (None, "complete"):
        decision = decide(facts(check="none", report=Report(exit_code=0, signal=signal), diagnosis=None), LIMITS)
        assert decision == Finish(status="unverified")


def test_no_check_and_a_bad_exit_code_is_a_failure(facts: Make) -> None:
    """An agent that says by its exit code that it failed is believed."""
    assert line(decide(facts(check="none", report=Report(exit_code=2)), LIMITS)) == 10


def test_an_attempt_that_its_own_person_stopped_is_cancelled(facts: Make) -> None:
    """Stopping an agent by hand starts no ladder."""
    assert decide(facts(check="none", report=Report(how="stopped")), LIMITS) == Finish(status="cancelled")


def test_a_check_that_could_not_run_is_a_question(facts: Make) -> None:
    """A missing test runner is not the agent's failure: a person is asked, with the problem and a way to go on."""
    decision = decide(facts(check="could_not_run", check_problem="pytest: not found", diagnosis=None), LIMITS)
    assert isinstance(decision, AskQuestion)
    assert "pytest: not found" in decision.question
    assert decision.options == ("run the check again",)


def test_a_pattern_goes_straight_to_a_person(facts: Make, failure: Make) -> None:
    """skip_to_ask asks on the first failure that matches and uses up no rung."""
    decision = decide(facts(diagnosis=failure("EACCES: permission denied")), LIMITS)
    assert isinstance(decision, Direct)
    assert decision.level == "human"
    assert decision.line == 3
    assert decision.climb.directives == 0


def test_a_known_answer_is_given_once_for_each_failure(facts: Make, failure: Make) -> None:
    """auto_resolve's action is the hint of one retry; the same failure again climbs the ladder."""
    first = decide(facts(diagnosis=failure("node_modules missing")), LIMITS)
    assert isinstance(first, Direct)
    assert first.level == "retry"
    assert first.line == 4
    assert first.hint == "run npm install"
    assert first.climb.retries == 0
    assert first.climb.told_retries == 1
    assert first.climb.directives == 1
    again = decide(facts(diagnosis=failure("node_modules missing"), climb=first.climb), LIMITS)
    assert line(again) == 10
    other = decide(facts(diagnosis=failure("node_modules missing: left-pad"), climb=first.climb), LIMITS)
    assert line(other) == 4


def test_a_known_answer_that_did_not_help_is_not_given_again_after_a_person_was_asked(
    facts: Make, failure: Make
) -> None:
    """A person who was asked because the hint failed does not see it tried once more."""
    first = decide(facts(diagnosis=failure("node_modules missing")), LIMITS)
    assert isinstance(first, Direct)
    after = decide(facts(diagnosis=failure("node_modules missing"), climb=first.climb.answered("show_me", "x")), LIMITS)
    assert line(after) == 10


def test_a_full_context_goes_on_in_a_new_session_three_times(facts: Make, failure: Make) -> None:
    """The work is kept and the approach with it; the fourth time without progress a person is asked."""
    full = failure("context", failure_type=FailureType.CONTEXT_EXHAUSTED)
    climb = Climb(approach="use a table")
    for _ in range(3):
        decision = decide(facts(diagnosis=full, climb=climb), LIMITS)
        assert isinstance(decision, Direct)
        assert decision.level == "continue"
        assert decision.line == 5
        assert decision.fresh is True
        assert decision.restore == ""
        assert decision.checkpoint == "progress"
        assert decision.approach == "use a table"
        climb = decision.climb
    assert climb.failed_approaches == ()
    asked = decide(facts(diagnosis=full, climb=climb), LIMITS)
    assert isinstance(asked, Direct)
    assert (asked.level, asked.line) == ("human", 5)


def test_a_full_context_with_progress_counts_its_sessions_from_zero(facts: Make, failure: Make) -> None:
    """Closer than ever is progress; the same number of errors is none."""
    full = failure("context", failure_type=FailureType.CONTEXT_EXHAUSTED)
    counts = [9, 9, 9, 4, 4, 4, 4]
    climb, levels, before = Climb(), [], Extent()
    for count in counts:
        now = Extent(stage="run", errors=count)
        decision = decide(facts(diagnosis=full, climb=climb, before=before, now=now), LIMITS)
        assert isinstance(decision, Direct)
        levels.append(decision.level)
        climb, before = decision.climb, now
    assert levels == ["continue"] * 6 + ["human"]


def test_a_passing_trouble_is_waited_for_one_two_and_four_seconds(facts: Make, failure: Make) -> None:
    """Three waits that double, then the failure is answered like any other."""
    busy = failure("503", category=ErrorCategory.TRANSIENT)
    climb, delays = Climb(approach="use a table"), []
    for _ in range(3):
        decision = decide(facts(diagnosis=busy, climb=climb), LIMITS)
        assert isinstance(decision, BackOff)
        delays.append(decision.delay)
        climb = decision.climb
    assert delays == [1, 2, 4]
    assert climb.failed_approaches == ()
    assert climb.seen == ()
    assert climb.directives == 0
    assert line(decide(facts(diagnosis=busy, climb=climb), LIMITS)) == 10
    assert line(decide(facts(diagnosis=busy, climb=climb, report=CRASHED), LIMITS)) == 8


def test_what_the_other_side_asks_to_wait_wins(facts: Make, failure: Make) -> None:
    """A Retry-After is kept to, even for hours."""
    busy = failure("429", category=ErrorCategory.TRANSIENT, retry_after="7200")
    decision = decide(facts(diagnosis=busy), LIMITS)
    assert isinstance(decision, BackOff)
    assert decision.delay == 7200


@pytest.mark.parametrize(
    ("signal", "options", "error_type"),
    [
        ("needs_guidance", ("80", "81"), "ambiguous_requirement"),
        ("needs_guidance", (), "missing_info"),
        ("blocked", (), "missing_info"),
    ],
)
def test_an_agent_that_asks_is_heard_at_once(
    facts: Make, signal: Any, options: tuple[str, ...], error_type: str
) -> None:
    """A stated question goes to a person on the first attempt, with the agent's options."""
    report = Report(exit_code=0, signal=signal, question=Clean("Which?"), options=tuple(map(Clean, options)))
    decision = decide(facts(report=report), LIMITS)
    assert isinstance(decision, AskQuestion)
    assert decision.line == 7
    assert decision.question == "Which?"
    assert decision.options == options
    assert decision.error_type == error_type


def test_a_broken_ground_stops_the_work_and_not_the_agent(facts: Make) -> None:
    """A failure that the untouched base has, too, is nobody's: every task waits until it is fixed."""
    assert decide(facts(infrastructure=True), LIMITS) == Block(issue="boom")


@pytest.mark.parametrize(
    ("how", "error_type"),
    [
        ("crashed", "agent_crash"),
        ("not_started", "agent_crash"),
        ("timed_out", "agent_timeout"),
        ("no_signal", "signal_missing"),
        ("bad_signal", "parse_failure"),
    ],
)
def test_a_failing_agent_is_dispatched_twice_more_and_then_a_person_is_asked(
    facts: Make, how: Any, error_type: str
) -> None:
    """An agent's own failures never use up a rung; the third one is a question."""
    climb = Climb(retries=1)
    for number in (1, 2):
        decision = decide(facts(report=Report(how=how), climb=climb), LIMITS)
        assert isinstance(decision, Redispatch)
        assert decision.failures == number
        assert decision.error_type == error_type
        climb = decision.climb
    last = decide(facts(report=Report(how=how), climb=climb), LIMITS)
    assert isinstance(last, Direct)
    assert last.level == "human"
    assert last.line == 8
    assert last.checkpoint == "ask"
    assert last.climb.retries == 1


def test_failing_checks_never_count_as_failures_of_the_agent(facts: Make, failure: Make) -> None:
    """However often the tests fail, the agent's limit is not reached by it."""
    climb = Climb()
    for number in range(8):
        decision = decide(facts(diagnosis=failure(f"boom {number}"), climb=climb), Limits(task_failure_limit=1))
        assert isinstance(decision, Direct)
        climb = decision.climb
    assert climb.agent_failures == 0


def test_circles_end_at_a_person(facts: Make) -> None:
    """The same idea again and again is not answered with a further rung."""
    decision = decide(facts(circular=True), LIMITS)
    assert isinstance(decision, Direct)
    assert decision.level == "human"
    assert decision.line == 9
    assert decision.checkpoint == "ask"


def test_everything_else_is_the_ladder(facts: Make) -> None:
    """A plain failing test is a retry with its hint."""
    decision = decide(facts(), LIMITS)
    assert isinstance(decision, Direct)
    assert decision.level == "retry"
    assert decision.line == 10
    assert decision.climb.retries == 1


CONTEXT = {"failure_type": FailureType.CONTEXT_EXHAUSTED}
PASSING = {"category": ErrorCategory.TRANSIENT}
# For each line what makes it apply, as (changed facts, headline of the failure, changes of the failure).
LINES: dict[int, tuple[dict[str, Any], str, dict[str, Any]]] = {
    1: ({"check": "passed"}, "", {}),
    2: ({"check": "could_not_run"}, "", {}),
    3: ({}, "EACCES", {}),
    4: ({}, "node_modules", {}),
    5: ({}, "", CONTEXT),
    6: ({}, "", PASSING),
    7: ({"infrastructure": True}, "", {}),
    8: ({"report": CRASHED}, "", {}),
    9: ({"circular": True}, "", {}),
    10: ({}, "", {}),
}


@pytest.mark.parametrize("number", range(1, 10))
def test_the_first_line_that_applies_wins(facts: Make, failure: Make, number: int) -> None:
    """The earlier of two rows that apply decides."""
    changes, headline, kind = LINES[number]
    for later in range(number + 1, 11):
        if (number, later) == (2, 7):
            continue  # a check that runs nowhere is infrastructure itself
        other, words, other_kind = LINES[later]
        diagnosis: Diagnosis = failure(f"{headline} {words} boom", **{**other_kind, **kind})
        given: Facts = facts(**{**other, **changes, "diagnosis": diagnosis})
        assert line(decide(given, LIMITS)) == number, f"line {number} and line {later}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"check": "could_not_run", "diagnosis": None}, "env_unavailable"),
        ({"report": ASKS}, "missing_info"),
        ({"circular": True}, "task_limit_exceeded"),
        ({"report": CRASHED, "climb": Climb(agent_failures=2)}, "task_limit_exceeded"),
        ({"climb": Climb(directives=20)}, "task_limit_exceeded"),
    ],
)
def test_where_nobody_may_be_asked_the_run_halts(facts: Make, changes: dict[str, Any], reason: str) -> None:
    """With `ask: never` every question is an end of the run with its reason."""
    decision = decide(facts(**changes, may_ask=False), LIMITS)
    assert isinstance(decision, Halt)
    assert decision.reason == reason
    assert decision.details


def test_a_pattern_halts_where_nobody_may_be_asked(facts: Make, failure: Make) -> None:
    """skip_to_ask cannot ask then, and says what it would have asked about."""
    decision = decide(facts(diagnosis=failure("EACCES: no"), may_ask=False), LIMITS)
    assert isinstance(decision, Halt)
    assert "EACCES: no" in decision.details


def test_a_pattern_that_is_no_pattern_is_compared_as_text(facts: Make, failure: Make) -> None:
    """A half-open bracket in the settings matches itself and never ends the run."""
    limits = replace(LIMITS, skip_to_ask=("[oops",))
    assert line(decide(facts(diagnosis=failure("saw [oops here")), limits)) == 3
    assert line(decide(facts(), limits)) == 10


RAN = Extent(stage="run", errors=2, passed=3)
LOADED = Extent(stage="load", errors=3)


@pytest.mark.parametrize(
    ("before", "now", "goes_back"),
    [
        (RAN, Extent(stage="load", errors=1), True),
        (RAN, Extent(stage="parse"), True),
        (Extent(stage="run"), Extent(stage="load", errors=9), True),
        (LOADED, Extent(stage="load", errors=4), True),
        (LOADED, Extent(stage="load", errors=3), False),
        (LOADED, Extent(stage="load", errors=2), False),
        (LOADED, Extent(stage="load"), False),
        (Extent(stage="load"), LOADED, False),
        (Extent(stage="parse", errors=1), LOADED, False),
        (LOADED, Extent(stage="parse", errors=1), False),
        (Extent(errors=3), LOADED, False),
        (Extent(), LOADED, False),
        (RAN, Extent(errors=9), False),
        (RAN, Extent(), False),
    ],
)
def test_a_retry_goes_back_only_from_what_is_known_to_be_worse(
    facts: Make, failure: Make, before: Extent, now: Extent, goes_back: bool
) -> None:
    """A broken build is set back, and saved first, where this attempt broke it; all else keeps the files."""
    broken = failure("x", failure_type=FailureType.BROKEN_BUILD)
    decision = decide(facts(diagnosis=broken, before=before, now=now, back="loads"), LIMITS)
    assert isinstance(decision, Direct)
    expected = ("retry", "good", "rollback") if goes_back else ("retry", "", "")
    assert (decision.level, decision.restore, decision.checkpoint) == expected
    without = decide(facts(diagnosis=broken, before=before, now=now, back=""), LIMITS)
    assert isinstance(without, Direct)
    assert (without.level, without.restore, without.checkpoint) == ("retry", "", "")


@pytest.mark.parametrize(("before", "goes_back"), [(Extent(), True), (RAN, True), (LOADED, False)])
def test_what_passed_is_better_than_what_an_attempt_broke(
    facts: Make, failure: Make, before: Extent, goes_back: bool
) -> None:
    """A build that the attempt broke goes back to a checkpoint that passed the check."""
    broken = failure("x", failure_type=FailureType.BROKEN_BUILD)
    now = Extent(stage="parse", errors=1)
    decision = decide(facts(diagnosis=broken, before=before, now=now, back="passes"), LIMITS)
    assert isinstance(decision, Direct)
    assert bool(decision.restore) is goes_back


def test_what_runs_is_saved_before_its_retry(facts: Make) -> None:
    """Tests that ran show that everything loads: a later attempt that breaks it can go back to there."""
    decision = decide(facts(before=LOADED, now=RAN), LIMITS)
    assert isinstance(decision, Direct)
    assert (decision.level, decision.restore, decision.checkpoint) == ("retry", "", "loads")


def climbed(facts: Make, failure: Make, extents: list[Extent], name: str = "x {}", **kind: Any) -> list[str]:
    """The levels that answer failures of these extents, one after another."""
    climb, levels, before = Climb(), [], Extent()
    for number, now in enumerate(extents):
        diagnosis = failure(name.format(number), **kind)
        decision = decide(facts(diagnosis=diagnosis, climb=climb, before=before, now=now), LIMITS)
        assert isinstance(decision, Direct)
        levels.append(decision.level)
        climb, before = decision.climb, now
    return levels


@pytest.mark.parametrize("kind", list(FailureType))
@pytest.mark.parametrize("name", ["x", "x {}"])
def test_whoever_comes_closer_goes_on(facts: Make, failure: Make, kind: FailureType, name: str) -> None:
    """Fewer errors each time are one retry after another, whatever the failure and whether it is the same one."""
    if kind is FailureType.CONTEXT_EXHAUSTED:
        pytest.skip("a full context is no retry")
    counts = [Extent(stage="load", errors=count) for count in range(12, 0, -1)]
    assert climbed(facts, failure, counts, name, failure_type=kind) == ["retry"] * 12


def test_back_and_forth_is_no_progress(facts: Make, failure: Make) -> None:
    """Errors that come and go use up the rungs: closer than ever counts, not closer than last time."""
    back_and_forth = [Extent(stage="load", errors=count) for count in (3, 2, 3, 2, 3, 2)]
    assert "pivot" in climbed(facts, failure, back_and_forth)
    parsed = [Extent(stage="parse", errors=1), Extent(stage="load", errors=4)] * 3
    assert "pivot" in climbed(facts, failure, parsed)


def test_counts_that_nobody_knows_are_no_progress(facts: Make, failure: Make) -> None:
    """Nothing changes in the ladder where nothing is counted."""
    assert climbed(facts, failure, [Extent()] * 4) == ["retry", "retry", "retry", "pivot"]


def test_an_approach_that_comes_closer_is_no_circle(facts: Make) -> None:
    """The same idea, told again and again, that mends something each time is not taken for going round in circles."""
    decision = decide(facts(circular=True, before=LOADED, now=Extent(stage="load", errors=2)), LIMITS)
    assert line(decision) == 10


def test_a_module_that_an_attempt_took_away_is_brought_back(facts: Make, failure: Make) -> None:
    """A missing import asks for another approach, unless the attempt itself broke it: then a retry goes back."""
    missing = failure("x", failure_type=FailureType.BROKEN_BUILD, cause=Cause.DEPENDENCY_ISSUE)
    now = Extent(stage="load", errors=1)
    for before, level, restore in ((RAN, "retry", "good"), (Extent(), "pivot", "baseline")):
        decision = decide(facts(diagnosis=missing, before=before, now=now, back="loads"), LIMITS)
        assert isinstance(decision, Direct)
        assert (decision.level, decision.restore) == (level, restore)


def test_another_approach_is_measured_from_its_own_beginning(facts: Make, failure: Make) -> None:
    """The leftovers of an abandoned approach are no measure for the next one."""
    spent = Climb(rung="retry", retries=3, best=Extent(stage="load", errors=1), signature="x", seen=("x",))
    decision = decide(facts(diagnosis=failure("y"), climb=spent, now=Extent(stage="load", errors=4)), LIMITS)
    assert isinstance(decision, Direct)
    assert (decision.level, decision.climb.best) == ("pivot", Extent())


def test_a_budget_that_is_used_up_is_a_question_or_the_end(facts: Make) -> None:
    """A used-up budget asks a person where one may be asked, and ends the task where none may."""
    asked = decide(facts(over="120,000 tokens are used"), LIMITS)
    assert isinstance(asked, Direct)
    assert (asked.level, asked.line) == ("human", 8)
    halted = decide(facts(over="120,000 tokens are used", may_ask=False), LIMITS)
    assert halted == Halt(reason="agent_budget", details="120,000 tokens are used")


def test_a_call_that_was_not_allowed_twice_is_a_question(facts: Make) -> None:
    """One refused call in an attempt that worked is no question; the second one, or a second attempt's, is."""
    once = Denial(what=Clean("rm -r build"), rules=("Bash(rm:*)",), grants=True)
    other = Denial(what=Clean("curl x"), rules=("Bash(curl:*)",), grants=True)
    for denied in ((once,), (once, other)):
        assert not isinstance(decide(facts(denied=denied), LIMITS), AskQuestion)
    for given in (
        {"denied": (other, once, once)},
        {"denied": (once,), "climb": Climb(denied=("Bash(rm:*)",))},
        {"denied": (once,), "untouched": True},
    ):
        asked = decide(facts(**given), LIMITS)
        assert isinstance(asked, AskQuestion)
        assert asked.rules == ("Bash(rm:*)",)
        halted = decide(facts(**given, may_ask=False), LIMITS)
        assert isinstance(halted, Halt)
        assert "rm -r build" in halted.details


def test_an_outage_is_waited_for_as_long_as_its_limit(facts: Make, failure: Make) -> None:
    """A wait that fits into what is left of the limit is waited; a longer one that the provider names is a question."""
    outage = failure("Overloaded", category=ErrorCategory.TRANSIENT, agent_outage="yes")
    waited = Climb(transient=LIMITS.transient_retries, outage=LIMITS.outage_limit - 60)
    decision = decide(facts(diagnosis=outage, climb=waited, resets_in=60), LIMITS)
    assert isinstance(decision, BackOff)
    assert decision.delay == 60
    for over in (
        {"climb": waited, "resets_in": 61},
        {"climb": replace(waited, outage=LIMITS.outage_limit)},
    ):
        assert isinstance(decide(facts(diagnosis=outage, **over), LIMITS), AskQuestion)
        assert isinstance(decide(facts(diagnosis=outage, **over, may_ask=False), LIMITS), Halt)


def test_a_wait_is_for_a_quota_above_the_longest_other_one(facts: Make, failure: Make) -> None:
    """A wait of the longest kind is an ordinary one; a second more is a quota's, which ends a run without a person."""
    for delay, quota in ((LIMITS.long_wait, False), (LIMITS.long_wait + 1, True)):
        slow = failure("slow down", category=ErrorCategory.TRANSIENT, retry_after=str(delay))
        decision = decide(facts(diagnosis=slow), LIMITS)
        assert isinstance(decision, BackOff)
        assert (decision.delay, decision.quota) == (delay, quota)
        assert isinstance(decide(facts(diagnosis=slow, may_ask=False), LIMITS), Halt if quota else BackOff)


@pytest.mark.parametrize(("waited", "words"), [(89, "89 s"), (90, "2 minutes"), (600, "10 minutes")])
def test_a_question_says_how_long_an_outage_has_lasted(facts: Make, failure: Make, waited: int, words: str) -> None:
    """Seconds are said below a minute and a half, then minutes."""
    outage = failure("Overloaded", category=ErrorCategory.TRANSIENT, agent_outage="yes")
    climb = Climb(transient=LIMITS.transient_retries, outage=waited)
    decision = decide(facts(diagnosis=outage, climb=climb), replace(LIMITS, outage_limit=waited))
    assert isinstance(decision, AskQuestion)
    assert f"has not passed in {words}." in decision.question


def test_a_contradicted_check_is_asked_about_by_its_doubt(facts: Make) -> None:
    """A check that printed failures may hide its exit code; another one may be the wrong command."""
    for problem, doubt in (("it printed 2 failures and passed", "hide its exit code"), ("no tests ran", "right one")):
        decision = decide(facts(check="contradicted", check_problem=problem, diagnosis=None), LIMITS)
        assert isinstance(decision, AskQuestion)
        assert doubt in decision.question


def test_several_approaches_at_once_need_places_apart(facts: Make) -> None:
    """With worktrees of their own two approaches are worked; without them they go one at a time, which is said."""
    climb = Climb(retries=LIMITS.max_retries, directives=LIMITS.max_retries)
    both = decide(facts(climb=climb, apart=True), replace(LIMITS, parallel=2))
    assert isinstance(both, Direct)
    assert both.level == "pivot"
    assert len(both.approaches) == 2
    one = decide(facts(climb=climb, apart=False), replace(LIMITS, parallel=2))
    assert isinstance(one, Direct)
    assert one.approaches == ()
    assert "one at a time" in one.reason


def test_an_agent_that_does_nothing_is_asked_about_at_the_limit(facts: Make) -> None:
    """One attempt less than the limit is tried again, and the question says how many there were."""
    fruitless = facts(fruitless=True, climb=Climb(fruitless=LIMITS.task_failure_limit - 2))
    assert not isinstance(decide(fruitless, LIMITS), AskQuestion)
    asked = decide(replace(fruitless, climb=Climb(fruitless=LIMITS.task_failure_limit - 1)), LIMITS)
    assert isinstance(asked, AskQuestion)
    assert f"{LIMITS.task_failure_limit} times in a row" in asked.question
