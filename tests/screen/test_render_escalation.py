"""The ladder of a task as a person sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from unstuck.contract import Task
from unstuck.diagnosis.enums import Cause
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.eventlog.state import State, TaskRow
from unstuck.text import admit
from unstuck_tui.render.tasks.escalation import ladder_lines


def shown(row: TaskRow, width: int = 100, **options: Any) -> str:
    """The ladder as text."""
    state = State()
    state.tasks[row.id] = row
    lines = ladder_lines(state, row, Limits(), width=width, **options)
    for line in lines:
        assert sum(cell_len(cell.text) for cell in line) <= width
    return "\n".join("".join(cell.text for cell in line).rstrip() for line in lines)


@pytest.fixture
def row() -> TaskRow:
    """A task in its first pivot, after three retries."""
    found = diagnose("AssertionError: expected 200 but got 401", exit_code=1)
    assert found is not None
    climb = Climb(
        rung="pivot", retries=3, pivots=1, directives=4, signature=found.identity, seen=(found.identity,), repeats=4,
        approach="use the provider's SDK", failed_approaches=("body as text",),
    )  # fmt: skip
    task = Task(id="webhook", prompt=admit("Make it work"))
    diagnosis = replace(found, cause=Cause.TEST_ASSERTION)
    return TaskRow(task=task, state="running", attempts=5, level="pivot", climb=climb, diagnosis=diagnosis)


def test_it_says_where_the_task_stands(row: TaskRow) -> None:
    """One rung is marked, with its approach, and each says how much of it is used up."""
    lines = shown(row).splitlines()
    assert lines[0] == "   first try    5 attempts so far"
    assert lines[1] == "   retry        ✗✗✗  3 of 3 used"
    assert lines[2] == " ▸ new approach ✗○○  1 of 3 used  use the provider's SDK"
    assert lines[3] == "   research     ○○  0 of 2 used"


def test_it_says_what_led_there_and_what_follows(row: TaskRow) -> None:
    """The page says what led there, what has failed, what comes next, and how far away the question is."""
    text = " ".join(shown(row).split())
    assert "because AssertionError: expected 200 but got 401, 4 times in a row" in text
    assert "failed body as text" in text
    assert "next new approach (" in text
    assert "research ×2 → asks you (if the same failure comes again each time)" in text
    assert "left 4 more attempts before you are asked" in text


def test_where_nobody_is_asked_it_ends(row: TaskRow) -> None:
    """The page says that the run is halted if nobody may be asked."""
    assert "before the run is halted" in shown(row, may_ask=False)


def test_before_anything_has_failed() -> None:
    """Of a task that works for the first time there is nothing to tell but that."""
    task = TaskRow(task=Task(id="web", prompt=admit("x")), state="running", attempts=1)
    text = shown(task)
    assert " ▸ first try    1 attempt so far" in text
    assert "nothing has failed yet" in text


def test_of_what_has_ended_nothing_is_foretold(row: TaskRow) -> None:
    """An ended task says how it ended."""
    ended = shown(replace(row, state="ended", status="abandoned", reason="not needed"))
    assert "ended      abandoned: not needed" in ended
    assert "next" not in ended


@pytest.mark.parametrize("width", [24, 40, 60, 250])
def test_it_fits(row: TaskRow, width: int) -> None:
    """No line is wider than its pane."""
    shown(row, width)


def test_another_agent_that_is_left_comes_before_the_question(row: TaskRow) -> None:
    """The end of the levels is the next agent of the failover that has not tried, and then the person again."""
    other = replace(row, failover=("codex", "gemini"))
    assert "→ codex goes on" in shown(other, width=300)
    assert "before codex goes on" in shown(other, width=300)
    assert "asks you (if" not in shown(other, width=300)
    alone = replace(row, failover=("codex",), task=replace(row.task, agent="codex"))
    assert "before you are asked" in shown(alone, width=300)
