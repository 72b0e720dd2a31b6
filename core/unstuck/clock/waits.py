"""Waiting for the first of several things."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def first_of(*waits: Awaitable[Any] | None) -> tuple[bool, ...]:
    """Wait until one of ``waits`` is done; for each, whether it is. None never is.

    A future or task stays the caller's, whatever becomes of it. A coroutine is part of the wait: it has ended when this
    returns or is cancelled, and what it raised is raised here.
    """
    futures = [None if wait is None else asyncio.ensure_future(wait) for wait in waits]
    own = [future for future, wait in zip(futures, waits, strict=True) if future is not None and future is not wait]
    try:
        await asyncio.wait([future for future in futures if future is not None], return_when=asyncio.FIRST_COMPLETED)
        done = tuple(future is not None and future.done() for future in futures)
    finally:
        for future in own:
            future.cancel()
        await asyncio.gather(*own, return_exceptions=True)
    for future in own:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return done
