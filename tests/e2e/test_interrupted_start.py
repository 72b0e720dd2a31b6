"""Ctrl+C in the first moments of a command, before there is anything to stop."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTED = """
import importlib.abc, os, signal, sys
from unstuck_tui.cli import main

class Interrupted(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupted())
sys.argv[1:] = ["run", "--headless", "--", "true", sys.argv[-1]]
main()
"""


@pytest.mark.parametrize("module", ["unstuck.processes.process_title", "psutil", "unstuck_tui.cli.run_execution"])
def test_an_interrupt_while_it_is_loaded_shows_no_traceback(module: str) -> None:
    """Whatever it was about to load, it ends with 130 and says nothing of its inside."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED, module], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == ""
