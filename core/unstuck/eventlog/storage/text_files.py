"""Text files written and read without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import aiofiles

_MODE = 0o600
_Result = TypeVar("_Result")


async def write_text(path: Path, text: str) -> None:
    """Write ``path`` for its owner only, so that it holds the old text or all of the new one. Raises OSError."""
    await _to_its_end(_write(path, text))


async def read_ends(path: Path, limit: int) -> bytes:
    """Return all of a file, or a quarter of ``limit`` bytes of its head and the rest of its tail; empty if missing."""
    return await _to_its_end(_read(path, limit))


async def _to_its_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Await ``work`` to its end even if the caller is cancelled: it leaves no open file and no half one."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


async def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.tmp")
    try:
        async with aiofiles.open(fresh, "w", encoding="utf-8", opener=_opener) as file:
            await file.write(text)
            await file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, _MODE)


async def _read(path: Path, limit: int) -> bytes:
    try:
        async with aiofiles.open(path, "rb") as file:
            size = await file.seek(0, os.SEEK_END)
            await file.seek(0)
            if size <= limit:
                return await file.read()
            head = await file.read(limit // 4)
            await file.seek(size - limit // 4 * 3)
            return head + b"\n" + await file.read()
    except FileNotFoundError:
        return b""
