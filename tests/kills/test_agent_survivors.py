"""The supervisor is killed while its agent works: never two at work in one tree, and nobody else is harmed."""

from __future__ import annotations

import asyncio
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from unstuck.clock import SystemClock
from unstuck.contract import Guidance, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME, Journal
from unstuck.eventlog.log.records import read_records, replay
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

SCRIPT = Path(__file__).with_name("scripted_agent.py")
PATIENCE = 60


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Directory in which the agent notes its work."""
    folder = tmp_path / "outside"
    folder.mkdir()
    os.mkfifo(folder / "started")
    os.mkfifo(folder / "never")
    return folder


@pytest.mark.parametrize("with_the_shim", [False, True])
def test_an_agent_never_works_beside_its_successor(
    repo: Path,
    outside: Path,
    start: Callable[..., subprocess.Popen[bytes]],
    with_the_shim: bool,
    deaf_survivors_ended_soon: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kill -9 the supervisor (and the helper that would end what is left, too): the resumed run works alone."""
    supervisor = start(SCRIPT, repo, outside, program=sys.executable)
    assert (outside / "started").read_text() == "started"
    agent = psutil.Process(int((outside / "pid").read_text()))
    victims = [supervisor.pid, agent.ppid()] if with_the_shim else [supervisor.pid]
    for victim in victims:
        os.kill(victim, signal.SIGSTOP)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    supervisor.wait(PATIENCE)
    run = next((repo / ".git" / "unstuck" / "runs").iterdir())
    asyncio.run(asyncio.wait_for(runpy.run_path(str(SCRIPT))["work"](repo, outside, run.name), PATIENCE))
    assert capsys.readouterr().out == "succeeded\n"
    assert (outside / "seen").read_text() == "alone"
    assert not agent.is_running() or agent.status() == psutil.STATUS_ZOMBIE
    records = list(read_records(run / LOG_NAME))
    assert [record.attempt for record in records if record.name == "attempt_interrupted"] == ["only.1"]
    # Also what the helper has ended while nobody was there to hear of it is listed.
    (receipt,) = [record.event for record in records if isinstance(record.event, e.StopReceipt)]
    assert agent.pid in [ended[0] for ended in receipt.ended]
    assert receipt.alive == ()


async def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path: Path) -> None:
    """The log names a process that is long gone; whoever got its number since is not touched."""
    project = tmp_path / "project"
    project.mkdir()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        folder = project / ".unstuck" / "runs" / "r1"
        journal = await Journal.open(folder, run="r1", clock=SystemClock())
        journal.append(e.RunStarted(project="p"))
        journal.append(e.TaskAdded(work=Task(id="t", prompt=Clean("Work."))), task="t")
        guidance = Guidance(attempt="t.1", number=1, level="first", text=Clean("Work."), workdir=project)
        journal.append(e.AttemptStarted(guidance=guidance), task="t", attempt="t.1")
        journal.append(e.AgentSpawned(pid=stranger.pid, start=time.time() - 3_600), task="t", attempt="t.1")
        await journal.close()
        async with Supervisor.open(project, resume="r1"):
            assert stranger.poll() is None
        assert replay(folder / LOG_NAME).tasks["t"].state == "interrupted"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.communicate()
