"""Ends: by itself, by a signal, by a stop that means it; and freezing."""

from __future__ import annotations

import asyncio
import os
import re

import psutil
import pytest
from tests.manual_clock import ManualClock
from tests.processes.conftest import Lab

from unstuck.clock import SystemClock
from unstuck.processes import Process, is_alive, run

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        os.closerange(0, 3)
        os.execve("/bin/sh", ["sh", "-c", "exec sleep 1000"], {"PATH": os.environ["PATH"]})
    os._exit(0)
os.wait()
time.sleep(1000)
"""

BUSY = """
import subprocess, time
print("left", subprocess.Popen(["sleep", "1000"], start_new_session=True).pid, flush=True)
while True:
    time.sleep(0.01)
"""


def everybody(process: Process) -> set[int]:
    """The process and all its living descendants."""
    root = psutil.Process(process.pid)
    return {root.pid, *(child.pid for child in root.children(recursive=True))}


async def state(pid: int, *wanted: str) -> None:
    """Wait until the process is in one of these states."""
    while psutil.Process(pid).status() not in wanted:
        await asyncio.sleep(0)


async def test_the_exit_code_is_reported_to_everybody_who_waits(lab: Lab) -> None:
    """Several tasks that wait for one process all hear how it ended."""
    process = await lab.shell("exit 3")
    first, second = await asyncio.gather(process.wait(), process.wait())
    assert first is second
    assert first.code == 3
    assert first.signal is None
    assert first.receipt.ended == ((process.pid, process.start_time, "exited"),)
    assert first.receipt.alive == ()


async def test_death_by_a_signal_is_told_apart_from_an_exit(lab: Lab) -> None:
    """A crash has a signal and no code."""
    end = await (await lab.shell("kill -SEGV $$")).wait()
    assert end.code is None
    assert end.signal == 11


async def test_one_who_stops_waiting_does_not_end_the_process(lab: Lab) -> None:
    """Cancelling `wait()` leaves the process and its other waiters alone."""
    process = await lab.shell("exec sleep 1000")
    waiter = asyncio.create_task(process.wait())
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert is_alive(process.pid, process.start_time)
    await process.stop()
    assert (await process.wait()).signal == 2


async def test_a_stop_climbs_until_a_deaf_process_is_dead(lab: Lab) -> None:
    """Ignoring SIGINT and SIGTERM only delays the end, and stopping twice gives the same receipt."""
    process = await lab.shell("trap '' INT TERM; echo ready; while :; do sleep 0.02; done")
    await lab.hears("ready")
    receipt = await process.stop(interrupt=0.1, terminate=0.1)
    assert (process.pid, process.start_time, "killed") in receipt.ended
    assert receipt.alive == ()
    assert await process.stop() is receipt
    assert (await process.wait()).signal == 9


async def test_a_second_stop_makes_a_patient_one_quick(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who stops again, and harder, does not wait for the first stop's minutes."""
    monkeypatch.setattr("unstuck.processes.runner._MARGIN", 600.0)  # the shim itself must hear the second stop
    process = await lab.shell("trap '' INT TERM; echo ready; while :; do sleep 0.02; done")
    await lab.hears("ready")
    patient = asyncio.create_task(process.stop(interrupt=300, terminate=300))
    await asyncio.sleep(0)
    quick = await process.stop(interrupt=0, terminate=0)
    assert await patient is quick
    assert (process.pid, process.start_time, "killed") in quick.ended


async def test_who_keeps_the_pipe_open_from_a_session_of_its_own_is_ended_and_listed(lab: Lab) -> None:
    """The end of an agent does not wait for what it left running, and nothing stays behind."""
    process = await lab.shell("setsid sleep 1000 & echo left $!; exit 0")
    end = await process.wait()
    left = int(lab.output.read_text().split()[1])
    assert end.code == 0
    assert {pid: how for pid, _, how in end.receipt.ended} == {process.pid: "exited", left: "terminated"}
    assert not psutil.pid_exists(left)


async def test_fifty_children_end_with_their_parent(lab: Lab) -> None:
    """Every process of a wide tree is in the receipt, and none is alive."""
    process = await lab.shell("for i in $(seq 50); do sleep 1000 & done; echo ready; wait")
    await lab.hears("ready")
    tree = everybody(process)
    assert len(tree) == 51
    receipt = await process.stop(interrupt=0.2, terminate=2)
    assert {pid for pid, _, _ in receipt.ended} >= tree
    assert not [pid for pid in tree if psutil.pid_exists(pid)]


async def test_a_daemon_that_forked_away_is_found(lab: Lab) -> None:
    """Forking twice, leaving the session, closing all descriptors and clearing the environment is no escape."""
    process = await lab.python(DAEMON)
    daemon = int(re.findall(r"daemon (\d+)\n", await lab.hears("\n"))[0])
    receipt = await process.stop(interrupt=0.5)
    assert daemon in {pid for pid, _, _ in receipt.ended}
    assert not psutil.pid_exists(daemon)


async def test_frozen_takes_no_step_and_resumes(lab: Lab) -> None:
    """Freezing stops the agent and a child that left its group; resuming lets both go on."""
    process = await lab.python(BUSY)
    left = int((await lab.hears("\n")).split()[1])
    process.freeze()
    for pid in (process.pid, left):
        await state(pid, psutil.STATUS_STOPPED)
    process.resume()
    for pid in (process.pid, left):
        await state(pid, psutil.STATUS_SLEEPING, psutil.STATUS_RUNNING)


async def test_a_frozen_process_can_be_stopped_and_takes_no_step_before_it_ends(lab: Lab) -> None:
    """A stop wakes what was frozen only to end it."""
    process = await lab.python("import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)")
    await lab.hears("ready")
    process.freeze()
    await state(process.pid, psutil.STATUS_STOPPED)
    receipt = await process.stop(interrupt=60)
    assert receipt.ended == ((process.pid, process.start_time, "interrupted"),)
    process.freeze()
    process.resume()


async def test_a_check_that_ends_in_time_gives_its_exit(lab: Lab) -> None:
    """`run` is start and wait in one."""
    end = await run(lab.launch("sh", "-c", "echo checked; exit 1"), timeout=60, clock=SystemClock())
    assert end.code == 1
    assert lab.output.read_text() == "checked\n"


async def test_a_check_that_hangs_is_stopped_at_its_timeout(lab: Lab) -> None:
    """The time-out comes from the given clock, and nothing of the check is left."""
    clock = ManualClock()
    task = asyncio.create_task(run(lab.launch("sh", "-c", "echo $$; exec sleep 1000"), timeout=600, clock=clock))
    while not clock.sleepers or not lab.output.stat().st_size:
        await asyncio.sleep(0)
    await clock.advance(599)
    assert not task.done()
    await clock.advance(1)
    with pytest.raises(TimeoutError, match="sh did not end within 600 s"):
        await task
    assert not psutil.pid_exists(int(lab.output.read_text()))


async def test_a_cancelled_check_is_ended(lab: Lab) -> None:
    """Cancelling `run` returns only when the check is dead."""
    task = asyncio.create_task(run(lab.launch("sh", "-c", "echo $$; exec sleep 1000"), clock=SystemClock()))
    while not (lab.output.exists() and lab.output.stat().st_size):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(int(lab.output.read_text()))


async def test_ctrl_c_in_the_terminal_does_not_reach_the_agent(lab: Lab) -> None:
    """Neither the shim nor the agent is in our session, where the terminal sends its signals."""
    process = await lab.shell("exec sleep 1000")
    shim = psutil.Process(process.pid).ppid()
    sessions = {os.getsid(0), os.getsid(shim), os.getsid(process.pid)}
    assert len(sessions) == 3
    for number in (1, 2, 15):
        os.kill(shim, number)
    await process.stop()
    assert (await process.wait()).signal == 2
