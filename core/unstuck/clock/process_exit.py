"""Waiting for a process to end, without asking again and again where the system can tell (pidfd, Linux from 5.3 on)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

__all__ = ["readable", "until_over"]

_PAUSE = 0.05


async def until_over(
    pid: int, is_over: Callable[[], bool], seconds: float | None = None, *, pause: float = _PAUSE
) -> bool:
    """Wait until ``is_over()``, which tells whether the process ``pid`` has ended; False after ``seconds``.

    Where the system gives no descriptor for a process, or has none left, it is asked every ``pause`` seconds.
    """
    loop = asyncio.get_running_loop()
    limit = None if seconds is None else loop.time() + seconds
    descriptor = _descriptor(pid)
    try:
        # Asked only now: the descriptor is of the very process, or is_over() already holds.
        while not is_over():
            left = None if limit is None else limit - loop.time()
            if left is not None and left <= 0:
                return False
            if descriptor is None:
                await asyncio.sleep(pause if left is None else min(pause, left))
            elif await readable(descriptor, left):
                os.close(descriptor)
                descriptor = None  # it has ended, and only whoever is its parent has not heard yet
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def _descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


async def readable(descriptor: int, seconds: float | None) -> bool:
    """Whether the descriptor has become readable within ``seconds``."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        async with asyncio.timeout(seconds):
            await ready.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return True
