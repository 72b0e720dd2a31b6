"""``python dying.py ARGUMENTS…``: unstuck with these arguments, killed for good just before its N-th removal.

Each line of standard input is an N, and is answered with the exit code of a process that was forked for it: what a
start of Python and its imports cost is paid once. A removal is whatever takes a file, a folder, a reference or a work
tree away, or gives it another name.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from typing import Any

from unstuck_tui.cli import main

REMOVING = ("update-ref", "remove")
left = 0


def note(event: str, arguments: tuple[Any, ...]) -> None:
    global left
    if event in ("os.rename", "os.remove", "os.rmdir") or (
        event == "subprocess.Popen" and any(word in REMOVING for word in arguments[1])
    ):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def work(removals: int) -> int:
    """Be unstuck, up to that removal; the exit code of one that came to its end before it."""
    global left
    left = removals
    sys.addaudithook(note)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    return 1


importlib.import_module("unstuck_tui.cli.delete")
for line in sys.stdin:
    child = os.fork()
    if not child:
        os._exit(work(int(line)))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
