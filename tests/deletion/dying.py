"""``python dying.py N ARGUMENTS…``: unstuck with these arguments, killed for good just before its N-th removal.

A removal is whatever takes a file, a folder, a reference or a work tree away, or gives it another name.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from unstuck_tui.cli import main

REMOVING = ("update-ref", "remove")
left = int(sys.argv.pop(1))


def note(event: str, arguments: tuple[Any, ...]) -> None:
    global left
    if event in ("os.rename", "os.remove", "os.rmdir") or (
        event == "subprocess.Popen" and any(word in REMOVING for word in arguments[1])
    ):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(note)
main()
