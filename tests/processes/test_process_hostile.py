"""Agents that do to themselves, or to their helper, what nobody expects."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import psutil
import pytest
from tests.processes.conftest import Lab
from tests.waiting import has_ended


async def test_one_that_has_stopped_itself_may_still_end_politely(lab: Lab) -> None:
    """SIGSTOP by its own hand: a stop wakes it after its signal, so that its own handler runs instead of a kill."""
    process = await lab.python(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('tidied up', flush=True), os._exit(5)))\n"
        "print('still', flush=True)\nos.kill(0, signal.SIGSTOP)\nsignal.pause()"
    )
    await lab.hears("still")
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        await lab.turn()
    await process.stop(interrupt=60, terminate=60)
    end = await process.wait()
    assert end.code == 5
    assert end.receipt.alive == ()
    assert b"tidied up" in lab.output.read_bytes()


@pytest.mark.parametrize("at_once", [True, False])
async def test_one_that_stops_its_helper_is_stopped_with_it(
    lab: Lab, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP to its helper, even before that has said that the agent runs: a stop wakes it, and ends them both."""
    monkeypatch.setattr("unstuck.processes.runner._MARGIN", 0.5 if at_once else 60)
    told = lab.directory / "told"
    waits = "" if at_once else f"while ! test -e {told}; do sleep 0.01; done;"
    # The order to go on may still be waking the helper while the agent stops it for the first time.
    process = await lab.shell(f"{waits} kill -STOP $PPID; sleep 0.3; kill -STOP $PPID; sleep 1000")
    told.touch()
    helper = psutil.Process(process.pid).parent()
    assert helper is not None
    while helper.status() != psutil.STATUS_STOPPED:
        await lab.turn()
    receipt = await process.stop(interrupt=0, terminate=0)
    assert process.pid in {pid for pid, _, _ in receipt.ended}
    assert receipt.alive == ()
    assert has_ended(helper.pid)


@pytest.mark.parametrize("at_once", [True, False])
async def test_one_that_kills_its_helper_is_over(lab: Lab, at_once: bool) -> None:
    """SIGKILL to its helper, even before that has said that the agent runs: the attempt ends, with all it started."""
    told = lab.directory / "told"
    waits = "" if at_once else f"while ! test -e {told}; do sleep 0.01; done;"
    process = await lab.shell(f"sleep 1000 & echo $! > left; {waits} kill -KILL $PPID; sleep 1000")
    told.touch()
    end = await process.wait()
    left = int((lab.directory / "left").read_text())
    assert end.code is None
    assert end.signal == signal.SIGKILL
    assert {process.pid, left} <= {pid for pid, _, _ in end.receipt.ended}
    assert has_ended(left)


async def test_it_may_end_behind_a_helper_that_it_has_stopped(lab: Lab) -> None:
    """SIGSTOP to its helper, then its own end: both its exit and its last words are still told."""
    process = await lab.shell("echo ready; while [ ! -e go ]; do sleep 0.01; done; kill -STOP $PPID; echo last; exit 3")
    await lab.hears("ready")
    (lab.directory / "go").touch()
    end = await asyncio.wait_for(process.wait(), 30)
    assert end.code == 3
    assert lab.output.read_bytes() == b"ready\nlast\n"


async def test_one_that_is_traced_is_killed(lab: Lab) -> None:
    """Stopped under a tracer of its own, deaf to every signal but the last: it is ended with its tracer."""
    process = await lab.python(
        "import ctypes, os, signal, time\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n"  # PTRACE_TRACEME
        "    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "    time.sleep(1000)\n"
        "os.waitpid(child, os.WUNTRACED)\n"
        "print('traced', flush=True)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    time.sleep(1000)"
    )
    await lab.hears("traced")
    (traced,) = psutil.Process(process.pid).children()
    receipt = await process.stop(interrupt=0.05, terminate=0.05)
    assert {process.pid, traced.pid} <= {pid for pid, _, _ in receipt.ended}
    assert has_ended(traced.pid)


async def test_its_output_file_may_be_deleted_while_it_runs(lab: Lab) -> None:
    """An agent that deletes the file its output goes to is still heard and its end still told."""
    process = await lab.shell(f"echo one; rm {lab.output}; echo two; exit 3")
    end = await process.wait()
    assert end.code == 3
    assert end.bytes == 8
    assert end.lost == ""
    assert not lab.output.exists()


async def test_its_directory_may_be_deleted_while_it_runs(lab: Lab) -> None:
    """An agent that deletes the directory it works in ends like any other."""
    (lab.directory / "work").mkdir()
    launch = lab.launch("sh", "-c", "rmdir ../work; pwd -P || true; echo after; exit 4")
    process = await lab.start(type(launch)(**{**_fields(launch), "cwd": lab.directory / "work"}))
    assert (await process.wait()).code == 4
    assert b"after" in lab.output.read_bytes()


def _fields(launch: Any) -> dict[str, Any]:
    return {name: getattr(launch, name) for name in launch.__slots__}


async def test_it_may_make_a_terminal_of_its_own(lab: Lab) -> None:
    """A program that runs under a terminal it opened itself, in a session of its own, is ended with it."""
    process = await lab.python(
        "import os, pty, signal, time\n"
        "pid, master = pty.fork()\n"
        "if pid == 0:\n"
        "    signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "    print('inside', flush=True)\n    time.sleep(1000)\n"
        "os.read(master, 100)\nprint('child', pid, flush=True)\ntime.sleep(1000)"
    )
    child = int((await lab.hears("\n")).split()[1])
    receipt = await process.stop(interrupt=0.2, terminate=0.5)
    assert {process.pid, child} <= {pid for pid, _, _ in receipt.ended}
    assert has_ended(child)


async def test_a_storm_of_zombies_is_no_end(lab: Lab) -> None:
    """An agent with 300 children that have ended and that it never takes leave of: none is left when it is stopped."""
    process = await lab.python(
        "import os, time\n"
        "for _ in range(300):\n    os.fork() or os._exit(0)\n"
        "print('stormed', flush=True)\ntime.sleep(1000)"
    )
    await lab.hears("stormed")
    helper = psutil.Process(process.pid).parent()
    receipt = await process.stop(interrupt=0, terminate=0)
    assert receipt.alive == ()
    assert helper is not None
    assert has_ended(helper.pid)
    assert not any(os.path.exists(f"/proc/{pid}") for pid, _, _ in receipt.ended)
