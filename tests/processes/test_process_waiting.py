"""Waiting for ends: by the system's own word where it gives one, and without a wake-up in between."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import psutil
import pytest

from unstuck.clock.process_exit import until_over
from unstuck.processes import end_survivors

DEAF_BESIDE_A_CHILD = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready, hears_again = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.read(ready, 1)
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"], {})
signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.write(hears_again, b".")
signal.pause()
"""


@pytest.mark.parametrize("pidfd", [True, False])
async def test_an_end_is_heard_of(pidfd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is no child of asyncio's is waited for, with the system's descriptors and without any."""
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    asked = 0

    def is_over() -> bool:
        nonlocal asked
        asked += 1
        return process.poll() is not None

    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert not await until_over(process.pid, is_over, 0.0)
        waiting = asyncio.ensure_future(until_over(process.pid, is_over))
        await asyncio.sleep(0)
        assert process.stdin is not None
        process.stdin.close()
        assert await waiting
    # With a descriptor it is looked at when the wait begins and when it has ended, and never in between.
    assert asked <= 3 if pidfd else asked >= 2


async def test_one_that_never_ends_is_given_up() -> None:
    """The wait for a process that stays is over when its time is."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        assert not await until_over(process.pid, lambda: process.poll() is not None, 0.02)
        process.kill()


async def test_a_deaf_child_that_hides_is_still_known_once_its_parent_has_ended(
    deaf_survivors_ended_soon: None,
) -> None:
    """A survivor without tag, session or parent that would lead to it is killed all the same, and never said to be."""
    with subprocess.Popen(
        [sys.executable, "-c", DEAF_BESIDE_A_CHILD], stdout=subprocess.PIPE, start_new_session=True
    ) as agent:
        assert agent.stdout is not None
        hidden = psutil.Process(int(agent.stdout.readline()))
        receipt = await end_survivors([(agent.pid, psutil.Process(agent.pid).create_time())])
        ended = {pid: how for pid, _, how in receipt.ended}
        assert ended[agent.pid] == "terminated"
        assert ended[hidden.pid] == "killed"
        assert receipt.alive == ()
        assert not hidden.is_running() or hidden.status() == psutil.STATUS_ZOMBIE
        assert agent.wait() == -signal.SIGTERM
