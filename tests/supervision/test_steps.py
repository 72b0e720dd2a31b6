"""Every state of a task has one next step, or waits for something that has a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from unstuck.contract import Answer, Gate, Guidance, Task
from unstuck.eventlog.state import AttemptRow, CheckRow, DirectiveRow, GateRow, RunRow, State, TaskRow, TaskState
from unstuck.supervision.context.next_step import Step, can_progress, fallen, next_step, pending_answer
from unstuck.text import Clean

TREE = "/tree"


def row(name: str = "t", *, needs: tuple[str, ...] = (), isolation: str = "shared", **more: object) -> TaskRow:
    task = Task(id=name, prompt=Clean("Work."), needs=needs, isolation=isolation)  # type: ignore[arg-type]
    return TaskRow(task=task, **more)  # type: ignore[arg-type]


def state(*rows: TaskRow, run: str = "running", **more: object) -> State:
    return State(run=RunRow(state=run, **more), tasks={one.id: one for one in rows})  # type: ignore[arg-type]


def at_work(name: str, how: str = "running", tree: str = TREE) -> tuple[TaskRow, AttemptRow]:
    """A task with an attempt in ``tree``."""
    told = Guidance(attempt=f"{name}.1", number=1, level="first", text=Clean("Work."), workdir=Path(tree))
    attempt = AttemptRow(id=told.attempt, task=name, guidance=told, started=0.0, state="live")
    if how != "running":
        attempt = replace(attempt, state="ended")
    return row(name, state=how, attempt=told.attempt), attempt


def step(found: State, one: TaskRow, **more: object) -> Step:
    options = {"max_parallel": 2, "tree": TREE, **more}
    return next_step(found, one, **options)  # type: ignore[arg-type]


PASSED, FAILED = CheckRow(result="passed"), CheckRow(result="failed")


def preparing(**directive: object) -> TaskRow:
    return row(state="preparing", directive=DirectiveRow(**directive))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (row(state="ready"), Step("start")),
        (row(state="running", attempt="t.1"), Step("wait_attempt", "t.1")),
        (row(state="judging"), Step("check")),
        (row(state="judging", check=PASSED), Step("finish")),
        (row(state="judging", check=PASSED, isolation="worktree"), Step("integrate")),
        (row(state="judging", check=PASSED, isolation="worktree", integrated="c1"), Step("finish")),
        (row(state="undecided", check=FAILED), Step("decide")),
        (row(state="backoff"), Step("wait_backoff")),
        (row(state="preparing"), Step("decide")),
        (preparing(level="retry"), Step("prepare")),
        (preparing(level="first"), Step("prepare")),
        (preparing(level="pivot", checkpoint="pivot", restore="baseline"), Step("checkpoint", "pivot")),
        (preparing(level="pivot", checkpoint="pivot", restore="baseline", saved="c"), Step("restore", "baseline")),
        (preparing(level="pivot", checkpoint="pivot", restore="baseline", saved="c", restored=""), Step("prepare")),
        (preparing(level="research"), Step("research")),
        (preparing(level="research", insights=()), Step("prepare")),
        (preparing(level="human", checkpoint="ask"), Step("checkpoint", "ask")),
        (preparing(level="human", checkpoint="ask", saved="none"), Step("ask")),
        (preparing(level="human", answers=("g1",)), Step("prepare")),
        (row(state="waiting", gate="g1"), Step("wait_gate", "g1")),
        (row(state="interrupted"), Step("recover")),
        (row(state="interrupted", gate="g1"), Step("wait_gate", "g1")),
        (row(state="ended", status="skipped"), Step("done")),
    ],
)
def test_each_state_has_its_step(one: TaskRow, expected: Step) -> None:
    """The table, line by line."""
    assert step(state(one), one) == expected


def test_a_parked_task_waits_for_the_ground() -> None:
    """It says what is broken."""
    one = row(state="parked")
    assert step(state(one, run="blocked", blocked="no compiler"), one) == Step("wait_ground", "no compiler")


@pytest.mark.parametrize("how", get_args(TaskState))
@pytest.mark.parametrize("run", ["draining", "ended"])
def test_a_run_that_stops_lets_nothing_begin(how: TaskState, run: str) -> None:
    """Only a live attempt is still waited for, until it is dead."""
    one = row(state=how, attempt="t.1", status="succeeded")
    expected = {"ended": "done", "running": "wait_attempt"}.get(how, "halted")
    assert step(state(one, run=run, stopping="SIGINT"), one).kind == expected


# --- needs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("upstream", "accept", "expected"),
    [
        ({"state": "running"}, False, Step("wait_needs", "up")),
        ({"state": "ended", "status": "succeeded"}, False, Step("unblock")),
        ({"state": "ended", "status": "unverified"}, False, Step("wait_needs", "up")),
        ({"state": "ended", "status": "unverified"}, True, Step("unblock")),
        ({"state": "ended", "status": "skipped"}, False, Step("wait_needs", "up")),
        ({"state": "ended", "status": "skipped", "after_skip": "run"}, False, Step("unblock")),
        ({"state": "ended", "status": "skipped", "after_skip": "skip"}, False, Step("skip", "up")),
        ({"state": "ended", "status": "abandoned", "after_skip": "skip"}, False, Step("skip", "up")),
        ({"state": "ended", "status": "failed", "after_skip": "run"}, False, Step("unblock")),
    ],
)
def test_a_task_waits_for_what_it_needs(upstream: dict[str, object], accept: bool, expected: Step) -> None:
    """Done lets it go on; a skip does what the plan says."""
    one = row(needs=("up",), state="blocked")
    assert step(state(row("up", **upstream), one), one, accept_unverified=accept) == expected


def test_a_need_that_does_not_exist_is_named() -> None:
    """It waits, visibly, instead of running without."""
    one = row(needs=("ghost",), state="blocked")
    assert step(state(one), one) == Step("wait_needs", "ghost")


def test_a_fallen_need_is_found_through_others() -> None:
    """The end of a chain knows which task holds it for good."""
    first = row("first", state="ended", status="abandoned")
    second = row("second", needs=("first",), state="blocked")
    third = row("third", needs=("second",), state="blocked")
    found = state(first, second, third)
    assert fallen(found, third)
    assert not can_progress(found, third)
    assert fallen(state(row("first", state="running"), second, third), third) == ""


# --- who may start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["running", "judging", "undecided", "preparing"])
def test_a_tree_in_use_is_waited_for(how: str) -> None:
    """From the start of an attempt until its result is dealt with, nobody else works in its tree."""
    other, attempt = at_work("other", how)
    one = row(state="ready")
    found = replace(state(other, one), attempts={attempt.id: attempt})
    assert step(found, one) == Step("wait_tree", "other")
    assert step(found, one, tree="/another").kind == "start"


@pytest.mark.parametrize("how", ["ready", "backoff", "waiting", "parked", "interrupted", "ended"])
def test_a_tree_at_rest_is_free(how: str) -> None:
    """A task that waits for time, a person or the baseline lets others work meanwhile."""
    other, attempt = at_work("other", how)
    one = row(state="ready")
    assert step(replace(state(other, one), attempts={attempt.id: attempt}), one).kind == "start"


def test_an_agent_that_is_being_stopped_still_has_its_tree() -> None:
    """Its task was skipped, but it is not dead yet."""
    other, attempt = at_work("other")
    other = replace(other, state="ended", status="skipped")
    one = row(state="ready")
    found = replace(state(other, one), attempts={attempt.id: replace(attempt, state="stopping")})
    assert step(found, one) == Step("wait_tree", "other")


def test_no_more_than_so_many_work_at_once() -> None:
    """With every slot taken a task waits, in whatever tree."""
    rows, attempts = zip(*(at_work(name, tree=f"/{name}") for name in ("a", "b")), strict=True)
    one = row(state="ready")
    found = replace(state(*rows, one), attempts={attempt.id: attempt for attempt in attempts})
    assert step(found, one).kind == "wait_slot"
    assert step(found, one, max_parallel=3).kind == "start"


def test_nothing_starts_on_broken_ground() -> None:
    """Infrastructure is mended first."""
    one = row(state="ready")
    assert step(state(one, run="blocked", blocked="no compiler"), one) == Step("wait_ground", "no compiler")


# --- answers ---------------------------------------------------------------------------------------------------------


def gate(status: str, choice: str = "show_me", text: str = "so", attempt: str = "t.1") -> GateRow:
    answer = Answer(choice=choice, text=Clean(text))  # type: ignore[arg-type]
    return GateRow(
        gate=Gate(id="g1", type="loop_detected", task="t", key="loop", attempt=attempt, status=status, answer=answer),  # type: ignore[arg-type]
        opened="",
    )


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (gate("answered"), "g1"),
        (gate("sent"), "g1"),
        (gate("answered", choice="retry"), "g1"),
        (gate("delivered"), ""),
        (gate("withdrawn"), ""),
        (gate("answered", text=""), ""),
        (gate("answered", choice="continue"), ""),
        (gate("answered", attempt="t.0"), ""),
    ],
)
def test_an_answer_that_was_not_heard_is_pending(asked: GateRow, expected: str) -> None:
    """Words for the last attempt that did not reach it go into the next one, also after a kill."""
    one = row(state="interrupted", attempt="t.1")
    found = replace(state(one), gates={"g1": asked})
    assert pending_answer(found, one) == expected
    assert step(found, one) == Step("recover", expected)


# --- who is quiet ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "goes_on"),
    [
        (row(state="ready"), True),
        (row(state="judging"), True),
        (row(state="backoff"), True),
        (row(state="interrupted"), True),
        (row(state="waiting", gate="g1"), False),
        (row(state="parked"), False),
        (row(state="ended", status="succeeded"), False),
        (row(state="blocked", needs=("ghost",)), False),
        (row(state="blocked"), True),
    ],
)
def test_who_can_go_on_without_a_person(one: TaskRow, goes_on: bool) -> None:
    """A headless run goes on as long as any task can by itself, and no longer."""
    assert can_progress(state(one), one) is goes_on


def test_a_held_attempt_waits_for_a_person() -> None:
    """The agent stands still until its question is answered; without a question it works."""
    one, attempt = at_work("t")
    held = replace(attempt, state="held")
    assert can_progress(replace(state(one), attempts={"t.1": attempt}), one)
    assert not can_progress(replace(state(asked := replace(one, gate="g1")), attempts={"t.1": held}), asked)
    assert can_progress(replace(state(one), attempts={"t.1": held}), one)
