"""Identity of a process: its id and its start time, because ids are used again."""

from __future__ import annotations

import psutil

Identity = tuple[int, float]

TOLERANCE = 0.05  # seconds; start times are read in ticks of 0.01


def find(pid: int, start: float) -> psutil.Process | None:
    """Return the process that started at ``start``; None for a zombie or one that has ended."""
    try:
        process = psutil.Process(pid)
        return process if is_same(process, start) else None
    except psutil.Error:
        return None


def is_alive(pid: int, start: float) -> bool:
    """Return whether the process that started at ``start`` (seconds since 1970) runs; a zombie does not."""
    return find(pid, start) is not None


def is_same(process: psutil.Process, start: float) -> bool:
    """Return whether this process started at ``start`` and is no zombie."""
    return abs(process.create_time() - start) < TOLERANCE and process.status() != psutil.STATUS_ZOMBIE
