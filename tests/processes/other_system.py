"""The helper as it is on a system without Linux's means: no process table, no prctl, no descriptors for processes.

``python other_system.py`` in its place; no test by itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.platform = "darwin"
del os.pidfd_open
sys.path.append(str(Path(__file__).parents[2] / "core" / "unstuck" / "processes"))
from shim import agent_process, child, process_table, terminate  # type: ignore[import-not-found]  # noqa: E402

for module in (process_table, terminate):
    module.is_there = lambda: False
process_table._read = lambda path: b""
for module in (agent_process, child):
    module.process_control = lambda option, value: None


def leave_of_orphans() -> None:
    """Go on in a child of ours, whose orphans we take leave of at once: not every machine's first process does."""
    process_table.process_control(process_table.PR_SET_CHILD_SUBREAPER, 1)
    if helper := os.fork():
        os.closerange(0, 3)
        while os.wait()[0] != helper:
            pass
        os._exit(0)


leave_of_orphans()
agent_process.main()
