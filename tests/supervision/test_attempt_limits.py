"""The time limit of an attempt, and back-off, by a clock that the test moves."""

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
from tests.supervision.conftest import Records
from tests.waiting import become

from unstuck import Answer, Guidance, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Capabilities, Gate, Observer, Receipt, Report
from unstuck.errors import GateClosed
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings

PATIENCE = 60


# The time limit of an attempt


class Slow:
    """An agent that hangs in every attempt below ``until``, and writes down what it was told."""

    def __init__(self, until: int) -> None:
        self.until, self.told = until, list[Guidance]()
        self.started = asyncio.Event()
        self.finish = asyncio.Event()
        self.cancelled: list[str] = []

    async def __call__(self, guidance: Guidance) -> None:
        self.told.append(guidance)
        self.started.set()
        if guidance.number < self.until:
            try:
                await self.finish.wait()
            except asyncio.CancelledError:
                self.cancelled.append(guidance.attempt)
                raise


class World:
    """A supervisor whose clock stands still, and what it records."""

    def __init__(self, supervisor: Supervisor, clock: ManualClock, record: Any) -> None:
        self.supervisor, self.clock, self.record = supervisor, clock, record
        self.of, self.until, self.asked = record.of, record.until, record.asked

    def supervise(self, agent: Any, **fields: Any) -> asyncio.Future[Any]:
        task = Task(id="t", prompt=admit("Do it"), **{"timeout_s": 100.0, **fields})
        return asyncio.ensure_future(self.supervisor.supervise(task, agent))

    async def overdue(self, slow: Slow, seconds: float = 100.0) -> None:
        """Let the attempt that is about to start run into its limit."""
        await asyncio.wait_for(slow.started.wait(), PATIENCE)
        slow.started.clear()
        await self.clock.advance(seconds)


Opening = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def opening(repo: Path, clock: ManualClock, records: type[Records]) -> Opening:
    @asynccontextmanager
    async def opened(*answers: Answer, **options: Any) -> AsyncIterator[World]:
        left = list(answers)

        def policy(gate: Gate) -> tuple[int, Answer] | None:
            return (len(answers) - len(left), left.pop(0)) if gate.type == "timeout" and left else None

        async with Supervisor.open(repo, clock=clock, policy=lambda state: policy, **options) as supervisor:
            yield World(supervisor, clock, records(supervisor))

    return opened


async def test_extend_gives_more_time(opening: Opening) -> None:
    """A rule that extends by 50 seconds: the same attempt goes on and is asked about again after exactly that."""
    slow = Slow(until=2)
    async with opening(Answer(choice="extend", number=50.0)) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        assert [timeout.elapsed_ms for timeout in world.of(e.AgentTimeout)] == [100_000]
        (opened,) = world.of(e.GateOpened)
        assert opened.context["timeout_seconds"] == 100.0
        answered = next(record for record in world.record.seen if isinstance(record.event, e.GateAnswered))
        assert answered.actor == "policy"
        assert answered.event.rule == 0
        await world.clock.advance(49.9)
        assert len(world.of(e.AgentTimeout)) == 1
        await world.clock.advance(0.1)
        assert [timeout.elapsed_ms for timeout in world.of(e.AgentTimeout)] == [100_000, 150_000]
        assert (await working).attempts == 2
    assert slow.cancelled == ["t.1"]


async def test_continue_lets_it_run(opening: Opening) -> None:
    """A rule that continues: nothing is stopped, however long it takes."""
    slow = Slow(until=2)
    async with opening(Answer(choice="continue")) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        await world.clock.advance(100_000)
        assert slow.cancelled == []
        slow.finish.set()
        outcome = await working
        assert outcome.status == "unverified"
        assert outcome.attempts == 1
        assert world.supervisor.core.head.gates[world.of(e.GateOpened)[0].gate].status == "delivered"


@pytest.mark.parametrize("answer", [Answer(choice="stop"), Answer(choice="retry")])
async def test_stop_dispatches_again(opening: Opening, answer: Answer) -> None:
    """*Stop and retry*: the attempt is ended with a receipt and the same task is given out again."""
    slow = Slow(until=2)
    async with opening(answer) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        outcome = await working
        (failure,) = world.of(e.AgentFailure)
        assert failure.error_type == "agent_timeout"
        assert failure.attempt == 1
        assert len(world.of(e.StopReceipt)) == 1
        (gate,) = world.supervisor.core.head.gates.values()
        assert gate.status == "delivered"
    assert outcome.status == "unverified"
    assert outcome.attempts == 2
    assert slow.cancelled == ["t.1"]
    again = "This is a new start of the same task. The last attempt reached its time limit and changed no file."
    assert slow.told[1].text == f"{slow.told[0].text}\n\n{again}"


async def test_retry_with_an_approach(opening: Opening) -> None:
    """*Retry* with words: the attempt is ended, and the next one is told the approach."""
    slow = Slow(until=2)
    async with opening(Answer(choice="retry", text=admit("use the cache"))) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        outcome = await working
        assert world.of(e.AgentFailure) == []
        (gate,) = world.supervisor.core.head.gates.values()
        assert gate.status == "delivered"
    assert outcome.status == "unverified"
    assert outcome.attempts == 2
    assert outcome.level == "human"
    assert slow.cancelled == ["t.1"]
    assert "use the cache" in slow.told[1].text
    assert slow.told[1].approach == "use the cache"
    assert slow.told[1].answers == (gate.id,)


@pytest.mark.parametrize(("choice", "status"), [("skip", "skipped"), ("abandon", "abandoned")])
async def test_giving_up_at_the_limit(opening: Opening, choice: str, status: str) -> None:
    """*Skip* and *abandon* end the attempt and the task."""
    slow = Slow(until=9)
    async with opening(Answer(choice=choice)) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        outcome = await working
        assert not world.supervisor.core.head.attempts["t.1"].is_live
    assert outcome.status == status
    assert outcome.attempts == 1
    assert slow.cancelled == ["t.1"]


async def test_without_a_rule_three_times_then_the_person(opening: Opening) -> None:
    """Nobody there and no rule: stop and dispatch again; the third time the stuck gate opens and says why."""
    slow = Slow(until=9)
    async with opening() as world:
        working = world.supervise(slow)
        for _ in range(3):
            await world.overdue(slow)
        gate = await world.asked()
        assert gate.gate.type == "stuck"
        assert "agent_timeout" in gate.gate.context["analysis"]
        assert gate.gate.context["problem"] == "the agent reached its time limit"
        assert [failure.attempt for failure in world.of(e.AgentFailure)] == [1, 2]
        assert len(world.of(e.AgentTimeout)) == 3
        stops = [record for record in world.record.seen if isinstance(record.event, e.StopRequested)]
        assert {record.actor for record in stops} == {"policy"}
        await world.supervisor.answer(gate.id, Answer(choice="show_me", text=admit("smaller steps")))
        slow.until = 0
        outcome = await working
    assert slow.cancelled == ["t.1", "t.2", "t.3"]
    assert "smaller steps" in slow.told[3].text
    assert outcome.status == "unverified"
    assert outcome.attempts == 4


async def test_where_nobody_may_be_asked_it_halts(opening: Opening) -> None:
    """``ask: never``: after the third time-out the run is halted."""
    slow = Slow(until=9)
    async with opening(settings=Settings(ask="never")) as world:
        working = world.supervise(slow)
        for _ in range(3):
            await world.overdue(slow)
        outcome = await working
        (failed,) = world.of(e.WorkflowFailed)
        assert failed.reason == "task_limit_exceeded"
    assert outcome.status == "failed"


async def test_an_attempt_that_ends_by_itself_withdraws_the_question(opening: Opening) -> None:
    """A question about a slow agent is withdrawn when the agent ends; a late answer is refused at once."""
    slow = Slow(until=9)
    async with opening(person=True) as world:
        working = world.supervise(slow)
        await world.overdue(slow)
        gate = await world.asked()
        slow.finish.set()
        outcome = await working
        assert world.supervisor.core.head.gates[gate.id].status == "withdrawn"
        with pytest.raises(GateClosed, match="by the supervisor"):
            await world.supervisor.answer(gate.id, Answer(choice="extend", number=60.0))
        assert not world.of(e.GateAnswered)
    assert outcome.status == "unverified"
    assert outcome.attempts == 1


HANGING = """
trap '' TERM INT
echo $$ > pid.txt
cat "$UNSTUCK_PROMPT_FILE" > prompt.txt
while :; do sleep 1000 & wait $!; done
"""


async def test_a_hanging_program_is_frozen_while_asked_about_and_then_stopped(
    opening: Opening, repo: Path, clock: ManualClock, deaf_ended_soon: None
) -> None:
    """A program that ignores TERM stands still while the question is open, and is dead, receipted, after *stop*."""
    (repo / "agent.sh").write_text(HANGING, encoding="utf-8")
    async with opening(person=True, settings=Settings(task_failure_limit=1)) as world:
        core = world.supervisor.core
        agent = CommandAgent(
            CommandSpec(command=("sh", "agent.sh")),
            folder=core.folder,
            environ=core.environ,
            limit=100_000,
            prompt_limit=10_000,
        )
        working = world.supervise(agent)
        await world.until(lambda: world.of(e.AgentSpawned))
        await become(lambda: (repo / "prompt.txt").exists() and (repo / "prompt.txt").read_text().strip() != "")
        process = psutil.Process(int((repo / "pid.txt").read_text()))
        await clock.advance(100)
        gate = await world.asked()
        assert core.head.attempts["t.1"].state == "held"
        await become(lambda: process.status() == psutil.STATUS_STOPPED)
        await clock.advance(10_000)
        assert process.status() == psutil.STATUS_STOPPED
        assert len(world.of(e.AgentTimeout)) == 1
        await world.supervisor.answer(gate.id, Answer(choice="stop"))
        await world.until(lambda: world.of(e.StopReceipt))
        (receipt,) = world.of(e.StopReceipt)
        assert process.pid in [pid for pid, _, _ in receipt.ended]
        assert receipt.alive == ()
        assert not process.is_running()
        stuck = await world.asked()
        await world.supervisor.answer(stuck.id, Answer(choice="skip"))
        assert (await working).status == "skipped"


async def test_a_frozen_program_goes_on_after_extend(opening: Opening, repo: Path, clock: ManualClock) -> None:
    """With more time the program runs on from where it stood, and its work counts."""
    script = (
        "import os, pathlib, time\n"
        "pathlib.Path('pid.txt').write_text(f'{os.getpid()} ')\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        "pathlib.Path('out.txt').write_text('done')\n"
    )
    async with opening(person=True) as world:
        core = world.supervisor.core
        agent = CommandAgent(
            CommandSpec(command=(sys.executable, "-c", script)),
            folder=core.folder,
            environ=core.environ,
            limit=100_000,
            prompt_limit=10_000,
        )
        working = world.supervise(agent, verify="grep -q done out.txt")
        await become(lambda: (repo / "pid.txt").exists() and (repo / "pid.txt").read_text().strip() != "")
        process = psutil.Process(int((repo / "pid.txt").read_text()))
        await clock.advance(100)
        gate = await world.asked()
        await become(lambda: process.status() == psutil.STATUS_STOPPED)
        (repo / "go").touch()
        await world.supervisor.answer(gate.id, Answer(choice="extend", number=60.0))
        outcome = await working
    assert outcome.status == "succeeded"
    assert outcome.attempts == 1


# Back-off


def refused(said: str = "[Errno 111] Connection refused") -> Callable[[Guidance], Any]:
    async def attempt(guidance: Guidance) -> None:
        raise ConnectionRefusedError(said)

    return attempt


async def backed_off(world: World, count: int) -> None:
    await world.until(lambda: len(world.of(e.TransientErrorRetry)) == count)
    until = world.supervisor.core.row("t").backoff_until
    # The wait itself has to have begun before time may pass.
    await asyncio.wait_for(world.clock.slept_until(until), PATIENCE)


async def test_transient_trouble_waits_1_2_4_seconds(opening: Opening) -> None:
    """A passing trouble is waited for exactly 1, 2 and 4 seconds; when it passes, that is recorded."""
    told: list[Guidance] = []

    async def flaky(guidance: Guidance) -> None:
        told.append(guidance)
        if guidance.number < 4:
            raise ConnectionRefusedError("[Errno 111] Connection refused")

    async with opening() as world:
        row = world.supervisor.core.row
        working = world.supervise(flaky)
        for count, seconds in enumerate((1.0, 2.0, 4.0), 1):
            await backed_off(world, count)
            assert world.of(e.TransientErrorRetry)[-1].delay_seconds == seconds
            await world.clock.advance(seconds - 0.001)
            assert row("t").state == "backoff"
            await world.clock.advance(0.001)
            await world.until(lambda count=count: len(world.of(e.BackoffOver)) == count)
        outcome = await working
    assert [guidance.text for guidance in told] == [told[0].text] * 4
    assert outcome.status == "unverified"
    assert outcome.attempts == 4


async def test_a_back_off_stands_while_the_machine_sleeps(opening: Opening) -> None:
    """I close my laptop in the middle of a wait: what was left of it is waited for afterwards, no more and no less."""
    async with opening() as world:
        row = world.supervisor.core.row
        working = world.supervise(refused())
        await backed_off(world, 1)
        await world.clock.advance(0.5)
        world.clock.suspend(7_200)
        await world.clock.advance(0.499)
        assert row("t").state == "backoff"
        await world.clock.advance(0.001)
        await world.until(lambda: world.of(e.BackoffOver))
        await world.supervisor.stop("enough")
        await working


async def test_after_three_waits_it_is_a_failure_like_any_other(opening: Opening) -> None:
    """The fourth time the trouble is escalated once and climbs the ladder."""
    attempts = refused()
    async with opening() as world:
        working = world.supervise(attempts)
        for count, seconds in enumerate((1, 2, 4), 1):
            await backed_off(world, count)
            await world.clock.advance(seconds)
        await world.until(lambda: world.of(e.DirectiveIssued))
        assert len(world.of(e.TransientErrorEscalated)) == 1
        assert len(world.of(e.TransientErrorRetry)) == 3
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_retry_after_wins(opening: Opening) -> None:
    """The wait is as long as the other side says."""
    async with opening() as world:
        working = world.supervise(refused("HTTP Error 429: Too Many Requests\nRetry-After: 37"))
        await backed_off(world, 1)
        assert world.of(e.TransientErrorRetry)[0].delay_seconds == 37.0
        await world.clock.advance(36.999)
        assert world.supervisor.core.row("t").state == "backoff"
        await world.clock.advance(0.001)
        await world.until(lambda: world.supervisor.core.row("t").attempts == 2)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_stopping_ends_a_back_off(opening: Opening) -> None:
    """A person who stops the run does not wait for a wait."""
    async with opening() as world:
        working = world.supervise(refused())
        await backed_off(world, 1)
        await world.supervisor.stop("enough")
        assert (await asyncio.wait_for(working, PATIENCE)).status == "cancelled"


class Ending:
    """An agent whose process has ended and whose report is still to come."""

    can = Capabilities(stop=True, fresh=True)

    def __init__(self) -> None:
        self.ended, self.finish = asyncio.Event(), asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
        await observer.spawned(process.pid, psutil.Process(process.pid).create_time())
        await process.communicate(b"")
        self.ended.set()
        await self.finish.wait()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        self.finish.set()
        return Receipt()


async def test_an_ended_agent_runs_out_of_no_time(opening: Opening) -> None:
    """While the rest of its output is cleaned and written, neither limit asks, stops or counts against it."""
    agent = Ending()
    async with opening() as world:
        working = world.supervise(agent)
        await asyncio.wait_for(agent.ended.wait(), PATIENCE)
        await world.clock.advance(1_000)
        agent.finish.set()
        assert (await working).attempts == 1
        assert world.of(e.AgentTimeout) == []
        assert world.of(e.StopRequested) == []
