"""Screens of other programs and ours in a terminal of 120 by 40: the time to the first frame, and the memory."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pyte
from ptyprocess import PtyProcess

COLUMNS, ROWS = 120, 40
PATIENCE_S, QUIET_S = 60.0, 2.0
SCREENS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "tracon": (("--demo", "--no-judge", "--no-title"), "Payment webhooks"),
    "lazyagent": ((), "Select a worktree to begin"),
}
"""Arguments of each program, and words of its first whole frame."""


class Shown(NamedTuple):
    """Seconds from the start to the first frame, the CPU seconds until then, and the memory (PSS) two seconds later.

    Memory is that of all its processes.
    """

    seconds: float
    cpu: float
    bytes: int


def shown(command: Sequence[str], words: str, *, folder: Path, environ: Mapping[str, str]) -> Shown:
    """Start ``command`` in ``folder`` until ``words`` stand on its screen. Raises RuntimeError where they never do."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    began = time.perf_counter()
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = PtyProcess.spawn(list(command), cwd=folder, env={**environ, **terminal}, dimensions=(ROWS, COLUMNS))
    try:
        while not any(words in line for line in screen.display):
            if not _read(process.fd, stream, began + PATIENCE_S):
                raise RuntimeError("\n".join(screen.display))
        seconds, spent = time.perf_counter() - began, psutil.Process(process.pid).cpu_times()
        until = time.perf_counter() + QUIET_S
        while _read(process.fd, stream, until):
            pass
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        cpu = spent.user + spent.system + spent.children_user + spent.children_system
        return Shown(seconds, cpu, sum(one.memory_full_info().pss for one in family))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.close(force=True)


def _read(terminal: int, stream: pyte.ByteStream, until: float) -> bool:
    """Feed what the program writes next; False where nothing comes until that moment, or it has ended."""
    ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.perf_counter()))
    if not ready:
        return False
    try:
        data = os.read(terminal, 65_536)
    except OSError:
        return False
    stream.feed(data)
    return bool(data)
