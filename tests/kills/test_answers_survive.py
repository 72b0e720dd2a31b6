"""An answer that was given is told, whatever was killed before the agent had it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from unstuck.clock import SystemClock
from unstuck.contract import Answer, Guidance, Report, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import Journal
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

TASK = Task(id="t", prompt=Clean("Work."), verify="grep -q good result.txt")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without git."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def never(guidance: Guidance) -> None:
    """Agent of a task that must not start."""
    raise AssertionError("it was started")


async def killed(project: Path, *events: e.Event) -> None:
    """The log of a run that was killed in its first attempt, after ``events``."""
    journal = await Journal.open(project / ".unstuck" / "runs" / "r1", run="r1", clock=SystemClock())
    journal.append(e.RunStarted(project="p"))
    journal.append(e.TaskAdded(work=TASK), task="t")
    journal.append(e.GateOpened(gate="g0-r", type="stuck", choices=("show_me",)), task="t")
    journal.append(e.GateAnswered(gate="g0-r", choice="show_me", text=Clean("Begin."), effect="prepare"), task="t")
    told = Guidance(attempt="t.1", number=1, level="first", text=Clean("Work."), workdir=project, answers=("g0-r",))
    journal.append(e.AttemptStarted(guidance=told), task="t", attempt="t.1")
    for event in events:
        journal.append(event, task="t", attempt="t.1")
    await journal.close()


async def finisher(guidance: Guidance) -> Report:
    """Does what is asked."""
    (guidance.workdir / "result.txt").write_text("good\n")
    return Report()


async def resumed(project: Path) -> tuple[list[Guidance], dict[str, str]]:
    """Return the prompt of the agent when the run goes on, and the status of the gates."""
    told: list[Guidance] = []

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance)
        return await finisher(guidance)

    async with Supervisor.open(project, resume="r1") as supervisor:
        outcome = await supervisor.supervise(TASK, agent)
        assert outcome.status == "succeeded"
        return told, {row.id: row.status for row in supervisor.core.head.gates.values()}


LOOP = e.GateOpened(
    gate="g1-r",
    type="loop_detected",
    key="loop",
    choices=("show_me", "skip", "abandon", "retry", "continue"),
    attempt_id="t.1",
)


async def test_an_answer_inside_an_attempt_that_was_killed_is_told_to_the_next(project: Path) -> None:
    """The person showed how, and the supervisor was killed before the agent's held call came back."""
    answer = e.GateAnswered(gate="g1-r", choice="show_me", text=Clean("take the lock first"), effect="tell")
    await killed(project, LOOP, answer)
    (guidance,), gates = await resumed(project)
    assert "take the lock first" in guidance.text
    assert "g1-r" in guidance.answers
    assert gates == {"g0-r": "delivered", "g1-r": "delivered"}


async def test_an_answer_that_was_on_its_way_is_told_again(project: Path) -> None:
    """It was sent in a call of which nobody knows whether it arrived: better twice than never."""
    answer = e.GateAnswered(gate="g1-r", choice="retry", text=Clean("use a queue"), effect="tell")
    await killed(project, LOOP, answer, e.AnswerSent(gate="g1-r", call="c1", incarnation="t.1"))
    (guidance,), gates = await resumed(project)
    assert "use a queue" in guidance.text
    assert gates == {"g0-r": "delivered", "g1-r": "delivered"}


async def test_an_answer_that_has_arrived_is_not_told_again(project: Path) -> None:
    """The agent had it, so the attempt simply goes on as it was told before."""
    answer = e.GateAnswered(gate="g1-r", choice="show_me", text=Clean("take the lock first"), effect="tell")
    sent = e.AnswerSent(gate="g1-r", call="c1", incarnation="t.1")
    await killed(project, LOOP, answer, sent, e.AnswerDelivered(gate="g1-r"))
    (guidance,), gates = await resumed(project)
    assert guidance.text.startswith("Work.\n\nThe attempt before this one was cut off from outside")
    assert gates == {"g0-r": "delivered", "g1-r": "delivered"}


async def test_a_second_answer_does_not_take_the_place_of_the_first(project: Path) -> None:
    """The killed attempt carried an earlier answer itself: the next one carries both."""
    answer = e.GateAnswered(gate="g1-r", choice="show_me", text=Clean("take the lock first"), effect="tell")
    await killed(project, LOOP, answer)
    (guidance,), _ = await resumed(project)
    assert guidance.answers == ("g0-r", "g1-r")


async def test_a_question_of_an_attempt_that_was_killed_is_withdrawn(project: Path) -> None:
    """Its cause is gone with the attempt; the run goes on without it."""
    await killed(project, LOOP)
    (guidance,), gates = await resumed(project)
    assert guidance.text.startswith("Work.\n\nThe attempt before this one was cut off from outside")
    assert gates == {"g0-r": "delivered", "g1-r": "withdrawn"}


async def test_a_question_that_was_about_to_be_asked_is_not_asked_about_a_dead_attempt(project: Path) -> None:
    """Killed between the files being saved and the question: the attempt is gone on with, and nobody is asked."""
    await killed(project, e.CheckpointCreated(id="chk-1", reason="ask", purpose="question"))
    (guidance,), gates = await resumed(project)
    assert guidance.text.startswith("Work.\n\nThe attempt before this one was cut off from outside")
    assert gates == {"g0-r": "delivered"}


async def test_a_task_that_was_ended_inside_an_attempt_stays_ended(project: Path) -> None:
    """The person skipped it and the supervisor was killed before the agent was stopped: nothing starts again."""
    await killed(project, LOOP, e.GateAnswered(gate="g1-r", choice="skip", effect="skipped"))
    async with Supervisor.open(project, resume="r1") as supervisor:
        outcome = await supervisor.supervise(TASK, never)
        assert outcome.status == "skipped"
        assert [row.state for row in supervisor.core.head.attempts.values()] == ["interrupted"]


async def test_a_question_of_an_attempt_that_was_stopped_is_still_there(project: Path) -> None:
    """A run that was parked with an open question waits for its answer, also when it was only opened again."""
    await killed(project, LOOP, e.AttemptInterrupted(reason="parked"), e.RunParked(gates=("g1-r",)))
    async with Supervisor.open(project, resume="r1") as supervisor:
        supervising = asyncio.ensure_future(supervisor.supervise(TASK, finisher))
        await supervisor.answer("g1-r", Answer(choice="show_me", text=Clean("take the lock first")))
        assert (await supervising).status == "succeeded"
        row = supervisor.core.head.tasks["t"]
        assert row.attempts == 2
        assert "take the lock first" in supervisor.core.head.attempts["t.2"].guidance.text


async def test_an_answer_of_the_meantime_is_told_as_well(project: Path) -> None:
    """The run was parked, the person answered with nothing live, and then it went on."""
    answer = e.GateAnswered(gate="g1-r", choice="show_me", text=Clean("take the lock first"), effect="tell")
    await killed(project, LOOP, e.AttemptInterrupted(reason="parked"), e.RunParked(gates=("g1-r",)), answer)
    (guidance,), gates = await resumed(project)
    assert "take the lock first" in guidance.text
    assert guidance.answers == ("g0-r", "g1-r")
    assert gates == {"g0-r": "delivered", "g1-r": "delivered"}
