"""Reports, prompts and outputs: each is whole or the one before, and reading it blocks nothing."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from unstuck.eventlog.storage.text_files import read_ends, write_text


async def test_a_text_is_replaced_whole(tmp_path: Path) -> None:
    """The new text is there, for its owner only, and nothing beside it."""
    path = tmp_path / "report.md"
    await write_text(path, "one\n")
    await write_text(path, "čuvar\n" * 1000)
    assert path.read_text(encoding="utf-8") == "čuvar\n" * 1000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


async def test_a_writer_that_is_cancelled_leaves_no_half(tmp_path: Path) -> None:
    """The file is the old one or the new one; what was begun is brought to its end."""
    path = tmp_path / "report.md"
    await write_text(path, "old")
    writing = asyncio.ensure_future(write_text(path, "new" * 100_000))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others)
    assert path.read_text(encoding="utf-8") == "new" * 100_000
    assert list(tmp_path.iterdir()) == [path]


async def test_a_text_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Half a file would look like a report."""
    with pytest.raises(UnicodeEncodeError):
        await write_text(tmp_path / "report.md", "x" * 100_000 + "\ud800")
    assert list(tmp_path.iterdir()) == []


async def test_the_ends_of_a_large_file(tmp_path: Path) -> None:
    """Its head and its tail; all of a small one; nothing of one that is not there."""
    path = tmp_path / "output.log"
    path.write_bytes(b"a" * 50 + b"b" * 1000 + b"c" * 75)
    assert await read_ends(path, 100) == b"a" * 25 + b"\n" + b"c" * 75
    assert await read_ends(path, 2000) == path.read_bytes()
    assert await read_ends(tmp_path / "missing", 100) == b""
