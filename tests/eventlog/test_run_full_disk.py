"""A run whose record has no room: agents stand still, everybody is told, and it goes on or ends in good order."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from tests.conftest import Inside, Start
from tests.eventlog.conftest import Disk
from tests.manual_clock import ManualClock

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Answer, Capabilities, Gate, Observation, Task
from unstuck.errors import RecordWriteFailed
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records, replay
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.finish import RunResult
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

ROOM = 1 << 30
AGENT = 'echo $$ > "{0}/pid"; echo up > "{0}/up"; read word < "{0}/go"; echo done > result.txt'


class Full:
    """A run of one real agent, with a disk that fills up while it works."""

    def __init__(self, supervisor: Supervisor, disk: Disk, clock: ManualClock, outside: Path) -> None:
        self.supervisor, self.disk, self.clock = supervisor, disk, clock
        self._outside = outside
        self.said: list[tuple[str, str]] = []
        self._news = asyncio.Event()
        supervisor.room.notice = self._note
        self.result: asyncio.Future[RunResult] = asyncio.ensure_future(self._run())

    def _note(self, problem: str, gate: str) -> None:
        self.said.append((problem, gate))
        self._news.set()

    async def told(self) -> tuple[str, str]:
        """Return the next words to people."""
        await self._news.wait()
        self._news.clear()
        return self.said[-1]

    def _run(self) -> object:
        core = self.supervisor.core
        command = ("sh", "-c", AGENT.format(shlex.quote(str(self._outside))))
        agent = CommandAgent(
            CommandSpec(command=command), folder=core.folder, environ=os.environ, limit=10_000, prompt_limit=10_000
        )
        task = Task(id="t", prompt=Clean("Work."), verify="grep -q done result.txt", timeout_s=900.0, idle_s=9_000.0)
        self.supervisor.add(task)
        return Coordinator(self.supervisor, lambda task: agent).run()

    async def agent(self) -> psutil.Process:
        """The agent's process, at work."""
        await asyncio.to_thread((self._outside / "up").read_text)
        return psutil.Process(int((self._outside / "pid").read_text()))

    async def fill(self) -> None:
        """Something is to be recorded, and there is no room."""
        self.disk.room = 10
        self.supervisor.core.append(e.StepRecorded(kind="message", text=Clean("hello")), task="t", attempt="t.1")

    async def let_go(self) -> None:
        await asyncio.to_thread((self._outside / "go").write_text, "go\n")


@asynccontextmanager
async def full(
    tmp_path: Path,
    disk: Disk,
    clock: ManualClock,
    *,
    person: bool = True,
    policy: Callable[[Gate], tuple[int, Answer] | None] = lambda gate: None,
    resume: str | None = None,
) -> AsyncIterator[Full]:
    outside, project = tmp_path / "outside", tmp_path / "project"
    for folder in (outside, project):
        folder.mkdir(exist_ok=True)
    for name in ("up", "go"):
        if not (outside / name).exists():
            os.mkfifo(outside / name)
    async with Supervisor.open(
        project, clock=clock, person=person, policy=lambda state: policy, resume=resume
    ) as supervisor:
        yield Full(supervisor, disk, clock, outside)


async def is_(process: psutil.Process, status: str) -> bool:
    """Wait until the kernel says so; what freezes it is a signal from another process."""
    for _ in range(2_000):
        if (process.status() == psutil.STATUS_STOPPED) == (status == psutil.STATUS_STOPPED):
            return True
        await asyncio.sleep(0.005)
    return False


def names(supervisor: Supervisor) -> list[str]:
    return [record.name for record in read_records(supervisor.core.journal.path)]


async def test_agents_stand_still_until_there_is_room(tmp_path: Path, disk: Disk, clock: ManualClock) -> None:
    """The agent is frozen with its clock, people are told at once, and with room the run goes on by itself."""
    async with full(tmp_path, disk, clock) as run:
        agent = await run.agent()
        await run.fill()
        problem, gate = await run.told()
        assert problem == run.supervisor.core.journal.held
        assert problem.endswith("events.jsonl: No space left on device")
        assert await is_(agent, psutil.STATUS_STOPPED)
        assert run.supervisor.core.head.gates[gate].gate.type == "disk"
        assert gate not in run.supervisor.state.gates
        await clock.advance(1_000)
        assert agent.status() == psutil.STATUS_STOPPED
        disk.room = ROOM
        await clock.advance(1)
        assert await run.told() == ("", gate)
        assert await is_(agent, psutil.STATUS_RUNNING)
        await clock.settle()
        assert run.supervisor.core.head.attempts["t.1"].deadline == pytest.approx(clock.monotonic() + 900, abs=2)
        await run.let_go()
        assert (await run.result).exit_code == 0
        said = names(run.supervisor)
    assert "agent_timeout" not in said
    assert said.index("step_recorded") < said.index("gate_opened") < said.index("gate_withdrawn")


async def test_a_frozen_clock_still_runs_out_afterwards(tmp_path: Path, disk: Disk, clock: ManualClock) -> None:
    """The time that was left when the disk filled up is the time that is left when there is room."""
    async with full(tmp_path, disk, clock, person=False) as run:
        await run.agent()
        await clock.advance(800)
        await run.fill()
        await run.told()
        await clock.advance(500)
        disk.room = ROOM
        await clock.advance(1)
        assert (await run.told())[0] == ""
        await clock.advance(90)
        assert "agent_timeout" not in [record.name for record in read_records(run.supervisor.core.journal.path)]
        heard = asyncio.Event()
        run.supervisor.core.journal.on_append(lambda record: heard.set() if record.name == "agent_timeout" else None)
        await clock.advance(20)
        await asyncio.wait_for(heard.wait(), 60)
        await run.supervisor.stop("enough")
        await run.result


async def test_nobody_there_ends_with_what_was_safe(tmp_path: Path, disk: Disk, clock: ManualClock) -> None:
    """A run that nobody watches waits for room as long as it was told, then ends as an unwritable record does."""
    with pytest.raises(RecordWriteFailed, match="No space left") as failed:  # noqa: PT012
        async with full(tmp_path, disk, clock, person=False) as run:
            agent = await run.agent()
            await run.fill()
            await run.told()
            await clock.advance(599)
            assert not run.result.done()
            await clock.advance(2)
            await run.result
    assert failed.value.exit_code == 6
    assert not agent.is_running()
    disk.room = ROOM
    state = replay(run.supervisor.core.journal.path)
    assert state.attempts["t.1"].state == "live"
    assert state.gates == {}
    async with full(tmp_path, disk, clock, resume=run.supervisor.run) as again:
        await again.agent()
        await again.let_go()
        assert (await again.result).exit_code == 0


@pytest.mark.parametrize("how", ["rule", "person", "stop"])
async def test_whoever_gives_up_ends_the_run_at_once(tmp_path: Path, disk: Disk, clock: ManualClock, how: str) -> None:
    """By a rule, by an answer, or by stopping the run: the agent is ended and nothing waits for the disk."""
    rules = {"rule": lambda gate: (0, Answer(choice="abandon")) if gate.type == "disk" else None}
    with pytest.raises(RecordWriteFailed, match="No space left"):  # noqa: PT012
        async with full(tmp_path, disk, clock, policy=rules.get(how, lambda gate: None)) as run:
            agent = await run.agent()
            await run.fill()
            _, gate = await run.told()
            if how == "person":
                await run.supervisor.answer(gate, Answer(choice="abandon"))
            elif how == "stop":
                await run.supervisor.stop("enough")
            await run.result
    assert not agent.is_running()


async def test_too_little_room_is_asked_about_again(tmp_path: Path, disk: Disk, clock: ManualClock) -> None:
    """I say that there is room, and there is too little: I am asked again, and may still give up."""
    with pytest.raises(RecordWriteFailed, match="No space left"):  # noqa: PT012
        async with full(tmp_path, disk, clock) as run:
            await run.agent()
            await run.fill()
            _, first = await run.told()
            await run.supervisor.answer(first, Answer(choice="retry"))
            await clock.advance(2)
            _, second = await run.told()
            assert second != first
            await run.supervisor.answer(second, Answer(choice="abandon"))
            await run.result


async def test_a_run_without_room_for_its_first_record_is_refused(
    tmp_path: Path, disk: Disk, clock: ManualClock
) -> None:
    """There is nothing to wait for yet: one clear line, and nothing was started."""
    disk.room = 0
    with pytest.raises(RecordWriteFailed, match="No space left"):
        async with full(tmp_path, disk, clock):
            raise AssertionError
    assert not (tmp_path / "outside" / "pid").exists()


async def test_a_failed_sync_ends_the_run_though_nobody_waits(tmp_path: Path, disk: Disk, clock: ManualClock) -> None:
    """The agent is at work and only noted: the failure still stops it and is the run's last word."""
    with pytest.raises(RecordWriteFailed, match="Input/output error"):  # noqa: PT012
        async with full(tmp_path, disk, clock) as run:
            agent = await run.agent()
            disk.sync_error = errno.EIO
            run.supervisor.core.append(e.StepRecorded(kind="message"), task="t", attempt="t.1")
            await run.result
    assert not agent.is_running()
    assert run.said == []


async def test_an_agent_that_cannot_be_frozen_takes_no_further_step(
    tmp_path: Path, disk: Disk, clock: ManualClock
) -> None:
    """A held call goes on with the room, or is sent back before its own limit runs out."""
    async with Supervisor.open(tmp_path, clock=clock, person=True) as supervisor:
        session = supervisor.session(Task(id="t", prompt=Clean("Work.")), Capabilities(hold="step"))
        await session.begin()
        heard = asyncio.Event()
        supervisor.room.notice = lambda problem, gate: heard.set()
        disk.room = 0
        call = Observation(kind="action", text=Clean("make"), id="1")
        held = asyncio.ensure_future(session.step(call, within=60))
        await heard.wait()
        second = asyncio.ensure_future(session.step(Observation(kind="action", text=Clean("ls"), id="2"), within=60))
        await clock.advance(30)
        assert not second.done()
        await clock.advance(31)
        assert (await second).kind == "deny"
        third = asyncio.ensure_future(session.step(Observation(kind="action", text=Clean("ls"), id="3"), within=60))
        heard.clear()
        disk.room = ROOM
        await clock.advance(1)
        await heard.wait()
        assert {(await held).kind, (await third).kind} <= {"go_on", "tell", "deny"}
        assert (await third).kind == "go_on"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project on a file system of its own that holds half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", place], capture_output=True).returncode:
        pytest.skip("mounting is not possible here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("wait", ["600", "0.3"])
def test_a_full_file_system_is_said_and_survived(
    small: Path, tmp_path: Path, wait: str, start: Start, inside: Inside
) -> None:
    """A real agent fills the disk of a real run: a line says so; with room it succeeds, without it ends with 6."""
    script = tmp_path / "agent.sh"
    script.write_text("echo done > result.txt; head -c 10M /dev/zero > ballast; exit 0\n")
    # The event about this check is longer than a page, so that what is left of the log's last page never suffices.
    command = ("run", "--headless", "--verify", f"grep -q done result.txt # {'x' * 5_000}", "--", "sh", script)
    environ = os.environ | {"UNSTUCK_DISK_WAIT": wait}
    child = start(*command, cwd=small, env=environ, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True)
    assert child.stdout is not None
    seen = []
    for line in child.stdout:
        seen.append(line)
        if "no space on the disk" in line and wait == "600":
            (small / "ballast").unlink()
            break
    rest, errors = child.communicate(timeout=100)
    if wait == "600":
        assert child.returncode == 0, "".join(seen) + rest
        assert errors == "", "".join(seen) + rest
        assert "the disk has space again" in rest
        assert "the disk has space again" in rest
    else:
        assert child.returncode == 6
        assert "No space left on device" in errors
        (small / "ballast").unlink()
        assert inside(small, "run", "--resume", "last", "--headless")[0] in (0, 6)
