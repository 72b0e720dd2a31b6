"""Prompts, reports, outputs and transcripts, written and read without blocking the event loop."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import aiofiles

from unstuck.eventlog.storage.durable_files import plain

_MODE = 0o600
_NO_TIME = getattr(os, "O_NOATIME", 0)
_Result = TypeVar("_Result")


async def write_text(path: Path, text: str) -> None:
    """Write ``path`` for its owner only, so that it holds the old text or all of the new one. Raises OSError."""
    await _to_its_end(_write(path, text))


async def read_ends(path: Path, limit: int) -> bytes:
    """Return all of a file, or a quarter of ``limit`` bytes of its head and the rest of its tail.

    Empty if it is missing, or a pipe or a device in its place, for which nothing waits.
    """
    # A thread closes its file, whoever is cancelled and whatever ends the loop meanwhile.
    return await asyncio.to_thread(_read, path, limit)


async def read_piece(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """Return at most ``limit`` bytes of a plain file from ``offset`` on, and its size.

    A negative offset counts from the end. Raises OSError for a missing file, a pipe or a device, and never waits.
    """
    return await asyncio.to_thread(_read_piece, path, offset, limit)


async def _to_its_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Await ``work`` to its end even if the caller is cancelled: it leaves no open file and no half one."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


async def _write(path: Path, text: str) -> None:
    # Each writer has a file of its own, so that of two at once neither gets parts of the other.
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        async with aiofiles.open(fresh, "x", encoding="utf-8", opener=_opener) as file:
            await file.write(text)
            await file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, _MODE)


def _read(path: Path, limit: int) -> bytes:
    try:
        with open(path, "rb", opener=_plain_opener) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size <= limit:
                return file.read()
            head = file.read(limit // 4)
            file.seek(size - limit // 4 * 3)
            return head + b"\n" + file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EISDIR):  # it is no plain file
            return b""
        raise


def _read_piece(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    try:
        with open(path, "rb", opener=_plain_opener) as file:
            size = file.seek(0, os.SEEK_END)
            if not limit:
                return b"", size
            file.seek(max(0, size + offset) if offset < 0 else offset)
            return file.read(limit), size
    except ValueError as error:  # a path with a NUL or half a character
        raise OSError(str(error)) from None


def _plain_opener(path: str, flags: int) -> int:
    try:
        # A prompt that a screen shows is still unread by its agent.
        return _opener_that_shows(path, flags | _NO_TIME)
    except PermissionError:  # the file of somebody else
        return _opener_that_shows(path, flags)


def _opener_that_shows(path: str, flags: int) -> int:
    # Without O_NONBLOCK a pipe would block for ever.
    return plain(os.open(path, flags | os.O_NONBLOCK))


def mark_unread(path: Path) -> None:
    """Set the time of the last access of ``path`` to zero, so that the next reader shows. Does nothing if it cannot."""
    with suppress(OSError):
        os.utime(path, (0, path.stat().st_mtime))


def is_unread(path: Path) -> bool:
    """Return whether no agent has read ``path`` since it was marked, and read it; False where no read shows there.

    The other functions of this module leave no trace where the system has a flag for it, such as Linux. Some file
    systems keep no such time without saying so, such as NFS for what it has in memory.
    """
    with suppress(OSError):
        if path.stat().st_atime == 0:
            with open(path, "rb", opener=_opener_that_shows) as file:
                file.read(1)
            return path.stat().st_atime != 0
    return False
