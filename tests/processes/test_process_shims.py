"""The small process beside each agent: alone in its session, and gone with its supervisor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.processes.conftest import Lab
from tests.waiting import become

from unstuck.processes import agent_sign, until_over
from unstuck.processes.orphans import is_over

SUPERVISOR = """
import asyncio, os, sys
from pathlib import Path
import psutil
from unstuck.processes import Launch, Process, clean_environment

async def main():
    here, environment = Path(), clean_environment(os.environ)
    launch = Launch(command=("sleep", "1000"), cwd=here, environment=environment, output=here / "output")
    process = await Process.start(launch)
    os.write(1, b"%a\\n" % (psutil.Process(process.pid).parents()[1].pid == os.getpid()))
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


def helper_of(process: Any) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


async def test_each_helper_is_alone_in_its_session(lab: Lab) -> None:
    """Two agents at once: no signal to the group of one's helper reaches the other, or the supervisor."""
    one, two = await asyncio.gather(lab.shell("sleep 1000"), lab.shell("sleep 1000"))
    helpers = {helper_of(one), helper_of(two)}
    assert {helper.ppid() for helper in helpers} == {os.getpid()}
    assert len({os.getpgid(each.pid) for each in helpers} | {os.getpgrp()}) == 3
    assert {os.getsid(helper.pid) for helper in helpers} == {helper.pid for helper in helpers}


async def test_whose_process_it_is(lab: Lab) -> None:
    """Children of an agent are known as ours, and the supervisor itself is not."""
    await lab.shell("sleep 1000 & echo $!; wait")
    assert agent_sign(int(await lab.hears("\n")))
    assert not agent_sign(os.getpid())


async def test_a_page_beside_a_run_knows_what_an_agent_has_left_behind(lab: Lab) -> None:
    """It has gone from its parent, its session and its environment: it is an agent's all the same."""
    agent = await lab.shell("(env -i setsid sleep 1000 & echo $!); exec sleep 1001")
    orphan = psutil.Process(int(await lab.hears("\n")))
    await become(lambda: orphan.ppid() == helper_of(agent).pid and not orphan.environ())
    identity = agent.pid, psutil.Process(agent.pid).create_time()
    look = (
        "from unstuck.processes import agent_sign, mark_of; import os;"
        f"print(*[bool(sign(pid)) for pid in ({orphan.pid}, os.getpid())"
        f" for sign in (lambda pid: agent_sign(pid, [{identity}]), mark_of)])"
    )
    beside = await asyncio.to_thread(subprocess.check_output, [sys.executable, "-c", look], text=True)
    assert beside.split() == ["True", "True", "False", "False"]


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
    """Agents and their helpers end with the supervisor, whether it ends or is killed."""
    supervisor = supervised()
    supervisor.stdout.readline()
    family = psutil.Process(supervisor.pid).children(recursive=True)
    assert len(family) == 2
    if killed:
        supervisor.kill()
    said = await asyncio.to_thread(supervisor.communicate, "\n")
    assert said[1] == ""
    for process in family:
        assert await until_over(process.pid, partial(is_over, process), 30)


async def test_a_copy_of_a_supervisor(supervised: Callable[..., subprocess.Popen[str]]) -> None:
    """A program that forks itself: both start agents of their own, and the end of the copy takes nothing away."""
    supervisor = supervised("copied")
    first = supervisor.stdout.readline()
    said, errors = await asyncio.to_thread(supervisor.communicate, "\n" * 4)
    assert supervisor.returncode == 0
    assert errors == ""
    assert [first, *said.splitlines(keepends=True)] == ["True\n"] * 4
