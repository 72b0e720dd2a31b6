"""Who works in a directory."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

__all__ = ["working_in"]


def working_in(directory: Path) -> tuple[tuple[int, Path], ...]:
    """The process id and working directory of every other living process at or below ``directory``.

    A process whose working directory may not be read (another user's) is not seen.
    """
    top, found = os.path.realpath(directory), []
    for process in psutil.process_iter():
        try:
            place = process.cwd()
            if place != top and not place.startswith(top + os.sep):
                continue
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append((process.pid, Path(place)))
        except (psutil.Error, OSError):
            continue
    return tuple(found)
