"""Screens of other programs and ours in a terminal of 120 by 40: the time to the first frame, and the memory."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pyte

COLUMNS, ROWS = 120, 40
PATIENCE_S, QUIET_S = 60.0, 2.0
SCREENS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "tracon": (("--demo", "--no-judge", "--no-title"), "Payment webhooks"),
    "lazyagent": ((), "Select a worktree to begin"),
}
"""Arguments of each program, and words of its first whole frame."""


class Shown(NamedTuple):
    """Seconds from the start to the first frame, and the memory (PSS) of all its processes two seconds later."""

    seconds: float
    bytes: int


def shown(command: Sequence[str], words: str, *, folder: Path, environ: Mapping[str, str]) -> Shown:
    """Start ``command`` in ``folder`` until ``words`` stand on its screen. Raises RuntimeError where they never do."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (ROWS, COLUMNS))
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env={**environ, **terminal}, stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    try:
        while not any(words in line for line in screen.display):
            if not _read(ours, stream, began + PATIENCE_S):
                raise RuntimeError("\n".join(screen.display))
        seconds = time.perf_counter() - began
        until = time.perf_counter() + QUIET_S
        while _read(ours, stream, until):
            pass
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        return Shown(seconds, sum(one.memory_full_info().pss for one in family))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


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
