"""The process that forks helpers: a gain of time, on which no agent's life and no promise depends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.processes.conftest import Lab

from unstuck.processes import is_ours, until_over
from unstuck.processes.orphans import is_over
from unstuck.processes.shim.process_table import FORKS

SUPERVISOR = """
import asyncio, os, sys
from pathlib import Path
import psutil
from unstuck.processes import Launch, Process, clean_environment

async def main():
    here, environment = Path(), clean_environment(os.environ)
    launch = Launch(command=("sleep", "1000"), cwd=here, environment=environment, output=here / "output")
    process = await Process.start(launch)
    print(psutil.Process(process.pid).parents()[1].pid, flush=True)
    sys.stdin.readline()
    await process.stop(interrupt=0, terminate=0)

asyncio.run(main())
if "copied" in sys.argv:
    copy = os.fork()
    asyncio.run(main())
    if copy:
        os.waitpid(copy, 0)
        asyncio.run(main())
"""


def forks_of(pid: int) -> psutil.Process:
    """The process that forks the helpers of the supervisor ``pid``."""
    (found,) = [child for child in psutil.Process(pid).children() if child.name() == FORKS]
    return found


def helper_of(process: Any) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


async def test_each_helper_is_alone_in_its_session(lab: Lab) -> None:
    """Two agents at once: their helpers come from one process, and no signal to one's group reaches anybody else."""
    one, two = await asyncio.gather(lab.shell("sleep 1000"), lab.shell("sleep 1000"))
    helpers = {helper_of(one), helper_of(two)}
    forks = forks_of(os.getpid())
    assert {helper.ppid() for helper in helpers} == {forks.pid}
    assert len({os.getpgid(each.pid) for each in (*helpers, forks)}) == 3
    assert {os.getsid(helper.pid) for helper in helpers} == {helper.pid for helper in helpers}


async def test_a_helper_has_nothing_of_the_others(lab: Lab) -> None:
    """A helper holds no pipe of another's: each hears at once when its own supervisor hangs up."""
    await lab.shell("sleep 1000")
    first, second = [helper_of(await lab.shell("sleep 1000")) for _ in range(2)]
    pipes = [
        {os.readlink(entry) for entry in Path(f"/proc/{each.pid}/fd").iterdir()} - {"/dev/null"}
        for each in (first, second)
    ]
    assert not {pipe for pipe in pipes[0] & pipes[1] if pipe.startswith(("pipe:", "socket:"))}
    assert not [pipe for pipe in pipes[1] if pipe.startswith("socket:")]


async def test_it_may_be_killed_at_any_time(lab: Lab) -> None:
    """Killed by an agent: who works goes on, is still known as ours and stopped in order; the next start succeeds."""
    running = await lab.shell("sleep 1000 & echo $!; wait")
    grandchild = int(await lab.hears("\n"))
    forks_of(os.getpid()).kill()
    after = await lab.shell("exit 4")
    assert (await after.wait()).code == 4
    assert is_ours(grandchild)
    assert not is_ours(os.getpid())
    receipt = await running.stop(interrupt=0, terminate=1)
    assert {running.pid, grandchild} <= {pid for pid, _, _ in receipt.ended}
    again = await lab.shell("exit 5")
    assert (await again.wait()).code == 5
    assert forks_of(os.getpid()).is_running()


async def test_it_may_be_stopped(lab: Lab) -> None:
    """Stopped by an agent (SIGSTOP), it is woken by the next start."""
    await (await lab.shell("true")).wait()
    forks = forks_of(os.getpid())
    forks.suspend()
    while forks.status() != psutil.STATUS_STOPPED:
        await lab.turn()
    assert (await (await lab.shell("exit 6")).wait()).code == 6
    assert forks_of(os.getpid()) == forks


async def test_it_is_not_taken_for_a_helper(lab: Lab) -> None:
    """Clearing up behind a helper that was killed ends the agent's family, and not what forks the other helpers."""
    process = await lab.shell("sleep 1000 & wait")
    forks = forks_of(os.getpid())
    helper_of(process).kill()
    assert (await process.wait()).signal == signal.SIGKILL
    assert forks_of(os.getpid()) == forks


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts supervisors in processes of their own."""
    started = list[subprocess.Popen[str]]()

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-c", SUPERVISOR, *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, cwd=tmp_path, text=True, **pipes))  # type: ignore[call-overload]
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("killed", [False, True])
async def test_nothing_stays_behind_a_supervisor(
    supervised: Callable[..., subprocess.Popen[str]], killed: bool
) -> None:
    """Whether it ends or is killed: its helpers, and what forks them, end with it."""
    supervisor = supervised()
    supervisor.stdout.readline()
    family = psutil.Process(supervisor.pid).children(recursive=True)
    assert len(family) == 3
    if killed:
        supervisor.kill()
    said = await asyncio.to_thread(supervisor.communicate, "\n")
    assert said[1] == ""
    for process in family:
        assert await until_over(process.pid, partial(is_over, process), 30)


async def test_a_copy_of_a_supervisor_gets_its_own(supervised: Callable[..., subprocess.Popen[str]]) -> None:
    """A program that forks itself: both start agents, and the end of the copy takes nothing from the parent."""
    supervisor = supervised("copied")
    first = supervisor.stdout.readline()
    said, errors = await asyncio.to_thread(supervisor.communicate, "\n" * 4)
    assert supervisor.returncode == 0
    assert errors == ""
    *both, last = said.splitlines(keepends=True)
    assert first == last
    assert [forks == first for forks in sorted(both, key=first.__ne__)] == [True, False]
