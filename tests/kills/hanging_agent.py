"""An agent that starts a program and hangs the first time, deaf to signals; later it looks whether that still runs.

``python hanging_agent.py OUTSIDE``; no test by itself.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil


def is_at_work(pid: int) -> bool:
    """Return whether the process runs."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


outside = Path(sys.argv[1])
known = outside / "pid"
if known.exists():
    (outside / "seen").write_text("both" if is_at_work(int(known.read_text())) else "alone")
    Path("result.txt").write_text("done\n")
else:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # What an agent has started does not die with it by itself, as the agent does with its helper.
    started = os.fork()
    if started == 0:
        known.write_text(str(os.getpid()))
        (outside / "started").write_text("started")
        (outside / "never").read_text()
    os.waitpid(started, 0)
