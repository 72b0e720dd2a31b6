"""Transport between the SDK and its program, a process of unstuck behind its shim."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from unstuck.agents.command.jsonl_reader import Lines, ProtocolProblem


class Transport:
    """Transport as the SDK defines it. ``feed`` takes the program's output; ``seen`` gets each message, too."""

    def __init__(self, seen: Callable[[Mapping[str, Any]], None]) -> None:
        self._seen = seen
        self._say: Callable[[bytes], None] = lambda words: None
        self._lines = Lines()
        self._messages: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        self._open = False
        self.problem: ProtocolProblem | None = None

    def begin(self, say: Callable[[bytes], None]) -> None:
        """Open the transport; ``say`` writes to the program."""
        self._say, self._open = say, True

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the program's output."""
        try:
            for message in self._lines.add(piece):
                if self.problem is None:
                    self._seen(message)
                    self._messages.put_nowait(message)
        except ProtocolProblem as problem:
            self.end(problem)

    def end(self, problem: ProtocolProblem) -> None:
        """End the transport; the first problem stays."""
        if self.problem is None:
            self.problem, self._open = problem, False
            self._messages.put_nowait(None)

    # --- called by the SDK -------------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Do nothing: the process has started already."""

    async def write(self, data: str) -> None:
        """Write to the program; a write after its end has no effect."""
        self._say(data.encode())

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each message. Raises ProtocolProblem at the end, which fails requests that still wait."""
        while (message := await self._messages.get()) is not None:
            yield dict(message)
        if self.problem is not None:
            raise self.problem

    async def close(self) -> None:
        """Accept no more writes; the agent ends the process."""
        self._open = False

    def is_ready(self) -> bool:
        """Return whether writes are accepted."""
        return self._open

    async def end_input(self) -> None:
        """Do nothing: the agent closes the input."""
