"""Real programs, started for one test and never left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from unstuck.processes import Launch, Process, clean_environment


def is_gone(process: psutil.Process) -> bool:
    """Return whether it has ended; its parent may not have waited for it yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Lab:
    """Starts programs in a directory of their own, and hears what they print."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.output = directory / "output.raw"
        self.started: list[Process] = []
        self.heard = ""
        self.total = 0
        self._news = asyncio.Event()
        self._others = set(psutil.Process().children(recursive=True))

    def launch(self, *command: str, limit: int = 16 * 2**20, stdin: Path | None = None, **extra: str) -> Launch:
        return Launch(
            command=command,
            cwd=self.directory,
            environment=clean_environment(os.environ, **extra),
            output=self.output,
            stdin=stdin,
            limit=limit,
        )

    async def start(self, launch: Launch, spawned: Callable[[int, float], Awaitable[None]] | None = None) -> Process:
        process = await Process.start(launch, spawned=spawned, progress=self._hear)
        self.started.append(process)
        return process

    async def shell(self, script: str) -> Process:
        return await self.start(self.launch("sh", "-c", script))

    async def python(self, script: str) -> Process:
        return await self.start(self.launch(sys.executable, "-c", script))

    async def hears(self, text: str) -> str:
        """Wait until the program has printed ``text``; what it printed last."""
        while text not in self.heard:
            await self._news.wait()
            self._news.clear()
        return self.heard

    @staticmethod
    async def turn() -> None:
        """Look again after everybody else had a turn: another process gets there by itself."""
        await asyncio.sleep(0)

    def left(self) -> list[psutil.Process]:
        """Return the live processes of all that were started here."""
        started = set(psutil.Process().children(recursive=True)) - self._others
        return [each for each in started if not is_gone(each)]

    def _hear(self, total: int, tail: str) -> None:
        self.total, self.heard = total, tail
        self._news.set()


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    made = Lab(tmp_path)
    yield made
    for process in made.started:
        await process.stop(interrupt=0, terminate=0)
