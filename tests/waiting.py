"""Waits for conditions that come about in their own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from unstuck.supervision.run.supervisor import Supervisor

PATIENCE = 60


def has_ended(pid: int) -> bool:
    """Return whether the process has ended; its parent may not have waited for it yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def become(done: Callable[[], bool]) -> None:
    """Wait until something outside this process is so."""
    async with asyncio.timeout(PATIENCE):
        while not done():
            await asyncio.sleep(0.01)


async def until(supervisor: Supervisor, seen: Callable[[], object]) -> None:
    """Wait until something recorded makes ``seen`` true."""
    moved = asyncio.Event()
    supervisor.core.journal.on_append(lambda record: moved.set())
    async with asyncio.timeout(PATIENCE):
        while not seen():
            moved.clear()
            await moved.wait()
