"""Programs that misbehave: what each leaves behind, and that nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import psutil
import pytest
from tests.processes.conftest import Lab

from unstuck.processes import is_alive

MANY = """
import os, time
for _ in range(500):
    if os.fork() == 0:
        %s
print("ready", flush=True)
time.sleep(1000)
"""
FLOOD = """
import os
chunk = b"x" * 65536
while True:
    os.write(1, chunk)
"""

PARRICIDE = """
import os, signal, subprocess, time
with open("left", "w") as file:
    file.write(str(subprocess.Popen(["sleep", "1000"]).pid))
os.killpg(os.getpgid(os.getppid()), signal.SIG%s)
time.sleep(0.2)
raise SystemExit(3)
"""


def shim_of(process: Any) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


async def test_five_hundred_children_are_each_in_the_receipt(lab: Lab) -> None:
    """An agent with 500 living children: the stop ends them all and names every one."""
    process = await lab.python(MANY % "time.sleep(1000)")
    await lab.hears("ready")
    tree = {process.pid, *(child.pid for child in psutil.Process(process.pid).children())}
    assert len(tree) == 501
    receipt = await process.stop(interrupt=0, terminate=5)
    assert {pid for pid, _, _ in receipt.ended} >= tree
    assert receipt.alive == ()
    assert not [pid for pid in tree if psutil.pid_exists(pid)]


async def test_five_hundred_short_orphans_leave_no_zombie(lab: Lab) -> None:
    """Children that end at once, their parent first: whoever inherits them takes leave of each."""
    before = set(psutil.Process().children(recursive=True))
    process = await lab.python(MANY % "os.fork(); os._exit(0)")
    await lab.hears("ready")
    shim = shim_of(process)
    while any(child.status() == psutil.STATUS_ZOMBIE for child in shim.children()):
        await lab.turn()
    await process.stop()
    assert not lab.left()
    own = set(psutil.Process().children(recursive=True)) - before - {shim}
    assert [child for child in own if child.status() == psutil.STATUS_ZOMBIE] == []


async def test_output_without_a_newline_for_ever_fills_nothing(lab: Lab) -> None:
    """An endless line: the file keeps to its limit, memory does not grow with what is printed, and a stop ends it."""
    process = await lab.start(lab.launch(sys.executable, "-c", FLOOD, limit=1_000_000))
    shim = shim_of(process)
    while lab.total < 20_000_000:
        await lab.turn()
    early = shim.memory_info().rss
    while lab.total < 200_000_000:
        await lab.turn()
    assert shim.memory_info().rss < early + 8_000_000
    assert await lab.hears("x" * 4096)
    await process.stop(interrupt=0, terminate=1)
    assert lab.output.stat().st_size < 1_000_100


async def test_one_that_closes_its_output_is_still_waited_for(lab: Lab) -> None:
    """Closing standard output and error is no end: the exit code is the one that comes later."""
    process = await lab.shell("echo said; exec >&- 2>&-; while [ ! -e go ]; do sleep 0.01; done; exit 7")
    await lab.hears("said")
    assert is_alive(process.pid, process.start_time)
    (lab.directory / "go").touch()
    assert (await process.wait()).code == 7


@pytest.mark.parametrize("number", ["TERM", "KILL"])
async def test_one_that_kills_its_parents_group(lab: Lab, number: str) -> None:
    """An agent that signals the group of its parent reaches at most its own helper, is ended with it, and not we."""
    process = await lab.python(PARRICIDE % number)
    end = await process.wait()
    left = int((lab.directory / "left").read_text())
    assert (end.code, end.signal) == ((3, None) if number == "TERM" else (None, 9))
    assert left in {pid for pid, _, _ in end.receipt.ended}
    # Without its helper it is another's to take leave of, which may take a moment.
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


async def test_one_that_forks_away_and_leaves_a_server_ends_at_once(lab: Lab) -> None:
    """A command that leaves a server with its output open has ended when it ends; the server is cleared away."""
    process = await lab.shell("setsid sh -c 'echo up; sleep 1000' & while ! grep -q up output.raw; do :; done; exit 0")
    end = await process.wait()
    assert end.code == 0
    assert end.receipt.alive == ()
    assert len(end.receipt.ended) >= 3
    assert not lab.left()


def test_a_command_line_can_be_hidden_from_patterns() -> None:
    """An agent's `pkill -f pytest` finds no check of that name."""
    script = (
        "import sys; from unstuck.processes.process_title import show_as; show_as('unstuck run'); "
        "print(open('/proc/self/cmdline', 'rb').read().strip(b'\\0'), sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", script, "pytest -q"], capture_output=True, text=True, check=True)
    assert done.stdout == "b'unstuck run' ['pytest -q']\n"
