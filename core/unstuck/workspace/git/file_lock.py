"""Lock on a file, held against other tasks and other processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

from unstuck.eventlog.storage.durable_files import make_directory
from unstuck.workspace.git.plain_file import waits_for_pipe

_PAUSE_S = 0.02
_PATIENCE_S = 2.0
"""Seconds that a holder whose supervisor is gone may wait for a pipe before it is ended."""


@asynccontextmanager
async def locked(file: Path, how: int = fcntl.LOCK_EX) -> AsyncIterator[int]:
    """Hold the lock ``file``, made where it is missing; yield its descriptor, with which a child holds the lock too.

    ``how`` is a ``LOCK_…`` of fcntl. Raises OSError, with ``LOCK_NB`` also BlockingIOError instead of waiting.
    """
    make_directory(file.parent)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if how & fcntl.LOCK_NB:
                raise
            await _wait(file, descriptor, how)
        yield descriptor
    finally:
        os.close(descriptor)


async def _wait(file: Path, descriptor: int, how: int) -> None:
    """Try until the lock is free. A thread that waits in the kernel could not be stopped."""
    loop = asyncio.get_running_loop()
    patience = loop.time() + _PATIENCE_S
    while True:
        with suppress(BlockingIOError):
            return fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        await asyncio.sleep(_PAUSE_S)
        if loop.time() > patience:
            await asyncio.to_thread(_end_orphans, file.resolve())
            patience = loop.time() + _PATIENCE_S


def _end_orphans(file: Path) -> None:
    """End each git that holds the lock for a supervisor that is gone, and waits for a pipe. One at work may end."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if not waits_for_pipe(process.pid) or not _holds(process, file):
                continue
            parent = process.parent()
            if (parent is None or not _holds(parent, file)) and os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGTERM)


def _holds(process: psutil.Process, file: Path) -> bool:
    """Return whether it has the file open. A process that may not be looked at is another user's, as init is."""
    try:
        return any(Path(one.path) == file for one in process.open_files())
    except (psutil.Error, OSError):
        return False
