"""A person steps in while an agent works: it stands still, and hears what they decide. Real agents, real freezing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.manual_clock import ManualClock
from tests.waiting import become

from unstuck import Answer, Outcome, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Gate
from unstuck.errors import AnswerRefused, UsageError
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import GateRow
from unstuck.supervision.run.socket_api import Answers

SCRIPT = """
import os, pathlib, sys, time
pathlib.Path("told.txt").open("a").write(sys.argv[1] + "\\n--\\n")
pathlib.Path("pid.txt").write_text(f"{os.getpid()} ")
while not os.path.exists("go"): time.sleep(0.02)
pathlib.Path("out.txt").write_text("done")
"""


class Desk:
    """A run with one agent at work, and the person at it."""

    def __init__(self, supervisor: Supervisor, clock: ManualClock, root: Path) -> None:
        self.supervisor, self.clock, self.root = supervisor, clock, root

    def works(self, **options: Any) -> asyncio.Future[Outcome]:
        core = self.supervisor.core
        spec = CommandSpec(command=(sys.executable, "-c", SCRIPT, "{prompt}"))
        agent = CommandAgent(spec, folder=core.folder, environ=core.environ, limit=100_000, prompt_limit=10_000)
        task = Task(id="web", prompt=admit("Make it work"), verify="grep -q done out.txt", timeout_s=600.0)
        return asyncio.ensure_future(self.supervisor.supervise(task, agent))

    async def begun(self) -> psutil.Process:
        """The process of the agent, once it works."""
        file = self.root / "pid.txt"
        await become(lambda: file.exists() and file.read_text().strip() != "")
        return psutil.Process(int(file.read_text()))


OpenDesk = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def desk(repo: Path, clock: ManualClock) -> OpenDesk:
    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Desk]:
        async with Supervisor.open(repo, clock=clock, person=True, **options) as supervisor:
            yield Desk(supervisor, clock, repo)

    return opened


async def test_an_agent_is_held_and_let_go_on(desk: OpenDesk) -> None:
    """A held agent's process is stopped and its files are safe; released, it ends as if nothing had happened."""
    asked: list[Gate] = []

    def rules(gate: Gate) -> tuple[int, Answer] | None:
        asked.append(gate)
        return 1, Answer(choice="skip")

    async with desk(policy=lambda state: rules) as at:
        working = at.works()
        process = await at.begun()
        gate = await at.supervisor.hold("web")
        await become(lambda: process.status() == psutil.STATUS_STOPPED)
        row: GateRow = at.supervisor.state.gates[gate]
        assert row.status == "open"
        assert row.gate.standing == "frozen"
        assert row.gate.context["checkpoint"].startswith("chk-")
        assert asked == []
        assert await at.supervisor.hold("web") == gate
        (at.root / "go").touch()
        await at.supervisor.answer(gate, Answer(choice="continue"))
        outcome = await working
    assert outcome.status == "succeeded"
    assert outcome.attempts == 1


async def test_another_approach_reaches_a_fresh_attempt(desk: OpenDesk) -> None:
    """An approach given to an agent at work stops it, and is in what its next attempt is told."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        await at.supervisor.step_in("web", Answer(choice="retry", text=admit("use the queue")))
        await become(lambda: (at.root / "told.txt").read_text().count("--") == 2)
        (at.root / "go").touch()
        outcome = await working
        told = (at.root / "told.txt").read_text().split("--")
    assert outcome.status == "succeeded"
    assert outcome.attempts == 2
    assert "use the queue" not in told[0]
    assert "use the queue" in told[1]


async def test_a_task_at_work_is_skipped(desk: OpenDesk) -> None:
    """Skipped, its agent is ended, and nothing of it is left."""
    async with desk() as at:
        working = at.works()
        process = await at.begun()
        await at.supervisor.step_in("web", Answer(choice="skip"))
        assert (await working).status == "skipped"
        assert not process.is_running()


async def test_more_time_counts_from_now_on(desk: OpenDesk) -> None:
    """Extended by ten minutes, it is asked about ten minutes from now and not before; nothing else is asked."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        await at.clock.advance(200)  # not so long that its silence would be asked about
        await at.supervisor.extend("web", 600.0)
        core = at.supervisor.core
        await become(lambda: core.head.attempts["web.1"].state == "live")
        attempt = next(iter(core.head.attempts.values()))
        assert attempt.deadline == pytest.approx(core.clock.monotonic() + 600.0)
        assert core.head.open_gates() == ()
        (at.root / "go").touch()
        assert (await working).status == "succeeded"


async def test_what_cannot_be_done_is_said(desk: OpenDesk) -> None:
    """An unknown task, and one that nobody works at: a clear line, and nothing is recorded."""
    async with desk() as at:
        at.supervisor.add(Task(id="later", prompt=admit("later")))
        seq = at.supervisor.core.head.seq
        with pytest.raises(UsageError, match="there is no task nothing"):
            await at.supervisor.hold("nothing")
        with pytest.raises(UsageError, match="later: no agent works at it: it has not begun"):
            await at.supervisor.step_in("later", Answer(choice="retry", text=admit("use the queue")))
        with pytest.raises(UsageError, match="no agent works at later"):
            await at.supervisor.extend("later", 60.0)
        with pytest.raises(UsageError, match="later: it has not begun"):
            await at.supervisor.choose_rung("later", "pivot")
        assert at.supervisor.core.head.seq == seq


async def test_a_task_that_has_not_begun_is_held_and_let_begin(desk: OpenDesk) -> None:
    """Held before its first attempt nothing starts, whatever else happens; let go on, it begins as if nothing was."""
    async with desk() as at:
        at.supervisor.add(Task(id="web", prompt=admit("Make it work"), verify="grep -q done out.txt", timeout_s=600.0))
        gate = await at.supervisor.hold("web")
        assert await at.supervisor.hold("web") == gate
        working = at.works()
        at.supervisor.core.signals.wake_all()
        await at.clock.advance(60)
        row: GateRow = at.supervisor.state.gates[gate]
        assert row.gate.choices == ("continue", "skip", "abandon")
        assert not (at.root / "pid.txt").exists()
        await at.supervisor.step_in("web", Answer(choice="continue"))
        await at.begun()
        (at.root / "go").touch()
        outcome = await working
    assert outcome.status == "succeeded"
    assert outcome.attempts == 1


async def test_a_task_kept_from_starting_stays_so_when_the_run_is_gone_on_with(desk: OpenDesk) -> None:
    """A rule that would answer everything does not let it go: neither when I hold it nor after the run was left."""

    def rules(gate: Gate) -> tuple[int, Answer] | None:
        return 1, Answer(choice="continue")

    async with desk(policy=lambda state: rules) as at:
        at.supervisor.add(Task(id="web", prompt=admit("Make it work")))
        gate = await at.supervisor.hold("web")
        run = at.supervisor.run
    async with desk(policy=lambda state: rules, resume=run) as at:
        assert at.supervisor.state.gates[gate].status == "open"
        assert at.supervisor.core.row("web").state == "waiting"


@pytest.mark.parametrize(("choice", "status"), [("skip", "skipped"), ("abandon", "abandoned")])
async def test_a_task_that_has_not_begun_is_given_up(desk: OpenDesk, choice: str, status: str) -> None:
    """Skipped or abandoned before it begins, no agent is ever started for it, and the record says that I did it."""
    async with desk() as at:
        task = Task(id="web", prompt=admit("Make it work"), needs=("first",))
        at.supervisor.add(Task(id="first", prompt=admit("first")))
        at.supervisor.add(task)
        working = at.works()
        await at.supervisor.step_in("web", Answer(choice=choice))
        assert (await working).status == status
        (ended,) = [r for r in read_records(at.supervisor.core.journal.path) if isinstance(r.event, e.TaskEnded)]
        assert ended.actor == "human"
        assert not (at.root / "pid.txt").exists()


@pytest.mark.parametrize(("level", "told"), [("pivot", "Approach:"), ("research", "First understand the problem")])
async def test_the_next_rung_is_chosen_for_an_agent_at_work(desk: OpenDesk, level: str, told: str) -> None:
    """Another approach, or research first: the agent is ended, and its next attempt is told so."""
    async with desk() as at:
        working = at.works()
        process = await at.begun()
        await at.supervisor.choose_rung("web", level)
        last = at.root / "told.txt"  # a pivot sets the files back, and with them what was noted of the first attempt
        await become(lambda: last.exists() and told in last.read_text())
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        row = at.supervisor.core.row("web")
        assert row.level == level
        assert row.chosen == ""
        (at.root / "go").touch()
        outcome = await working
    assert outcome.status == "succeeded"
    assert outcome.attempts == 2


async def test_the_same_again_by_choice(desk: OpenDesk) -> None:
    """Stopped and begun again: the same words, no rung used up, and no failure of the agent is counted."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        gate = await at.supervisor.hold("web")
        await at.supervisor.choose_rung("web", "first")
        await become(lambda: (at.root / "told.txt").read_text().count("--") == 2)
        climb = at.supervisor.core.row("web").climb
        assert climb.directives == 0
        assert climb.agent_failures == 0
        assert at.supervisor.core.head.gates[gate].status == "withdrawn"
        (at.root / "go").touch()
        assert (await working).status == "succeeded"
        first, second = (at.root / "told.txt").read_text().split("\n--\n")[:2]
    assert first == second


async def test_the_question_is_asked_at_once_by_choice(desk: OpenDesk) -> None:
    """A person can be asked at once: the agent is ended, and the stuck question stands there with its report."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        await at.supervisor.choose_rung("web", "human")
        await become(lambda: bool(at.supervisor.core.head.open_gates()))
        (row,) = at.supervisor.core.head.open_gates()
        assert row.gate.type == "stuck"
        with pytest.raises(UsageError, match="it waits for your answer, which decides what comes next"):
            await at.supervisor.choose_rung("web", "pivot")
        await at.supervisor.answer(row.id, Answer(choice="abandon"))
        assert (await working).status == "abandoned"


async def test_a_held_task_takes_no_more_time(desk: OpenDesk) -> None:
    """While it stands still because somebody looks, no time is to be had and none goes by."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        gate = await at.supervisor.hold("web")
        with pytest.raises(AnswerRefused, match="timeouts are paused"):
            await at.supervisor.extend("web", 60.0)
        await at.clock.advance(10_000)
        assert [row.id for row in at.supervisor.core.head.open_gates()] == [gate]
        (at.root / "go").touch()
        await at.supervisor.answer(gate, Answer(choice="continue"))
        assert (await working).status == "succeeded"
        assert not [row for row in at.supervisor.core.head.gates.values() if row.gate.type == "timeout"]
        assert at.supervisor.core.head.gates[gate].by == "human"


async def test_two_requests_at_once_leave_nobody_behind(repo: Path, clock: ManualClock) -> None:
    """A run without a screen has a person for as long as they decide, and none afterwards."""
    async with Supervisor.open(repo, clock=clock) as supervisor:
        desk = Desk(supervisor, clock, repo)
        task = desk.works()
        await desk.begun()
        answers = Answers(supervisor)
        message = {"do": "step", "task": "web", "choice": "skip"}
        replies = await asyncio.gather(answers.handle(message, None), answers.handle(message, None))
        assert any(reply.get("ok") for reply in replies)
        assert not supervisor.core.person
        await task


async def test_who_decides_second_is_told_so(desk: OpenDesk) -> None:
    """Of two who let an agent go on at the same time one is told that it was decided, not that it has ended."""
    async with desk() as at:
        working = at.works()
        await at.begun()
        answers = Answers(at.supervisor)
        message = {"do": "step", "task": "web", "choice": "continue"}
        replies = await asyncio.gather(answers.handle(message, None), answers.handle(message, None))
        assert sorted(reply.get("error", "") for reply in replies) == ["", "web was decided about at the same time"]
        (at.root / "go").touch()
        assert (await working).status == "succeeded"
