"""Start of the shim beside each agent (:mod:`unstuck.processes.shim`)."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakKeyDictionary

import psutil

from unstuck.processes import shim

SHIM = Path(shim.__file__).with_name("__main__.py")
_RE2 = find_spec("re2")
_LIBRARIES = [str(Path(folder).parent) for folder in (_RE2 and _RE2.submodule_search_locations) or ()]
_started: WeakKeyDictionary[subprocess.Popen[bytes], float] = WeakKeyDictionary()
_killed: list[tuple[float, float]] = []


def start() -> subprocess.Popen[bytes]:
    """Start a shim. Raises OSError when the machine has no room for another process."""
    began = _now()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(SHIM), *_LIBRARIES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        start_new_session=True,
    )
    _started[process] = began
    return process


def _now() -> float:
    """Return the present on the scale of the start times of processes, from which the clock may have moved away."""
    boot_clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.time() if boot_clock is None else psutil.boot_time() + time.clock_gettime(boot_clock)


def running() -> set[int]:
    """Return the process ids of the live shims that this process has started."""
    return {process.pid for process in _started if process.poll() is None}


def note_end(process: subprocess.Popen[bytes]) -> None:
    """Keep when a shim lived that was killed by a signal: what it looked after is found no more."""
    began = _started.pop(process, None)
    if began is not None and (process.returncode or 0) < 0:
        _killed.append((began, _now()))


def killed() -> tuple[tuple[float, float], ...]:
    """Return start and end (seconds since 1970) of each shim of this process that was killed by a signal."""
    for process in list(_started):
        if process.poll() is not None:
            note_end(process)
    return tuple(_killed)
