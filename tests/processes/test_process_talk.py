"""A process that is spoken with: what it is told and what it answers, whole, and without it ever making anyone wait."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from unstuck.processes import Launch, Process, clean_environment

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stderr.write("got one\\n")
    sys.stdout.buffer.write(b"> " + line)
    sys.stdout.buffer.flush()
print("over")
"""


def launched(folder: Path, code: str) -> Launch:
    """A Python program that is spoken with."""
    return Launch(
        command=(sys.executable, "-I", "-S", "-c", code),
        cwd=folder,
        environment=clean_environment(os.environ),
        output=folder / "output.raw",
        talks=True,
    )


class Heard:
    """Output of the process so far."""

    def __init__(self) -> None:
        self.said = bytearray()
        self.over = False
        self._news = asyncio.Event()

    def hear(self, piece: bytes) -> None:
        self.said += piece
        self.over = not piece
        self._news.set()

    async def until(self, count: int) -> bytes:
        """Wait for so many bytes."""
        while len(self.said) < count:
            self._news.clear()
            await self._news.wait()
        return bytes(self.said)


async def test_it_answers_what_it_is_told(tmp_path: Path) -> None:
    """Each word arrives and each answer comes back, apart from errors; the end of what it is told ends it by itself."""
    heard = Heard()
    process = await Process.start(launched(tmp_path, ECHO), heard=heard.hear)
    process.say("žaba\n".encode())
    assert await heard.until(8) == "> žaba\n".encode()
    process.say(b"\xff\x00\n")
    await heard.until(13)
    process.hush()
    done = await process.wait()
    assert bytes(heard.said) == "> žaba\n".encode() + b"> \xff\x00\nover\n"
    assert done.code == 0
    assert done.receipt.alive == ()
    assert heard.over is True
    kept = (tmp_path / "output.raw").read_bytes()
    assert b"got one" in kept
    assert b"over" in kept


async def test_a_large_word_reaches_one_that_reads_late(tmp_path: Path) -> None:
    """More than a pipe holds is kept until the process takes it, and the end comes only after it."""
    heard = Heard()
    code = "import sys; print('ready', flush=True); sys.stdin.readline(); print(len(sys.stdin.buffer.read()))"
    process = await Process.start(launched(tmp_path, code.replace("readline", "buffer.readline")), heard=heard.hear)
    await heard.until(6)
    process.say(b"first\n" + b"x" * 3_000_000)
    process.hush()
    await process.wait()
    assert bytes(heard.said) == b"ready\n3000000\n"


async def test_nothing_of_a_flood_is_left_out(tmp_path: Path) -> None:
    """Twenty megabytes come whole and in their order, though the file beside them is bounded."""
    heard = Heard()
    code = "import sys\nfor n in range(20): sys.stdout.write(chr(97 + n) * 1_000_000)"
    process = await Process.start(replace(launched(tmp_path, code), limit=100_000), heard=heard.hear)
    done = await process.wait()
    assert bytes(heard.said) == b"".join(bytes([97 + n]) * 1_000_000 for n in range(20))
    assert done.bytes == 20_000_000
    assert (tmp_path / "output.raw").stat().st_size < 101_000


async def test_one_that_does_not_read_can_be_stopped(tmp_path: Path) -> None:
    """A process that takes nothing of what it is told, and says nothing, ends like any other."""
    heard = Heard()
    code = "import time; print('ready', flush=True); time.sleep(3600)"
    process = await Process.start(launched(tmp_path, code), heard=heard.hear)
    await heard.until(6)
    process.say(b"y" * 1_000_000)
    receipt = await process.stop(interrupt=0.0, terminate=1.0)
    assert [how for _, _, how in receipt.ended] == ["terminated"]
    process.say(b"too late")
    process.hush()
