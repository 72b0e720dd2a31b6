"""Ctrl+C in the first moments of a command, before there is anything to stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Runs the installed script, and interrupts it when it looks for the module that is the last argument.
STARTED = """
import os, runpy, signal, sys

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupted())
sys.argv[1:] = ["run", "--headless", "--", "true", sys.argv[-1]]
runpy.run_path(SCRIPT, run_name="__main__")
"""


@pytest.mark.parametrize(
    "module",
    [
        "unstuck_tui.cli",
        "click",
        "unstuck_tui.cli.catalogue",
        "unstuck.processes.process_title",
        "psutil",
        "unstuck_tui.cli.run_execution",
    ],
)
def test_an_interrupt_while_it_is_loaded_shows_no_traceback(module: str) -> None:
    """Whatever it was about to load, it ends with 130 and says nothing of its inside."""
    program = STARTED.replace("SCRIPT", repr(str(Path(sys.executable).with_name("unstuck"))))
    done = subprocess.run(
        [sys.executable, "-c", program, module], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.strip() == ""
    assert done.returncode == 130


# Runs a command of the installed program in a session of its own, and interrupts that as from its terminal: when the
# event loop is made, before the command's coroutine has begun, or when git is started.
AT = """
import asyncio, os, runpy, signal, subprocess, sys

def interrupted(function):
    def call(*arguments, **options):
        made = function(*arguments, **options)
        os.killpg(0, signal.SIGINT)
        return made
    return call

signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv.pop() == "loop":
    asyncio.new_event_loop = asyncio.events.new_event_loop = interrupted(asyncio.new_event_loop)
else:
    subprocess.Popen.__init__ = interrupted(subprocess.Popen.__init__)
runpy.run_path(SCRIPT, run_name="__main__")
"""


@pytest.mark.parametrize("moment", ["loop", "git"])
@pytest.mark.parametrize("command", ["watch --headless", "demo --headless", "run --headless -- true"])
def test_an_interrupt_before_it_has_begun_is_silent(command: str, moment: str, repo: Path) -> None:
    """No word of coroutines, and none of a git that was interrupted with it."""
    program = AT.replace("SCRIPT", repr(str(Path(sys.executable).with_name("unstuck"))))
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split(), moment],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=repo,
        start_new_session=True,
    )
    assert done.stderr.strip() == ""
    assert done.returncode == 130


def test_nothing_is_imported_before_an_interrupt_is_caught() -> None:
    """The module that the script imports brings in no other, so there is no time for a traceback."""
    program = "import sys; before = set(sys.modules); import unstuck_tui; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['unstuck_tui']"
