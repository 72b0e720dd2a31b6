"""CPU, memory and I/O of a process tree, read from outside."""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil
from tests.processes.conftest import Lab

from unstuck.processes import Vitals, sample

BUSY = """
import subprocess, sys
work = "n = 0\\nwhile n < 3_000_000: n += 1\\nprint('worked', flush=True)\\nimport time; time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", work], start_new_session=True)
import time; time.sleep(1000)
"""

MOVING = """
import time
with open("copy", "wb") as file:
    file.write(open("/dev/zero", "rb").read(1_000_000))
print("moved", flush=True)
time.sleep(1000)
"""


def looked(process: Any) -> Vitals:
    seen = sample(process.pid, process.start_time)
    assert seen is not None
    return seen


async def test_the_work_of_a_child_that_left_the_session_counts(lab: Lab) -> None:
    """A grandchild in a session of its own uses the processor: the whole family's time tells."""
    process = await lab.python(BUSY)
    await lab.hears("worked")
    seen = looked(process)
    assert seen.alive == 2
    assert seen.cpu > 0.05
    assert not seen.stopped


async def test_an_orphan_that_has_ended_is_not_forgotten(lab: Lab) -> None:
    """The use of a child that has ended still counts, also when its parent ended before it."""
    script = "(exec 3>&1; (i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo worked) &) ; exec sleep 1000"
    process = await lab.shell(script)
    await lab.hears("worked")
    while len(psutil.Process(psutil.Process(process.pid).ppid()).children()) > 1:
        await lab.turn()
    seen = looked(process)
    assert seen.alive == 1
    assert seen.cpu > 0.01


async def test_bytes_are_counted_for_each(lab: Lab) -> None:
    """Reading and writing shows, also where no processor time to speak of is used."""
    process = await lab.python(MOVING)
    await lab.hears("moved")
    seen = looked(process)
    assert seen.moved is not None
    assert seen.moved[process.pid] > 2_000_000


async def test_a_stopped_family_is_seen_as_stopped(lab: Lab) -> None:
    """SIGSTOP to every process of an agent shows; to some of them it does not."""
    process = await lab.shell("sleep 1000 & echo ready; wait")
    await lab.hears("ready")
    os.kill(process.pid, signal.SIGSTOP)
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        await lab.turn()
    assert not looked(process).stopped
    os.killpg(process.pid, signal.SIGSTOP)
    while any(child.status() != psutil.STATUS_STOPPED for child in psutil.Process(process.pid).children()):
        await lab.turn()
    assert looked(process).stopped


async def test_a_process_that_is_gone_or_another_is_not_looked_at(lab: Lab) -> None:
    """A number that belongs to somebody else by now gives nothing."""
    process = await lab.shell("exit 0")
    await process.wait()
    assert sample(process.pid, process.start_time) is None
    assert sample(os.getpid(), psutil.Process().create_time() - 5) is None
    own = sample(os.getpid(), psutil.Process().create_time())
    assert own is not None
    assert own.alive >= 1
