"""The idle clock, end to end: real programs that hang, work in silence, pause and are stopped; time is the test's."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Agent, Capabilities, Observation, Observer, Receipt
from unstuck.eventlog import events as e
from unstuck.processes import sample
from unstuck.settings.models import Settings

PATIENCE = 60
IDLE = 600.0


class Overheard(CommandAgent):
    """A program of which the test knows when the supervisor has heard it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.heard = asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        see = observer.see

        def overhear(observation: Observation) -> None:
            see(observation)
            self.heard.set()

        observer.see = overhear  # type: ignore[method-assign]
        return await super().attempt(task, guidance, observer)


class World:
    """A supervisor at work, what it records, and a clock that stands still."""

    def __init__(self, supervisor: Supervisor, clock: ManualClock, record: Any) -> None:
        self.supervisor, self.clock, self.record = supervisor, clock, record
        self.of, self.until, self.asked = record.of, record.until, record.asked
        self.working: asyncio.Future[Any] | None = None

    async def until_there(self, seen: Callable[[], object]) -> None:
        """Another process gets there by itself; it is looked at now and then, for it needs the processor more."""
        async with asyncio.timeout(PATIENCE):
            while not seen():
                await asyncio.sleep(0.01)

    def begin(self, agent: Agent, **fields: Any) -> None:
        task = Task(id="t", prompt=admit("Do it"), **{"idle_s": IDLE, "timeout_s": 100_000.0, **fields})
        self.working = asyncio.ensure_future(self.supervisor.supervise(task, agent))

    def command(self, script: str) -> Overheard:
        core = self.supervisor.core
        spec = CommandSpec(command=("sh", "-c", script))
        return Overheard(spec, folder=core.folder, environ=os.environ, limit=100_000, prompt_limit=10_000)

    async def spawned(self, script: str, **fields: Any) -> e.AgentSpawned:
        """Begin with a program that writes ``ready`` and no more; return once that was heard."""
        agent = self.command(script)
        self.begin(agent, **fields)
        await asyncio.wait_for(agent.heard.wait(), PATIENCE)
        spawned: e.AgentSpawned = self.of(e.AgentSpawned)[0]
        return spawned

    async def pass_silently(self, limit: float = IDLE) -> None:
        """Half of the limit, the first look at the agent, and then the other half."""
        began = self.clock.monotonic()
        await self.clock.advance(limit / 2)
        async with asyncio.timeout(PATIENCE):
            await self.clock.slept_until(began + limit * 0.8)
        await self.clock.advance(limit / 2)

    async def counted_anew(self) -> None:
        """The second look, which a thread takes, is over, and the silence is counted from this moment on."""
        async with asyncio.timeout(PATIENCE):
            await self.clock.slept_until(self.clock.monotonic() + IDLE / 2)


@pytest.fixture
async def world(repo: Path, clock: ManualClock, records: type[Records]) -> AsyncIterator[World]:
    async with opened(repo, clock, records, person=True) as world:
        yield world


@asynccontextmanager
async def opened(repo: Path, clock: ManualClock, records: Any, **options: Any) -> AsyncIterator[World]:
    async with Supervisor.open(repo, clock=clock, **options) as supervisor:
        world = World(supervisor, clock, records(supervisor))
        try:
            yield world
        finally:
            if world.working is not None:
                world.working.cancel()
                await asyncio.gather(world.working, return_exceptions=True)


HANG = "echo ready; exec sleep 1000"


async def test_a_hanging_agent_is_stopped_and_dispatched_again_with_nobody_there(
    repo: Path, clock: ManualClock, records: type[Records]
) -> None:
    """Alive, silent, changing nothing: at the limit it is STALLED, stopped with a receipt, and given out again."""
    async with opened(repo, clock, records, settings=Settings(task_failure_limit=1)) as world:
        agent = await world.spawned(HANG)
        await world.pass_silently()
        await world.until(lambda: world.of(e.StopReceipt))
        (timeout,) = world.of(e.AgentTimeout)
        assert timeout.clock == "idle"
        assert timeout.verdict == "STALLED"
        assert timeout.limit_s == IDLE
        assert timeout.signals[0] == "1 process alive"
        assert timeout.last_sign.endswith("600 s ago")
        (receipt,) = world.of(e.StopReceipt)
        assert [pid for pid, _, _ in receipt.ended] == [agent.pid]
        gate = await world.asked()
        assert gate.gate.type == "stuck"
        assert "agent_timeout" in gate.gate.context["analysis"]
        assert gate.gate.context["problem"] == "the agent showed no activity"


async def test_who_is_asked_is_told_what_was_seen(world: World) -> None:
    """The question names the clock, the verdict, its signals and the last sign of life; the agent stands still."""
    agent = await world.spawned(HANG)
    await world.pass_silently()
    row = await world.asked()
    context = row.gate.context
    assert row.gate.type == "timeout"
    assert row.gate.key == "idle"
    assert row.gate.attempt == "t.1"
    assert context["timeout_type"] == "idle_timeout"
    assert context["clock"] == "idle"
    assert context["verdict"] == "STALLED"
    assert context["timeout_seconds"] == context["silent_seconds"] == IDLE
    assert context["signals"][-1] == "no file changed"
    process = psutil.Process(agent.pid)
    await world.until_there(lambda: process.status() == psutil.STATUS_STOPPED)
    await world.clock.advance(50_000)
    assert len(world.of(e.AgentTimeout)) == 1
    await world.supervisor.answer(row.id, Answer(choice="extend", number=60.0))
    await world.until_there(lambda: process.status() == psutil.STATUS_SLEEPING)
    await world.pass_silently(60.0)
    again = await world.asked()
    assert len(world.of(e.AgentTimeout)) == 2
    assert again.gate.context["elapsed_seconds"] == IDLE + 60
    await world.supervisor.answer(again.id, Answer(choice="stop"))
    await world.until(lambda: world.of(e.AgentFailure))
    assert not process.is_running()
    assert len(world.of(e.AgentFailure)) == 1


async def test_let_it_run_switches_the_idle_clock_off(world: World) -> None:
    """After *let it run* nobody is asked about this attempt's silence again."""
    await world.spawned(HANG)
    await world.pass_silently()
    row = await world.asked()
    await world.supervisor.answer(row.id, Answer(choice="continue"))
    await world.clock.advance(50 * IDLE)
    assert len(world.of(e.AgentTimeout)) == 1
    assert world.clock.sleepers == 1, "only the limit of the whole attempt is left"


BUSY = """
echo ready
while [ ! -e go ]; do sleep 0.01; done
%s
touch worked
exec sleep 1000
"""


@pytest.mark.parametrize(
    ("work", "sign"),
    [
        ("setsid sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'", "CPU"),
        ("echo x > result.txt", "files changed"),
    ],
)
async def test_busy_without_a_word_is_active_and_never_asked_about(world: World, work: str, sign: str) -> None:
    """An agent whose child burns the processor, or that writes a file, is let alone, and the reason names the sign."""
    # The limit is short, so that a second or so of real work is much of it.
    await world.spawned(BUSY % work, idle_s=20.0)
    began = world.clock.monotonic()
    await world.clock.advance(10)
    await asyncio.wait_for(world.clock.slept_until(began + 16), PATIENCE)
    tree = world.supervisor.project.root
    (tree / "go").touch()
    await world.until_there((tree / "worked").exists)
    await world.clock.advance(10)
    await world.until(lambda: world.of(e.LivenessJudged))
    (judged,) = world.of(e.LivenessJudged)
    assert judged.verdict == "ACTIVE", judged.signals
    assert any(signal.startswith(sign) for signal in judged.signals)
    assert world.of(e.AgentTimeout) == []
    assert world.supervisor.core.head.open_gates() == ()


async def test_a_pause_shorter_than_the_limit_interrupts_nothing_and_is_on_record(world: World) -> None:
    """400 seconds of silence, then it goes on: nothing is asked or stopped, and the pause is on record."""
    await world.spawned("echo ready; while [ ! -e go ]; do sleep 0.01; done; echo on; exec sleep 1000")
    await world.clock.advance(300)
    await world.until(lambda: world.of(e.SilenceNoticed))
    await world.clock.advance(100)
    (world.supervisor.project.root / "go").touch()
    await world.until(lambda: world.of(e.SilenceEnded))
    assert [noticed.seconds for noticed in world.of(e.SilenceNoticed)] == [300.0]
    (ended,) = world.of(e.SilenceEnded)
    assert ended.seconds == 400.0
    assert ended.sign == "output"
    await world.clock.advance(250)
    assert world.of(e.AgentTimeout) == []
    assert world.of(e.StopRequested) == []


async def test_an_agent_that_somebody_stopped_is_waiting(world: World) -> None:
    """I stop an agent with SIGSTOP to look at it: it is WAITING, and is not asked about or ended."""
    agent = await world.spawned(HANG)
    os.kill(agent.pid, signal.SIGSTOP)
    await world.until_there(lambda: sample(agent.pid, agent.start).stopped)  # type: ignore[union-attr]
    await world.pass_silently()
    await world.until(lambda: world.of(e.LivenessJudged))
    assert [judged.verdict for judged in world.of(e.LivenessJudged)] == ["WAITING"]
    assert world.of(e.AgentTimeout) == []


ASKS = (
    "exec {python} -IS -c \"import socket; s = socket.create_connection(('127.0.0.1', {port})); "
    "print('ready', flush=True); s.recv(1)\""
)


async def test_one_that_waits_for_its_model_has_longer_but_not_for_ever(world: World) -> None:
    """A program with an open connection and not a byte on it is WAITING, and says for whom; three limits are enough."""
    with socket.create_server(("127.0.0.1", 0)) as model:
        port = model.getsockname()[1]
        await world.spawned(ASKS.format(python=sys.executable, port=port))
        for _ in range(2):
            await world.pass_silently()
            # It was looked into, and is counted anew.
            await asyncio.wait_for(world.clock.slept_until(world.clock.monotonic() + IDLE / 2), PATIENCE)
        (judged,) = world.of(e.LivenessJudged)
        assert judged.verdict == "WAITING"
        assert judged.signals[0] == f"an open connection to 127.0.0.1:{port}"
        assert world.of(e.AgentTimeout) == []
        await world.pass_silently()
        await world.until(lambda: world.of(e.AgentTimeout))
        stalled = world.of(e.AgentTimeout)[0]
        assert stalled.verdict == "STALLED"
        assert stalled.signals[0] == "nothing came in 3 times its limit"
        assert f"an open connection to 127.0.0.1:{port}" in stalled.signals


async def test_a_connection_within_the_family_waits_for_nobody(world: World) -> None:
    """An agent and a child of its own that wait for each other are stalled: nobody else has anything to say to them."""
    pair = (
        "import os, socket; s = socket.create_server(('127.0.0.1', 0)); p = os.fork(); "
        "c = s.accept()[0] if p else socket.create_connection(s.getsockname()); "
        "p and print('ready', flush=True); c.recv(1)"
    )
    await world.spawned(f'exec {sys.executable} -IS -c "{pair}"')
    await world.pass_silently()
    await world.until(lambda: world.of(e.AgentTimeout))
    assert world.of(e.AgentTimeout)[0].verdict == "STALLED"


class Speaking:
    """An agent without a process that reports what the test has it report."""

    can = Capabilities(stop=True)

    def __init__(self) -> None:
        self.observer: asyncio.Future[Observer] = asyncio.get_running_loop().create_future()
        self.finish = asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        self.observer.set_result(observer)
        await self.finish.wait()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        self.finish.set()
        return Receipt(ended=((1, 1.0, "interrupted"),))


async def test_without_a_process_it_is_unknown_and_left_alone(world: World) -> None:
    """A silent coroutine cannot be looked at: it is UNKNOWN, said once, and only the time limit asks about it."""
    agent = Speaking()
    world.begin(agent)
    await asyncio.wait_for(agent.observer, PATIENCE)
    await world.pass_silently()
    await world.until(lambda: world.of(e.LivenessJudged))
    for _ in range(2):
        await world.pass_silently()
        await world.counted_anew()
    assert [judged.verdict for judged in world.of(e.LivenessJudged)] == ["UNKNOWN"]
    assert len(world.of(e.SilenceNoticed)) == 1
    assert len(world.of(e.TimeoutWarned)) == 1
    assert world.of(e.AgentTimeout) == []


@pytest.mark.parametrize("kind", ["alive", "message", "action"])
async def test_whatever_it_reports_is_a_sign_of_life(world: World, kind: Any) -> None:
    """An agent that reports now and then is never looked into, and what only says that it lives is no step."""
    agent = Speaking()
    world.begin(agent)
    observer = await asyncio.wait_for(agent.observer, PATIENCE)
    for number in range(10):
        await world.clock.advance(IDLE * 0.49)
        observer.see(Observation(kind=kind, text=admit(f"step {number}")))
    assert world.of(e.SilenceNoticed) == []
    assert len(world.of(e.StepRecorded)) == (0 if kind == "alive" else 10)


async def test_a_supervisor_that_stood_still_calls_nobody_stalled(world: World) -> None:
    """An agent's silence is UNKNOWN, and counted from the start, if the supervisor itself was stopped for an hour."""
    await world.spawned(HANG)
    await world.clock.advance(IDLE / 2)
    await world.until(lambda: world.of(e.SilenceNoticed))
    await world.clock.advance(IDLE * 0.3)
    world.clock.jump(3_600)
    await world.clock.advance(0)
    await world.until(lambda: world.of(e.LivenessJudged))
    (judged,) = world.of(e.LivenessJudged)
    assert judged.verdict == "UNKNOWN"
    assert judged.signals == ("the supervisor itself stood still for 3480 s",)
    assert world.of(e.AgentTimeout) == []
