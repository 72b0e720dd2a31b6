"""Command line of this process, as other processes see it."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_ARGUMENTS_BEGIN, _ARGUMENTS_END = 45, 46  # positions after the program's name in /proc/PID/stat


def show_as(title: str) -> None:
    """Show ``title`` in place of the command line, which holds the agent's command, its task and its check.

    An agent that ends its processes by a pattern (``pkill -f pytest``) would end this process, too. It does nothing
    where the system does not allow it.
    """
    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        begin, end = int(fields[_ARGUMENTS_BEGIN]), int(fields[_ARGUMENTS_END])
        if 0 < begin < end:
            room = end - begin
            ctypes.memmove(begin, os.fsencode(title)[: room - 1].ljust(room, b"\0"), room)
