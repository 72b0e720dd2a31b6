"""Screens of other programs and ours in a terminal of 120 by 40: the time to the first frame, and the memory."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
from ptyprocess import PtyProcess

COLUMNS, ROWS = 120, 40
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
PATIENCE_S, QUIET_S = 60.0, 2.0
SCREENS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "tracon": (("--demo", "--no-judge", "--no-title"), "Payment webhooks"),
    "lazyagent": ((), "Select a worktree to begin"),
}
"""Arguments of each program, and words of its first whole frame."""


MINIMAL = """
from textual.app import App
from textual.widgets import Static

class Minimal(App):
    def compose(self):
        yield Static("HELLO")

Minimal().run()
"""
"""The least that an app with the same library can show: the word HELLO."""


class Shown(NamedTuple):
    """Seconds from the start to the first frame, the CPU seconds until then, and the memory (PSS) two seconds later.

    Memory is that of all its processes.
    """

    seconds: float
    cpu: float
    bytes: int


def shown(command: Sequence[str], words: str, *, folder: Path, environ: Mapping[str, str]) -> Shown:
    """Start ``command`` in ``folder`` until it has drawn ``words``. Raises RuntimeError where it never does."""
    began = time.perf_counter()
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = PtyProcess.spawn(list(command), cwd=folder, env={**environ, **terminal}, dimensions=(ROWS, COLUMNS))
    written = b""
    try:
        # Not a terminal's screen: while that takes in a frame, a program that has drawn it goes on.
        while words.encode() not in _ESCAPES.sub(b"", written):
            if not (data := _read(process.fd, began + PATIENCE_S)):
                raise RuntimeError(written.decode(errors="replace"))
            written += data
        seconds, spent = time.perf_counter() - began, psutil.Process(process.pid).cpu_times()
        until = time.perf_counter() + QUIET_S
        while _read(process.fd, until):
            pass
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        cpu = spent.user + spent.system + spent.children_user + spent.children_system
        return Shown(seconds, cpu, sum(one.memory_full_info().pss for one in family))
    finally:
        # What a kill leaves would be looked at by the next start.
        os.killpg(process.pid, signal.SIGTERM)
        while _read(process.fd, time.perf_counter() + QUIET_S):
            pass
        process.close(force=True)


def _read(terminal: int, until: float) -> bytes:
    """Return what the program writes next; nothing where nothing comes until that moment, or it has ended."""
    ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.perf_counter()))
    if not ready:
        return b""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
