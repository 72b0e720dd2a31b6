"""The supervisor is killed and its agent is not: the next start asks, or does as it was told beforehand."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from unstuck import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.eventlog.log.records import read_records, replay
from unstuck.runs.run import RunOptions, resume_run
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.workspace.project import locate

AGENT = Path(__file__).with_name("freed_agent.py")
PATIENCE = 60
VERIFY = "test -f result.txt"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Directory in which the agent notes its work, and is told to end."""
    folder = tmp_path / "outside"
    folder.mkdir()
    os.mkfifo(folder / "started")
    return folder


@pytest.fixture
def survivor(repo: Path, outside: Path, start: Callable[..., subprocess.Popen[bytes]]) -> Iterator[psutil.Process]:
    """An agent at work whose supervisor and helper were killed."""
    agent_command = (sys.executable, str(AGENT), str(outside))
    command = ("run", "--headless", "--task", "Work.", "--verify", VERIFY, "--", *agent_command)
    supervisor = start(*command, cwd=repo, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert (outside / "started").read_text() == "started"
    agent = psutil.Process(int((outside / "pid").read_text()))
    helper = agent.parent()
    assert helper is not None
    for victim in (supervisor.pid, helper.pid):
        os.kill(victim, signal.SIGSTOP)
    for victim in (supervisor.pid, helper.pid):
        os.kill(victim, signal.SIGKILL)
    supervisor.wait(PATIENCE)
    assert agent.is_running()
    yield agent
    if agent.is_running():
        agent.kill()


def log_of(repo: Path) -> Path:
    """The record of the only run."""
    (run,) = (repo / ".git" / "unstuck" / "runs").iterdir()
    return run / LOG_NAME


def events_of(log: Path, kind: type[Any]) -> list[Any]:
    """The events of this kind."""
    return [record.event for record in read_records(log) if isinstance(record.event, kind)]


def is_gone(process: psutil.Process) -> bool:
    """Return whether it has ended."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_headless_a_survivor_is_stopped_with_a_receipt(
    repo: Path, outside: Path, survivor: psutil.Process, inside: Callable[..., tuple[int, str, str]]
) -> None:
    """With nobody to ask the agent is ended, listed, and its attempt begins anew; so the settings say by default."""
    code, out, errors = inside(repo, "run", "--headless", "--resume", "last")
    assert code == 0, out + errors
    assert is_gone(survivor)
    assert (outside / "second").exists()
    (receipt,) = events_of(log_of(repo), e.StopReceipt)
    assert [(pid, how) for pid, _, how in receipt.ended] == [(survivor.pid, "terminated")]
    assert not events_of(log_of(repo), e.GateOpened)


def test_a_rule_takes_it_over(
    repo: Path, outside: Path, survivor: psutil.Process, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """`answer: adopt`: the very same attempt goes on, and the check judges its end."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("- gate: recovery\n  answer: adopt\n", encoding="utf-8")
    command = ("run", "--json", "--resume", "last", "--answers", rules)
    with start(*command, cwd=repo, stdout=subprocess.PIPE, text=True) as resuming:
        assert resuming.stdout is not None
        assert any('"event":"gate_answered"' in line.replace(" ", "") for line in resuming.stdout)
        (outside / "finish").touch()
        resuming.communicate(timeout=PATIENCE)
    assert resuming.returncode == 0
    assert not (outside / "second").exists()
    assert (repo / "result.txt").read_text() == "first\n"
    state = replay(log_of(repo))
    assert state.tasks["task"].attempts == 1
    assert state.tasks["task"].status == "succeeded"
    (gate,) = state.gates.values()
    assert gate.gate.type == "recovery"
    assert gate.by == "policy"
    assert gate.status == "delivered"
    assert not events_of(log_of(repo), e.AttemptInterrupted)


class Watching:
    """A person at the screen: is asked, and answers as the test says."""

    def __init__(self, decide: Callable[[Supervisor], Any]) -> None:
        self._decide, self.deciding = decide, None

    def attached(self, supervisor: Supervisor) -> Any:
        return self._beside(supervisor)

    def hears(self, name: str) -> bool:
        return False

    def _beside(self, supervisor: Supervisor) -> Any:
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def beside() -> Any:
            deciding = asyncio.ensure_future(self._decide(supervisor))
            yield
            await deciding

        return beside()


@pytest.mark.parametrize("choice", ["adopt", "stop", "skip"])
async def test_a_person_is_asked_and_it_stands_still_meanwhile(
    repo: Path, outside: Path, survivor: psutil.Process, choice: str
) -> None:
    """At the screen the question names the process, which is frozen until I decide; then it does what I chose."""
    seen: list[Any] = []

    async def decide(supervisor: Supervisor) -> None:
        async for record in supervisor.events():
            if isinstance(record.event, e.GateOpened):
                seen.append((record.event, survivor.status()))
                (outside / "finish").touch()
                await supervisor.answer(record.event.gate, Answer(choice=choice))
                return

    place = await locate(repo)
    run = log_of(repo).parent.name
    async with asyncio.timeout(PATIENCE):
        result = await resume_run(run, place, RunOptions(beside=Watching(decide)))
    ((asked, status),) = seen
    assert asked.choices == ("adopt", "stop", "skip", "abandon")
    assert asked.context["problem"].endswith("a process of this attempt is still running")
    named = asked.context["processes"][0]
    assert named.startswith(f"{survivor.pid} ")
    assert "freed_agent.py" in named
    assert "(since 20" in named
    assert asked.standing == "frozen"
    assert status == psutil.STATUS_STOPPED
    assert is_gone(survivor)
    assert result.exit_code == (1 if choice == "skip" else 0)
    receipts = [pid for receipt in events_of(log_of(repo), e.StopReceipt) for pid, _, _ in receipt.ended]
    assert receipts == ([] if choice == "adopt" else [survivor.pid])
    assert (outside / "second").exists() == (choice == "stop")


async def test_one_that_was_taken_over_is_under_the_clock(
    repo: Path, outside: Path, survivor: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken over and hanging, it is stopped at its time limit like any other; its time goes on from its start."""
    log = log_of(repo)
    started = next(record for record in read_records(log) if isinstance(record.event, e.AttemptStarted))
    assert started.event.limit_s == 900

    async def decide(supervisor: Supervisor) -> None:
        async for record in supervisor.events():
            if isinstance(record.event, e.GateOpened) and record.event.type == "recovery":
                row = supervisor.state.attempts["task.1"]
                assert row.deadline is not None
                assert row.deadline == pytest.approx(started.mono + 900)
                await supervisor.answer(record.event.gate, Answer(choice="adopt"))
            if isinstance(record.event, e.GateAnswered):
                await supervisor.stop("enough")
                return

    async with asyncio.timeout(PATIENCE):
        result = await resume_run(log.parent.name, await locate(repo), RunOptions(beside=Watching(decide)))
    assert result.exit_code == 130
    assert is_gone(survivor)
    assert replay(log).attempts["task.1"].state == "interrupted"


async def test_the_recovery_names_it_and_left_undecided_it_works_on(
    repo: Path, outside: Path, survivor: psutil.Process
) -> None:
    """The facts list the process and what can become of it; left undecided it is as it was, and decided later."""
    place, run = await locate(repo), log_of(repo).parent.name
    seen: list[Any] = []

    async def leave(supervisor: Supervisor) -> None:
        assert supervisor.standstill is not None
        await supervisor.standstill.known.wait()
        seen.append((supervisor.standstill.facts.tasks, survivor.status()))
        supervisor.unwatched()

    async with asyncio.timeout(PATIENCE):
        result = await resume_run(run, place, RunOptions(beside=Watching(leave)))
    assert result.exit_code == 3
    assert result.exit_reason == "needs_person"
    (((found,), status),) = seen
    assert [process.pid for process in found.processes] == [survivor.pid]
    assert found.possible == ("skip", "abandon", "adopt", "stop")
    assert "still running" in found.refused["continue"]
    assert status == psutil.STATUS_STOPPED
    assert survivor.is_running()
    assert survivor.status() != psutil.STATUS_STOPPED, "it goes on as it was found"
    assert not events_of(log_of(repo), e.StopReceipt)

    def finish(record: Any) -> None:
        if isinstance(record.event, e.RecoveryDecided):
            (outside / "finish").touch()

    async with asyncio.timeout(PATIENCE):
        taken = await resume_run(run, place, RunOptions(chosen={"task": "adopt"}, listener=finish))
    assert taken.exit_code == 0
    assert (repo / "result.txt").read_text() == "first\n"
    assert not (outside / "second").exists()
