"""Deaths of the others: the supervisor, the shim; and what a later run does about what is left."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from tests.processes.conftest import Lab

from unstuck.processes import end_survivors, is_alive, orphans
from unstuck.processes.shim.process_table import TAG, tagged

SUPERVISOR = """
import asyncio, os, signal, sys
from pathlib import Path
from unstuck.processes import Launch, Process, clean_environment

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def spawned(pid, start):
    print(pid, os.getppid(), flush=True)
    if sys.argv[1] == "before":
        die()

def progress(total, tail):
    if sys.argv[1] == "after":
        print(tail, flush=True)
        die()

async def main():
    here = Path(sys.argv[2])
    script = "touch acted; setsid sleep 1000 & echo left $!; sleep 1000"
    environment = clean_environment(os.environ)
    launch = Launch(command=("sh", "-c", script), cwd=here, environment=environment, output=here / "out")
    process = await Process.start(launch, spawned=spawned, progress=progress)
    if sys.argv[1] == "forget":
        return
    await process.wait()

asyncio.run(main())
"""


def supervise(moment: str, directory: Path) -> list[int]:
    """Run a supervisor that goes away at ``moment``; the processes it had started."""
    command = [sys.executable, "-c", SUPERVISOR, moment, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (0 if moment == "forget" else -signal.SIGKILL), done.stderr
    return [int(number) for number in re.findall(r"^(?:left )?(\d+)", done.stdout, re.MULTILINE)]


def await_death(pid: int) -> None:
    """Wait until a process that is no child of ours has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], 30)[0], f"{pid} is still alive"
    finally:
        os.close(descriptor)


async def test_agents_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    """kill -9 of the supervisor ends its agent and what the agent had started."""
    agent, left = supervise("after", tmp_path)
    await_death(agent)
    await_death(left)
    assert (tmp_path / "acted").exists()


async def test_an_agent_whose_identity_was_not_logged_never_acts(tmp_path: Path) -> None:
    """kill -9 of the supervisor while it logs leaves an agent that has done nothing, and ends."""
    (agent,) = supervise("before", tmp_path)
    await_death(agent)
    assert not (tmp_path / "acted").exists()


async def test_a_loop_that_ends_takes_its_agents_with_it(tmp_path: Path) -> None:
    """A program that forgets to stop its agent and simply ends leaves nothing behind."""
    (agent,) = supervise("forget", tmp_path)
    await_death(agent)


async def test_wait_returns_when_the_shim_is_killed(lab: Lab) -> None:
    """Without its shim an agent is ended together with what left its session, and waiting does not hang."""
    process = await lab.shell("setsid sleep 1000 & echo left $!; sleep 1000")
    left = int((await lab.hears("\n")).split()[1])
    os.kill(psutil.Process(process.pid).ppid(), signal.SIGKILL)
    end = await process.wait()
    assert end.code is None
    assert end.signal == 9
    assert {process.pid, left} <= {pid for pid, _, _ in end.receipt.ended}
    await_death(left)
    assert not is_alive(process.pid, process.start_time)


async def test_a_shim_that_stands_still_is_ended_with_its_agent(lab: Lab, deaf_survivors_ended_soon: None) -> None:
    """Survivors of a dead run are found with their shim, even one that hears nothing any more."""
    process = await lab.shell("trap '' TERM; echo ready; while :; do sleep 0.02; done")
    await lab.hears("ready")
    shim = psutil.Process(process.pid).parent()
    assert shim is not None
    shim.suspend()
    receipt = await end_survivors([(process.pid, process.start_time)])
    assert {process.pid, shim.pid} <= {pid for pid, _, _ in receipt.ended}
    assert receipt.alive == ()
    assert (await process.wait()).signal == 9


async def test_a_process_id_that_was_given_to_somebody_else_is_not_touched() -> None:
    """An id alone is no identity: only the process that started at that very time is ended."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as stranger:
        start = psutil.Process(stranger.pid).create_time()
        for other in (start - 1, start + 0.1):
            assert not is_alive(stranger.pid, other)
            assert (await end_survivors([(stranger.pid, other)])).ended == ()
        assert is_alive(stranger.pid, start)
        receipt = await end_survivors([(stranger.pid, start)])
        assert receipt.ended == ((stranger.pid, start, "terminated"),)
        assert not is_alive(stranger.pid, start)
        assert stranger.wait() == -signal.SIGTERM


async def test_however_long_the_look_takes_a_survivor_is_asked_before_it_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine with very many processes, too, whoever is left has its time to end in order."""
    now, look = 0.0, orphans.family_of

    def slow(*arguments: Any) -> set[psutil.Process]:
        nonlocal now
        now += 10.0
        return look(*arguments)

    monkeypatch.setattr(orphans, "family_of", slow)
    monkeypatch.setattr(orphans, "time", SimpleNamespace(monotonic=lambda: now))
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as left:
        receipt = await end_survivors([(left.pid, psutil.Process(left.pid).create_time())])
        left.kill()
    assert [(pid, how) for pid, _, how in receipt.ended] == [(left.pid, "terminated")]
    assert left.returncode == -signal.SIGTERM


async def test_nothing_left_is_an_empty_receipt() -> None:
    """A run whose agents are all dead has nothing to clear away."""
    assert (await end_survivors([])).ended == ()
    assert (await end_survivors([(2**22 + 1, 1.0)])).alive == ()


async def test_an_escapee_is_known_by_its_tag_alone() -> None:
    """A process without a parent of ours is still known by its environment."""
    with subprocess.Popen(["sleep", "1000"], env={TAG: "1:2.00"}, start_new_session=True) as escapee:
        try:
            while escapee.pid not in tagged("1:2.00"):
                await asyncio.sleep(0)
            assert escapee.pid not in tagged("1:2.0")
        finally:
            escapee.kill()


def attended(shim: str, order: dict[str, Any]) -> dict[str, Any]:
    """The account that ``shim``, a program, gives of an agent."""
    command = [sys.executable, "-c", shim]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=order["cwd"]) as asked:
        assert asked.stdin
        assert asked.stdout
        print(json.dumps(order), file=asked.stdin, flush=True)
        assert "spawned" in asked.stdout.readline()
        print(json.dumps({"go": f"test:{asked.pid}"}), file=asked.stdin, flush=True)
        account: dict[str, Any] = json.loads(asked.stdout.readlines()[-1])
        return account


def test_without_a_subreaper_the_tag_still_finds_who_escaped(tmp_path: Path) -> None:
    """On a system that gives a shim no orphans, what left the session is ended and listed all the same."""
    without = (
        "from unstuck.processes.shim import agent_process as shim; shim.process_control = lambda *_: None; shim.main()"
    )
    order = {
        "command": ["sh", "-c", "setsid sleep 1000 & echo left $!"],
        "cwd": str(tmp_path),
        "env": dict(os.environ),
        "output": str(tmp_path / "out"),
        "stdin": None,
        "limit": 1000,
    }
    report = attended(without, order)
    left = int((tmp_path / "out").read_text().split()[1])
    assert left in {pid for pid, _, _ in report["ended"]}
    await_death(left)


HOPPING = """
import os
from unstuck.processes.shim import agent_process, process_table

listed = process_table._process_ids

def between():
    known = list(listed())
    if os.path.exists("go"):
        open("go", "w").close()
        os.unlink("go")
        os.waitid(os.P_PID, int(open("hopper").read()), os.WEXITED | os.WNOWAIT)
    return known

process_table._process_ids = between
agent_process.main()
"""


def test_who_hops_away_under_the_look_is_found(tmp_path: Path) -> None:
    """A child of a process that forks and ends while the process table is read is found, and ended."""
    for name in ("go", "ready"):
        os.mkfifo(tmp_path / name)
    hopper = "echo $$ > hopper; echo > ready; cat go; sleep 1000 & echo left $! > out"
    agent = f"setsid sh -c '{hopper}' > /dev/null 2>&1 & cat ready"
    order = {
        "command": ["sh", "-c", agent],
        "cwd": str(tmp_path),
        "env": dict(os.environ),
        "output": str(tmp_path / "said"),
        "stdin": None,
        "limit": 1000,
    }
    report = attended(HOPPING, order)
    left = int((tmp_path / "out").read_text().split()[1])
    assert left in {pid for pid, _, _ in report["ended"]}
    await_death(left)


async def test_stopping_one_leaves_the_others_alone(lab: Lab) -> None:
    """Of several processes side by side only the one that is stopped ends."""
    processes = [await lab.shell("exec sleep 1000") for _ in range(3)]
    await processes[0].stop()
    assert [is_alive(process.pid, process.start_time) for process in processes] == [False, True, True]
