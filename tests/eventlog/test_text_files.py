"""Reports, prompts and outputs: each is whole or the one before, and reading it blocks nothing."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from unstuck.eventlog.storage.text_files import is_unread, mark_unread, read_ends, read_piece, write_text


async def test_a_text_is_replaced_whole(tmp_path: Path) -> None:
    """The new text is there, for its owner only, and nothing beside it."""
    path = tmp_path / "report.md"
    await write_text(path, "one\n")
    await write_text(path, "čuvar\n" * 1000)
    assert path.read_text(encoding="utf-8") == "čuvar\n" * 1000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_nothing_has_read_is_known(tmp_path: Path) -> None:
    """Only where its time of access shows a read; what is no file is none that was left unread."""
    read, unread, pipe = (tmp_path / name for name in ("read", "unread", "pipe"))
    for file in (read, unread):
        file.write_text("Do it.")
    os.mkfifo(pipe)
    for file in (read, unread, pipe):
        mark_unread(file)
    read.read_text()
    assert [is_unread(file) for file in (read, unread, pipe, tmp_path / "missing")] == [False, True, False, False]
    assert not is_unread(unread), "it was read to see whether that shows"


@pytest.mark.skipif(not hasattr(os, "O_NOATIME"), reason="every reader shows on this system")
async def test_a_prompt_that_a_screen_shows_is_still_unread(tmp_path: Path) -> None:
    """A pane that shows the prompt is no agent that has read it."""
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Do it.")
    mark_unread(prompt)
    assert await read_ends(prompt, 100) == b"Do it."
    assert await read_piece(prompt, 0, 100) == (b"Do it.", 6)
    assert is_unread(prompt)


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


async def test_two_writers_at_once(tmp_path: Path) -> None:
    """The last writer wins with a whole text, and none fails because of the other."""
    path = tmp_path / "report.md"
    texts = [str(number) * 200_000 for number in range(8)]
    await asyncio.gather(*(write_text(path, text) for text in texts))
    assert path.read_text(encoding="utf-8") in texts
    assert list(tmp_path.iterdir()) == [path]


async def test_a_piece_of_a_file(tmp_path: Path) -> None:
    """From a place on, or from the end; its size alone; nothing behind the end."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"0123456789")
    assert await read_piece(path, 3, 4) == (b"3456", 10)
    assert await read_piece(path, -4, 2) == (b"67", 10)
    assert await read_piece(path, -40, 100) == (b"0123456789", 10)
    assert await read_piece(path, 0, 0) == (b"", 10)
    assert await read_piece(path, 99, 5) == (b"", 10)


@pytest.mark.parametrize("shape", ["pipe", "folder", "gone", "device", "nul", "half"])
async def test_no_file_to_read(tmp_path: Path, shape: str) -> None:
    """A pipe that nobody writes does not hold the reader up; everything else is an error at once, too."""
    path = tmp_path / "session.jsonl"
    if shape == "pipe":
        os.mkfifo(path)
    elif shape == "folder":
        path.mkdir()
    path = {"device": Path("/dev/zero"), "nul": Path("/a\0b"), "half": Path("/\ud800")}.get(shape, path)
    with pytest.raises(OSError):
        await read_piece(path, 0, 10)


@pytest.mark.parametrize("shape", ["pipe", "folder", "gone", "device"])
async def test_what_is_no_file_has_no_ends(tmp_path: Path, shape: str) -> None:
    """A check or an agent may put a pipe in the place of its own output: nothing waits for it."""
    path = tmp_path / "task.1.check.log"
    if shape == "pipe":
        os.mkfifo(path)
    elif shape == "folder":
        path.mkdir()
    elif shape == "device":
        path.symlink_to("/dev/zero")
    assert await read_ends(path, 100) == b""


async def test_a_reader_that_is_cancelled_closes_its_file(tmp_path: Path) -> None:
    """A hook that is killed while a transcript is read leaves no file open."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"x" * 1_000_000)
    for turns in range(20):
        reading = asyncio.ensure_future(read_piece(path, 0, 2**20))
        for _ in range(turns):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()  # its threads have come to their ends
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert str(path) not in links
