"""Timeouts: when an attempt's clocks pause, what is warned of, and what a resumed run keeps."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records, Reporting

from unstuck import Answer, Guidance, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.clock import SystemClock
from unstuck.contract import Observation, Observer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME, Journal
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import GateRow
from unstuck.supervision.run.remediation import NullObserver
from unstuck.workspace.checkpoints.manager import Checkpoint, CheckpointStore
from unstuck.workspace.project import locate

PATIENCE = 30
TASK = Task(id="t", prompt=admit("Do it"), timeout_s=100.0)


@dataclass(slots=True)
class Working:
    """An agent at work on a task of 100 seconds, with somebody watching."""

    supervisor: Supervisor
    agent: Any
    record: Any
    observer: Observer
    work: asyncio.Future[Any]

    @property
    def gates(self) -> tuple[GateRow, ...]:
        return self.supervisor.core.head.open_gates()


Begin = Callable[..., AbstractAsyncContextManager[Working]]


@pytest.fixture
def begun(repo: Path, reporting: type[Reporting], records: type[Records]) -> Begin:
    """Opens a run with a clock and lets an agent begin; at its end the agent is let finish."""

    @asynccontextmanager
    async def begin(clock: ManualClock, **options: Any) -> AsyncIterator[Working]:
        agent = reporting()
        async with Supervisor.open(repo, clock=clock, person=True, **options) as supervisor:
            record = records(supervisor)
            work = asyncio.ensure_future(supervisor.supervise(TASK, agent))
            observer = await asyncio.wait_for(asyncio.shield(agent.observer), PATIENCE)
            yield Working(supervisor, agent, record, observer, work)
            agent.finish.set()
            await asyncio.wait_for(work, PATIENCE)  # a test that failed may have left a question open

    return begin


@pytest.fixture
async def working(begun: Begin, clock: ManualClock) -> AsyncIterator[Working]:
    """An agent that has just begun."""
    async with begun(clock) as at_work:
        yield at_work


async def test_four_fifths_are_warned_of_once_then_comes_the_question(working: Working, clock: ManualClock) -> None:
    """At 80 % a warning with the last sign of life, at 100 % the question; an extension is warned of in its turn."""
    record = working.record
    await clock.advance(79)
    assert record.of(e.TimeoutWarned) == []
    await clock.advance(1)
    (warned,) = record.of(e.TimeoutWarned)
    assert warned.clock == "wall"
    assert warned.elapsed_s == 80.0
    assert warned.limit_s == 100.0
    assert warned.last_sign == "its start, 80 s ago"
    await clock.advance(20)
    gate = await record.asked()
    assert gate.gate.context["last_sign"] == "its start, 100 s ago"
    await working.supervisor.answer(gate.id, Answer(choice="extend", number=50.0))
    await clock.advance(40)
    assert [warned.elapsed_s for warned in record.of(e.TimeoutWarned)] == [80.0, 140.0]
    await clock.advance(10)
    again = await record.asked()
    assert again.gate.context["timeout_seconds"] == 150.0


async def test_time_while_a_question_is_open_does_not_count(working: Working, clock: ManualClock) -> None:
    """An agent that repeats itself is asked about and frozen; however long I think, its time stands still."""
    agent, record = working.agent, working.record
    await clock.advance(30)
    for number in range(3):
        working.observer.see(Observation(kind="action", id=str(number), text=admit("pytest")))
        working.observer.see(Observation(kind="failure", id=str(number), exit_code=1, text=admit("ValueError: x")))
    assert agent.frozen == [True], "frozen at once, and saved before it is asked about"
    assert working.gates == (), "frozen at once, and saved before it is asked about"
    clock.jump(1_000)  # at once: how long git takes to save its files is no part of this
    gate = await record.asked()
    assert gate.gate.type == "loop_detected"
    assert record.of(e.GateOpened)[0].stood_s == 1_000.0
    await clock.advance(5_000)
    assert agent.frozen == [True]
    assert record.of(e.AgentTimeout) == []
    assert record.of(e.TimeoutWarned) == []
    await working.supervisor.answer(gate.id, Answer(choice="continue"))
    await clock.advance(69)
    assert agent.frozen == [True, False]
    assert len(record.of(e.TimeoutWarned)) == 1
    assert record.of(e.AgentTimeout) == []
    await clock.advance(1)
    assert [timeout.clock for timeout in record.of(e.AgentTimeout)] == ["wall"]


async def test_the_machine_slept_and_no_time_has_passed(working: Working, clock: ManualClock) -> None:
    """I close my laptop for two hours: no limit is reached, and one record says that the machine slept."""
    record = working.record
    await clock.advance(50)
    clock.suspend(7_200)
    await clock.advance(49)
    assert [slept.seconds for slept in record.of(e.Suspended)] == [7_200.0]
    assert record.of(e.AgentTimeout) == []
    assert working.gates == ()
    await clock.advance(1)
    assert len(record.of(e.AgentTimeout)) == len(record.of(e.Suspended)) == 1
    gate = await record.asked()
    assert gate.gate.context["started_at"] == "2027-01-15T08:00:00.000Z"


async def test_the_machine_slept_while_i_was_asked(working: Working, clock: ManualClock) -> None:
    """Asleep over an open question: it stays open, what I give afterwards is whole, and the sleep is on record."""
    record = working.record
    await clock.advance(100)
    gate = await record.asked()
    clock.suspend(7_200)
    await clock.advance(3_600)
    assert working.gates == (gate,)
    await working.supervisor.answer(gate.id, Answer(choice="extend", number=50.0))
    await clock.advance(49)
    assert len(record.of(e.AgentTimeout)) == 1
    await clock.advance(1)
    assert len(record.of(e.AgentTimeout)) == 2
    assert [slept.seconds for slept in record.of(e.Suspended)] == [7_200.0]


@pytest.mark.parametrize("freeze", [True, False])
async def test_a_question_while_the_program_starts_freezes_it_too(tmp_path: Path, freeze: bool) -> None:
    """Held before its program has even begun, it stands still from its start; with `hold: none` it runs on."""

    class Holding(NullObserver):
        pid = 0

        async def spawned(self, pid: int, start: float) -> None:
            self.pid = pid
            agent.freeze("t.1")

    for name in ("output", "work"):
        (tmp_path / name).mkdir()
    script = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    spec = CommandSpec(command=(sys.executable, "-c", script), freeze=freeze)
    agent = CommandAgent(spec, folder=tmp_path, environ=os.environ, limit=10_000, prompt_limit=10_000)
    guidance = Guidance(attempt="t.1", number=1, level="first", text=admit("x"), workdir=tmp_path / "work")
    observer = Holding()
    work = asyncio.ensure_future(agent.attempt(TASK, guidance, observer))
    async with asyncio.timeout(PATIENCE):
        while freeze and not (observer.pid and psutil.Process(observer.pid).status() == psutil.STATUS_STOPPED):
            await asyncio.sleep(0)
        (tmp_path / "work" / "go").touch()
        agent.thaw("t.1")
        assert (await work).exit_code == 0


def test_the_systems_own_clock_knows_of_sleep() -> None:
    """The real clock's sleep only grows, and its monotonic time stands still meanwhile."""
    clock = SystemClock()
    first = clock.asleep()
    assert first >= -0.001
    assert clock.asleep() - first < 1.0


async def test_what_is_to_be_stopped_is_not_let_go_on_first(working: Working, clock: ManualClock) -> None:
    """An agent that stands still at a question takes no step between my *stop* and its end."""
    await clock.advance(100)
    gate = await working.record.asked()
    assert working.agent.frozen == [True]
    await working.supervisor.answer(gate.id, Answer(choice="abandon"))
    await working.work
    assert working.agent.frozen == [True]
    assert len(working.record.of(e.StopReceipt)) == 1


async def test_what_is_stopped_before_the_question_is_not_asked_about(
    working: Working, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I stop the run while the files are saved for a question: the agent ends without a further step or question."""
    begun, go, create = asyncio.Event(), asyncio.Event(), CheckpointStore.create

    async def saved(*arguments: Any, **options: Any) -> Checkpoint:
        begun.set()
        await go.wait()
        return await create(*arguments, **options)

    monkeypatch.setattr(CheckpointStore, "create", saved)
    await clock.advance(100)
    await asyncio.wait_for(begun.wait(), PATIENCE)
    assert working.agent.frozen == [True]
    assert working.gates == ()
    (asking,) = working.supervisor.core.live.asking.values()
    await working.supervisor.stop("enough")
    go.set()
    await asking
    await working.work
    assert working.agent.frozen == [True]
    assert len(working.record.of(e.StopReceipt)) == 1
    assert working.record.of(e.GateOpened) == []


@pytest.mark.parametrize(
    ("ran", "written", "held", "used"),
    [
        (None, None, False, 10.0),  # only its last record is known
        (50.0, None, False, 50.0),  # its helper has left an account
        (None, 70.0, False, 70.0),  # it was still printing then
        (None, 1e6, False, 100.0),  # the computer's clock was set: never more than there was
        (50.0, -1e6, False, 50.0),
        (50.0, 70.0, True, 10.0),  # it stood still at a question, and so did its time
    ],
)
async def test_what_a_killed_supervisor_did_not_write_down(
    repo: Path, clock: ManualClock, ran: float | None, written: float | None, held: bool, used: float
) -> None:
    """After kill -9 the time used is what is known of the agent, not only what was recorded; never past its limit."""
    place = await locate(repo)
    folder, spawned = place.runs / "20261121-201409", 1_800_000_000.0
    folder.mkdir(parents=True)
    journal = await Journal.open(folder, run=folder.name, clock=clock)
    journal.append(e.RunStarted(project="p", pid=1))
    journal.append(e.TaskAdded(work=Task(id="t", prompt=admit("Work."), timeout_s=100)), task="t")
    guidance = Guidance(attempt="t.1", number=1, level="first", text=admit("Work."), workdir=repo)
    journal.append(e.AttemptStarted(guidance=guidance, limit_s=100), task="t", attempt="t.1")
    journal.append(e.AgentSpawned(pid=2**22 + 1, start=spawned), task="t", attempt="t.1")
    await clock.advance(10)
    if held:
        journal.append(e.GateOpened(gate="g", type="loop_detected", attempt_id="t.1"), task="t", attempt="t.1")
    else:
        journal.append(e.StepRecorded(kind="message"), task="t", attempt="t.1")
    await journal.close()
    output = folder / "output" / "t.1.log"
    output.parent.mkdir()
    if written is not None:
        output.touch()
        os.utime(output, (spawned + written, spawned + written))
    if ran is not None:
        account = {"exited": {"seconds": ran}, "ended": [[7, 1.0, "killed"]], "alive": []}
        output.with_name("t.1.log.end").write_text(json.dumps(account), encoding="utf-8")
    async with Supervisor.open(place, clock=clock, resume=folder.name) as supervisor:
        assert supervisor.core.row("t").used == used
    receipts = [r.event.ended for r in read_records(folder / LOG_NAME) if isinstance(r.event, e.StopReceipt)]
    assert receipts == ([((7, 1.0, "killed"),)] if ran is not None else [])


@pytest.mark.parametrize("killed", [False, True])
async def test_a_run_that_goes_on_has_the_time_that_was_left(begun: Begin, clock: ManualClock, killed: bool) -> None:
    """Of 100 seconds 60 were used when the run was stopped, or killed: the attempt that goes on has 40."""
    async with begun(clock) as first:
        run, folder = first.supervisor.run, first.supervisor.core.folder
        await clock.advance(60)
        first.observer.see(Observation(kind="message", text=admit("half way")))
        await first.supervisor.core.journal.committed()
        if not killed:
            await first.supervisor.stop("enough")
            await first.work
        whole = (folder / LOG_NAME).read_bytes()
        await first.supervisor.stop("enough")
        await first.work
    if killed:
        (folder / LOG_NAME).write_bytes(whole)
        (folder / "state.json").unlink(missing_ok=True)
    # As after a new start of the machine: its clock begins elsewhere.
    later = ManualClock(start=5.0)
    async with begun(later, resume=run) as second:
        assert second.supervisor.core.head.attempts["t.2"].limit == 40.0
        await later.advance(39)
        assert second.record.of(e.AgentTimeout) == []
        await later.advance(1)
        assert len(second.record.of(e.AgentTimeout)) == 1
    interrupted = [r.event for r in read_records(folder / LOG_NAME) if isinstance(r.event, e.AttemptInterrupted)]
    assert [event.used_s for event in interrupted] == [60.0]
