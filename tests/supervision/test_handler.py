"""The failure handler alone: one call per failure, one line per answer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import unstuck
from unstuck import Approach, EscalationLevel, Execution, Failure, FailureHandler
from unstuck.escalation.limits import Limits


def execution(**fields: object) -> Execution:
    return Execution(current_phase="GREEN", **fields)  # type: ignore[arg-type]


def climb(handler: FailureHandler, failure: Failure, **fields: object) -> list[str]:
    """Return the reactions to the same failure until a person is asked."""
    actions: list[str] = []
    while not actions or actions[-1] != "ASK":
        actions.append(handler.handle(failure, execution(**fields)).action)
    return actions


def test_the_defaults() -> None:
    """Three retries, three pivots, two research: as the four levels say."""
    handler = FailureHandler()
    assert handler.retry_count == 0
    assert handler.pivot_count == 0
    assert handler.research_count == 0
    assert handler.max_retries == 3
    assert handler.max_pivots == 3
    assert handler.max_research == 2
    assert [(int(level), level.strategy, level.max_attempts) for level in EscalationLevel] == [
        (1, "Retry", 3),
        (2, "Pivot", 3),
        (3, "Research", 2),
        (4, "Checkpoint/Ask", 1),
    ]
    assert [level.token_cost for level in EscalationLevel] == ["Low", "Medium", "High", "Low"]
    assert [level.user_interaction for level in EscalationLevel] == ["None", "None", "None", "Required"]


def test_the_whole_climb() -> None:
    """The same failure goes up: three retries, three pivots, two research, then the question."""
    failure = Failure("AssertionError: expected 1 but received 2", phase="test")
    assert climb(FailureHandler(), failure) == ["RETRY"] * 3 + ["PIVOT"] * 3 + ["RESEARCH"] * 2 + ["ASK"]


@pytest.mark.parametrize(
    ("failure", "first"),
    [
        (Failure("SyntaxError: bad"), "RETRY"),
        (Failure("boom"), "RETRY"),
        (Failure("expected a", phase="test"), "RETRY"),
        (Failure("Cannot find module 'x'"), "PIVOT"),
        (Failure("boom", same_location_count=2), "PIVOT"),
        (Failure("boom", type="pattern_mismatch"), "PIVOT"),
        (Failure("boom", involved_files=("a", "b", "c", "d")), "RESEARCH"),
        (Failure("boom", involves_external_api=True), "RESEARCH"),
        (Failure("boom", type="complex_logic"), "RESEARCH"),
    ],
)
def test_the_cause_decides_where_it_enters(failure: Failure, first: str) -> None:
    """Each cause enters the ladder on its own rung."""
    assert FailureHandler().handle(failure, execution()).action == first


def test_every_pivot_is_another_way() -> None:
    """No approach is tried twice, and not the one that is being followed."""
    handler, tried = FailureHandler(), ["use_alternative_library"]
    for _ in range(3):
        current = Approach(tried[-1])
        done = handler.handle(Failure("Cannot find module 'x'"), execution(current_approach=current))
        assert done.action == "PIVOT"
        assert isinstance(done.new_approach, Approach)
        tried.append(done.new_approach.name)
    assert len(set(tried)) == 4


def test_another_way_also_for_one_who_says_the_same() -> None:
    """A caller that always names the plan's approach follows ours all the same: none comes again, all are told."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failure, same = Failure("AssertionError: expected 1 but received 2", phase="test"), Approach("the plan's")
    done = [handler.handle(failure, execution(current_approach=same)) for _ in range(9)]
    tried = [result.new_approach.name for result in done if result.new_approach]
    assert len(tried) == 5
    assert len({*tried, same.name}) == 1 + len(tried)
    assert done[-1].action == "ASK"
    assert {same.name, *tried} >= set(done[-1].stuck_report.approaches) >= set(tried[-3:])


def test_direct_mode_is_retry_then_ask() -> None:
    """Direct mode is simplified: retry only, then ask."""
    failure = Failure("AssertionError: expected 1 but received 2", phase="test")
    assert climb(FailureHandler(), failure, mode="direct") == ["RETRY"] * 3 + ["ASK"]
    assert set(climb(FailureHandler(), Failure("Cannot find module 'x'"), mode="direct")) <= {"RETRY", "ASK"}


def test_limits_can_be_set() -> None:
    """Zero of a rung means that it is never used."""
    handler = FailureHandler(limits=Limits(max_retries=1, max_pivots=0, max_research=1))
    failure = Failure("AssertionError: expected 1 but received 2", phase="test")
    assert climb(handler, failure) == ["RETRY", "RESEARCH", "ASK"]


def test_what_a_retry_brings() -> None:
    """The fix says what to do, and the phase is the one that failed."""
    done = FailureHandler().handle(Failure("SyntaxError: bad"), execution())
    assert done.action == "RETRY"
    assert done.phase == "GREEN"
    assert done.fix.type == "syntax_error"
    assert done.fix.fix_hint


def test_what_asking_brings() -> None:
    """The question holds what was tried and the four options; the counters of the report are true; then it is new."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    failure = Failure("AssertionError: expected 1 but received 2", phase="test", summary="The sum is wrong")
    for _ in range(8):
        handler.handle(failure, execution())
    done = handler.handle(failure, execution())
    assert done.action == "ASK"
    assert done.stuck_report.attempts == {"retries": 3, "pivots": 3, "research": 2}
    for line in (
        "1. Show me how to do this",
        "2. Skip this part for now",
        "3. Abandon the task",
        "4. Try again with a different approach: [describe]",
        "What should I do?",
    ):
        assert line in done.question
    assert "• 3 retries\n• 3 alternative approaches\n• 2 research" in said[-1]
    assert "Problem: The sum is wrong" in said[-1]
    assert handler.retry_count == 0
    assert handler.handle(failure, execution()).action == "RETRY"


def test_success_begins_anew() -> None:
    """After the task got past its failure the next one starts at the bottom."""
    handler = FailureHandler()
    failure = Failure("AssertionError: expected 1 but received 2", phase="test")
    for _ in range(5):
        handler.handle(failure, execution())
    handler.succeeded()
    assert handler.retry_count == 0
    assert handler.pivot_count == 0
    assert handler.research_count == 0
    assert handler.handle(failure, execution()).action == "RETRY"


def test_the_callers_memory_comes_first() -> None:
    """Similar tasks that succeeded (0.8 of their similarity), patterns (0.7 of their confidence), the failure (0.5)."""
    memory = SimpleNamespace(
        similar_tasks=[
            SimpleNamespace(outcome="success", approach="use the built-in", similarity=0.9),
            SimpleNamespace(outcome="failure", approach="copy it", similarity=1.0),
            SimpleNamespace(outcome="success", approach="what we do", similarity=1.0),
        ],
        applicable_patterns=[SimpleNamespace(name="adapter", approach="write an adapter", confidence=0.8)],
    )
    handler, ways = FailureHandler(), []
    current = Approach("what we do")
    for _ in range(3):
        intent = SimpleNamespace(memory=memory)
        done = handler.handle(Failure("Cannot find module 'x'"), execution(current_approach=current, intent=intent))
        ways.append(done.new_approach)
        current = done.new_approach
    assert [(way.name, way.source, round(way.confidence, 2)) for way in ways] == [
        ("use the built-in", "memory", 0.72),
        ("write an adapter", "pattern", 0.56),
        ("use_alternative_library", "failure_analysis", 0.5),
    ]


def test_research_says_what_to_look_into() -> None:
    """Related files, three at most, and the line names them."""
    said: list[str] = []
    files = ("tests/test_oauth.py", "lib/oauth.py", "lib/token.py", "lib/a.py", "lib/b.py")
    handler = FailureHandler(output=said.append)
    done = handler.handle(
        Failure("Token refresh failing", involved_files=files), execution(current_file="lib/oauth.py")
    )
    assert done.action == "RESEARCH"
    assert [(target.kind, target.name) for target in done.targets] == [
        ("file", "tests/test_oauth.py"),
        ("file", "lib/a.py"),
        ("file", "lib/b.py"),
    ]
    assert said == ["  → Research 1/2: Reading tests/test_oauth.py, lib/a.py, lib/b.py"]


ASSERTION = Failure("AssertionError: expected 1 but received 2", phase="test", summary="The sum is wrong")


def test_attributes_change_limits_and_texts() -> None:
    """``handler.max_retries = 1`` gives one retry, and its line says of how many."""
    said: list[str] = []
    handler = FailureHandler(output=said.append)
    handler.max_retries, handler.max_pivots, handler.max_research = 1, 2, 1
    assert climb(handler, ASSERTION) == ["RETRY", "PIVOT", "PIVOT", "RESEARCH", "ASK"]
    assert [line.partition(":")[0].strip() for line in said[:4]] == [
        "→ Retry 1/1",
        "→ Pivot 1/2",
        "→ Pivot 2/2",
        "→ Research 1/1",
    ]


def test_limits_are_public() -> None:
    """The limits are given with what ``unstuck`` publishes."""
    handler = FailureHandler(limits=unstuck.Limits(max_retries=0, max_pivots=0, max_research=0))
    assert climb(handler, ASSERTION) == ["ASK"]


def test_some_errors_go_straight_to_a_person() -> None:
    """``skip_to_ask`` holds patterns, as the configuration file does."""
    handler = FailureHandler(skip_to_ask=["EACCES", "ENOENT"])
    assert climb(handler, Failure("EACCES: permission denied, open 'x'")) == ["ASK"]
    assert handler.handle(ASSERTION, execution()).action == "RETRY"


def test_a_known_answer_is_given_once() -> None:
    """``auto_resolve`` answers the failure with its action before any level counts."""
    said: list[str] = []
    rule = {"pattern": "node_modules missing", "action": "run npm install"}
    handler = FailureHandler(auto_resolve=[rule], output=said.append)
    failure = Failure("Error: node_modules missing")
    done = handler.handle(failure, execution())
    assert (done.action, done.fix.description, handler.retry_count) == ("RETRY", "run npm install", 0)
    assert said == ["  → Known answer: run npm install"]
    handler.handle(failure, execution())
    assert said[1].startswith("  → Pivot 1/3: ")


def test_checkpoints_before_pivots_and_questions() -> None:
    """A checkpointer is asked before each new approach and before the question, which names what it saved."""
    said: list[str] = []
    reasons: list[str] = []

    def save(reason: str) -> SimpleNamespace:
        reasons.append(reason)
        return SimpleNamespace(id=f"chk-{len(reasons)}")

    handler = FailureHandler(checkpointer=save, output=said.append, task="payment")
    handler.max_retries, handler.max_pivots, handler.max_research = 1, 1, 1
    results = [handler.handle(ASSERTION, execution()) for _ in range(4)]
    assert [done.checkpoint and done.checkpoint.id for done in results] == [None, "chk-1", None, "chk-2"]
    assert len(reasons) == 2
    report = results[-1].stuck_report
    assert (report.task, report.summary, report.checkpoint) == ("payment", "The sum is wrong", "chk-2")
    assert results[-1].question.startswith("I am stuck on: The sum is wrong\n\nWhat I tried:\n• 1 retry\n")
    assert said[-1] == (
        "! I am stuck and need help.\n\nI tried:\n• 1 retry\n• 1 alternative approach\n• 1 research round\n\n"
        "Problem: The sum is wrong\n\nCheckpoint saved: chk-2\n"
    )


def test_without_a_checkpointer_it_says_so() -> None:
    """Nothing was saved, and the report does not say otherwise."""
    said: list[str] = []
    handler = FailureHandler(output=said.append, skip_to_ask=["sum"])
    done = handler.handle(Failure("wrong sum"), execution())
    assert done.checkpoint is None
    assert said[-1].endswith("No checkpoint was taken.\n")


def test_research_brings_insights_and_an_approach(tmp_path: Path) -> None:
    """The related files are read: what they hold comes back, with another approach, and reaches the stuck report."""
    (tmp_path / "oauth.py").write_text("from token import refresh\n", encoding="utf-8")
    (tmp_path / "test_oauth.py").write_text("def test_refresh_token():\n    assert False\n", encoding="utf-8")
    said: list[str] = []
    handler = FailureHandler(root=tmp_path, output=said.append)
    failure = Failure("refresh_token fails", involves_external_api=True, involved_files=("oauth.py", "test_oauth.py"))
    done = handler.handle(failure, execution(current_file="oauth.py"))
    assert done.action == "RESEARCH"
    assert [insight.source for insight in done.insights] == ["related test_oauth.py"]
    assert "def test_refresh_token" in done.insights[0].text
    assert done.new_approach.source == "research"
    assert said[-1] == "  → Found 1 insight: related test_oauth.py"
    handler.skip_to_ask = ["refresh_token"]
    asked = handler.handle(failure, execution())
    assert "def test_refresh_token" in asked.stuck_report.insights[0]


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_level_by_its_number(level: int) -> None:
    """``EscalationLevel(1)`` is the first level."""
    assert EscalationLevel(level).level == level
    assert int(EscalationLevel(level)) == level
