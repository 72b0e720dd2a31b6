"""Lock on a file, held against other tasks and other processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def locked(file: Path, how: int = fcntl.LOCK_EX) -> AsyncIterator[int]:
    """Hold the lock ``file``, made where it is missing; yield its descriptor, with which a child holds the lock too.

    ``how`` is a ``LOCK_…`` of fcntl. Raises OSError, with ``LOCK_NB`` also BlockingIOError instead of waiting.
    """
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if how & fcntl.LOCK_NB:
                raise
            await _wait(descriptor, how)
        yield descriptor
    finally:
        os.close(descriptor)


async def _wait(descriptor: int, how: int) -> None:
    """Wait in a thread of its own: waiting tasks could take all shared threads, and the holder may need one."""
    thread = ThreadPoolExecutor(1)
    try:
        await asyncio.get_running_loop().run_in_executor(thread, fcntl.flock, descriptor, how)
    finally:
        thread.shutdown(wait=False)
