"""Start of the shim beside each agent (:mod:`unstuck.processes.shim`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from weakref import WeakSet

from unstuck.processes import shim

SHIM = Path(shim.__file__).with_name("__main__.py")
_started: WeakSet[subprocess.Popen[bytes]] = WeakSet()


def start() -> subprocess.Popen[bytes]:
    """Start a shim. Raises OSError when the machine has no room for another process."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(SHIM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        start_new_session=True,
    )
    _started.add(process)
    return process


def running() -> set[int]:
    """Return the process ids of the live shims that this process has started."""
    return {process.pid for process in _started if process.poll() is None}
