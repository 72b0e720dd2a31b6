"""A person who watches several agents: whose question it is, who hears a key, and what each state looks like.

More is shown where the thing itself is: the same alarm two hundred times in ``test_alarms.py``, a person who
has taken an agent's place in ``tests/supervision/test_takeover.py``, hostile output in
``terminal/test_terminal_hostile.py``, a terminal left as it was in ``terminal/test_terminal_leaving.py``, floods and
dead agents in ``terminal/test_terminal_floods.py``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from tests.screen.conftest import Showing

from unstuck.contract import Gate, Guidance, OutcomeStatus, Task
from unstuck.eventlog.state import AttemptRow, GateRow, RunRow, State, TaskRow, TaskState
from unstuck.text import Clean
from unstuck.words.labels import group_of
from unstuck_tui.render.tasks.table import Needs, columns_for, task_cells


async def test_a_question_from_below_is_in_the_list_with_its_path(showing: Showing) -> None:
    """A sub-agent of a task's agent asks: the list and the dialog name the task and the sub-agent."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        stage.story.asks(
            "web",
            "question",
            "web.1",
            question="Which port?",
            options=["80"],
            agent_id="backend-1",
            subagent="reviewer-2",
        )
        await stage.settled()
        assert "web" in (row := next(row for row in stage.rows() if "Which port?" in row))
        assert "reviewer-2" in row
        await stage.press("gate.answer")
        await stage.pass_time(1)
        assert "backend-1 › reviewer-2" in stage.text


async def test_only_the_task_that_is_shown_hears_a_key_typed_at_once(showing: Showing) -> None:
    """I move to another task and type on without waiting: the question and the answer are that task's alone."""
    async with showing() as stage:
        for name in ("web", "cart"):
            stage.story.task(name)
            stage.story.start(name)
        gates = {
            name: stage.story.asks(name, "question", question=f"{name}?", options=["80"]) for name in ("web", "cart")
        }
        await stage.settled()
        await stage.pilot.press("g", "j", "a")
        await stage.settled()
        assert "cart asks" in stage.text
        await stage.pass_time(1)
        await stage.pilot.press("1")
        await stage.settled()
        state = stage.story.core.head
        assert [state.gates[gates[name]].status == "open" for name in ("web", "cart")] == [True, False]


NOW = 1_000.0


def row(name: str, **fields: Any) -> TaskRow:
    return TaskRow(task=Task(id=name, prompt=Clean("x"), agent="backend-1"), **fields)


def state_of(task: TaskRow) -> State:
    return State(run=RunRow(id="r", kind="plan", project="shop"), tasks={task.id: task})


def every_state() -> dict[str, State]:
    """A task called ``web`` in each state in which a person can find it."""
    found = {name: state_of(row("web", state=name)) for name in get_args(TaskState) if name != "ended"}
    found |= {name: state_of(row("web", state="ended", status=name)) for name in get_args(OutcomeStatus)}
    asked = state_of(row("web", state="waiting", gate="g1"))
    asked.gates["g1"] = GateRow(gate=Gate(id="g1", type="stuck", task="web", key=""), opened="")
    held = state_of(row("web", state="running", attempt="web.1"))
    guidance = Guidance(attempt="web.1", number=1, level="first", text=Clean("x"), workdir=Path("/tree"))
    held.attempts["web.1"] = AttemptRow(id="web.1", task="web", guidance=guidance, started=NOW, state="held")
    return found | {"waiting": asked, "held": held}


def test_without_colours_every_state_is_told_apart() -> None:
    """No two states have the same glyph and word, at 80 columns and at 200."""
    for width in (80, 200):
        columns = columns_for(width, Needs(7, 9))
        told = {}
        for name, found in every_state().items():
            cells = task_cells(found, found.tasks["web"], columns, now=NOW, limits={})
            told[name] = (cells[0].text.strip(), cells[2].text.strip())
        assert all(glyph and word for glyph, word in told.values())
        assert len(set(told.values())) == len(told)


def test_an_agent_that_stands_still_for_all_is_not_said_to_work() -> None:
    """While a question about the whole run holds an agent its row says so, no clock runs, and it counts as waiting."""
    found = every_state()["held"]
    attempt = found.attempts["web.1"]
    found.attempts["web.1"] = replace(attempt, deadline=NOW + 90, held_since=NOW - 60)
    line = "".join(
        cell.text for cell in task_cells(found, found.tasks["web"], columns_for(120, Needs()), now=NOW, limits={})
    )
    assert "held" in line
    assert "paused" in line
    assert "▕" not in line
    assert group_of(found, found.tasks["web"]) == "waiting"


async def test_questions_about_the_run_are_counted_with_those_about_tasks(showing: Showing) -> None:
    """The first line says how many things need me, be they about a task or about all of them."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.asks("", "budget", problem="the budget for tokens is used up")
        await stage.settled()
        assert "! 1 needs you" in stage.rows()[0]
