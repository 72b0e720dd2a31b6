"""A stop takes effect at any moment: while an agent starts, during its setup, and during a check."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck import Guidance, Report, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Capabilities, Observer, Receipt
from unstuck.errors import RecordWriteFailed
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import Event
from unstuck.processes import is_alive

PATIENCE = 30
FOR_EVER = "sleep 600"


def task(**fields: Any) -> Task:
    return Task(id="web", prompt=admit("Make the shop work"), **fields)


def command_agent(supervisor: Supervisor, script: str) -> CommandAgent:
    return CommandAgent(
        CommandSpec(command=("sh", "-c", script)),
        folder=supervisor.core.folder,
        environ=dict(os.environ),
        limit=1_000_000,
        prompt_limit=100_000,
    )


def stop_at(supervisor: Supervisor, event: type[Event]) -> list[Record]:
    """Stop the run in the very moment in which ``event`` is recorded; gives what was recorded."""
    seen: list[Record] = []

    def on_append(record: Record) -> None:
        if isinstance(record.event, event) and not seen:
            seen.append(record)
            supervisor.core.append(e.StopRequested(reason="test"), actor="human")

    supervisor.core.journal.on_append(on_append)
    return seen


def pipe(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("moment", [e.AttemptStarted, e.AgentSpawned])
async def test_a_stop_reaches_an_agent_that_is_being_started(repo: Path, moment: type[Event]) -> None:
    """Ctrl+C in the moment in which my agent starts ends it too, and its receipt names what was there by then."""
    async with Supervisor.open(repo) as supervisor:
        stop_at(supervisor, moment)
        ended: list[tuple[int, float]] = []
        supervisor.core.journal.on_append(
            lambda record: (
                ended.extend((pid, start) for pid, start, _ in record.event.ended)
                if isinstance(record.event, e.StopReceipt)
                else None
            )
        )
        spawned: list[e.AgentSpawned] = []
        supervisor.core.journal.on_append(
            lambda record: spawned.append(record.event) if isinstance(record.event, e.AgentSpawned) else None
        )
        async with asyncio.timeout(PATIENCE):
            outcome = await supervisor.supervise(task(), command_agent(supervisor, f"echo begun > begun; {FOR_EVER}"))
        assert outcome.status == "cancelled"
        assert supervisor.core.row("web").state == "interrupted"
        assert not any(is_alive(one.pid, one.start) for one in spawned)
        # One that had begun by then may have started something of its own.
        assert {(one.pid, one.start) for one in spawned} <= set(ended)
        assert bool(spawned) == bool(ended)


async def test_no_agent_is_started_after_a_stop_during_setup(repo: Path, tmp_path: Path) -> None:
    """Ctrl+C while my plan's setup runs ends the setup, and no agent is started afterwards."""
    door = pipe(tmp_path)
    async with Supervisor.open(repo) as supervisor:
        core = supervisor.core
        core.setup = f": > {door}; {FOR_EVER}"
        assert core.worktrees is not None
        await core.worktrees.prepare()
        agent = command_agent(supervisor, f"touch {tmp_path}/begun")
        async with asyncio.timeout(PATIENCE):
            work = asyncio.ensure_future(supervisor.supervise(task(isolation="worktree"), agent))
            await asyncio.to_thread(door.read_bytes)
            await supervisor.stop("test")
            outcome = await work
    assert outcome.status == "cancelled"
    assert not (tmp_path / "begun").exists()


async def test_a_stop_ends_a_check_that_runs(repo: Path, tmp_path: Path) -> None:
    """Ctrl+C does not wait for my slow test suite: its processes are ended, and a resumed run checks again."""
    door = pipe(tmp_path)

    async def agent(guidance: Guidance) -> Report | None:
        (guidance.workdir / "done.txt").write_text("done")
        return None

    waits = f"{{ echo $$ > {tmp_path}/pid; : > {door}; {FOR_EVER}; }}"
    slow = f"test -e done.txt || exit 1; test -e {tmp_path}/quick || {waits}"
    async with Supervisor.open(repo) as supervisor:
        run = supervisor.run
        async with asyncio.timeout(PATIENCE):
            work = asyncio.ensure_future(supervisor.supervise(task(verify=slow), agent))
            await asyncio.to_thread(door.read_bytes)
            await supervisor.stop("test")
            outcome = await work
        assert outcome.status == "cancelled"
        assert supervisor.core.row("web").state == "judging"
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    (tmp_path / "quick").touch()
    async with Supervisor.open(repo, resume=run) as supervisor:
        outcome = await supervisor.supervise(task(verify=slow), agent)
    assert outcome.status == "succeeded"
    assert outcome.attempts == 1


async def test_no_agent_outlives_a_record_that_cannot_be_written(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk refuses the record in the middle of an attempt, the error reaches me and my agent has ended."""
    ended = asyncio.Event()

    def refuse(body: bytes) -> int:
        raise RecordWriteFailed("the disk is full")

    with monkeypatch.context() as patch:
        async with Supervisor.open(repo) as supervisor:

            async def agent(guidance: Guidance) -> Report | None:
                patch.setattr(supervisor.core.journal._writer, "append", refuse)
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.set()
                return None

            async with asyncio.timeout(PATIENCE):
                with pytest.raises(RecordWriteFailed):
                    await supervisor.supervise(task(timeout_s=0.01), agent)
            assert ended.is_set()


class Slow:
    """An agent that is told to stop and takes its time to say that it has."""

    can = Capabilities(stop=True)

    def __init__(self) -> None:
        self.begun, self.told, self.leave = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        self.begun.set()
        await self.leave.wait()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        self.told.set()
        return Receipt(ended=((1, 1.0, "killed"),))


async def test_time_that_runs_out_while_it_is_stopped_asks_nothing(repo: Path, clock: ManualClock) -> None:
    """An agent that I have stopped and that takes long to end is not asked about as well when its time is up."""
    agent = Slow()
    async with Supervisor.open(repo, clock=clock, person=True) as supervisor, asyncio.timeout(PATIENCE):
        work = asyncio.ensure_future(supervisor.supervise(task(timeout_s=10), agent))
        await agent.begun.wait()
        await supervisor.stop("test")
        await agent.told.wait()
        await clock.advance(60)
        agent.leave.set()
        outcome = await work
        assert outcome.status == "cancelled"
        assert not supervisor.core.head.gates


async def test_what_an_agents_adapter_says_is_admitted(repo: Path) -> None:
    """An adapter of mine passes on what its agent said, escapes, a secret and broken text; none of it gets far."""
    secret = "ghp_" + "a1B2" * 9
    said: Any = f"ValueError: \x1b]0;owned\x07 \udce9 {secret}"
    told: list[str] = []

    async def agent(guidance: Guidance) -> Report | None:
        told.append(guidance.text)
        return Report(error=said, approach=said, session=said, options=(said,)) if len(told) == 1 else None

    async with Supervisor.open(repo) as supervisor:
        outcome = await supervisor.supervise(task(), agent)
        report = supervisor.core.head.attempts["web.1"].report
        folder = supervisor.core.folder
    assert outcome.status == "unverified"
    assert report is not None
    for text in (report.error, report.approach, report.session, *report.options, told[1]):
        assert text
        assert "ValueError" in text
        assert text.replace("\n", "").isprintable()
        assert secret not in text
    assert secret not in (folder / "events.jsonl").read_text()
    assert (folder / "state.json").exists()
