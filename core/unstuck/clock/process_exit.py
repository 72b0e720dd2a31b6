"""The wait for the end of a process; without polling where the system has pidfd (Linux 5.3 and newer)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_PAUSE = 0.05


async def until_over(
    pid: int, is_over: Callable[[], bool], seconds: float | None = None, *, pause: float = _PAUSE
) -> bool:
    """Wait until ``is_over()`` for the process ``pid``; False after ``seconds``.

    Without a process descriptor, ``is_over`` is called every ``pause`` seconds.
    """
    loop = asyncio.get_running_loop()
    limit = None if seconds is None else loop.time() + seconds
    descriptor = _descriptor(pid)
    try:
        # After the descriptor was opened: it belongs to this very process, or is_over() already holds.
        while not is_over():
            left = None if limit is None else limit - loop.time()
            if left is not None and left <= 0:
                return False
            if descriptor is None:
                await asyncio.sleep(pause if left is None else min(pause, left))
            elif await readable(descriptor, left):
                os.close(descriptor)
                descriptor = None  # it has ended, but its parent has not reaped it yet
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
    """Return whether the descriptor has become readable within ``seconds``."""
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
