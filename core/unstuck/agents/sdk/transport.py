"""The SDK's way to its program: a process of ours, behind its shim like every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from unstuck.agents.command.jsonl_reader import Lines, ProtocolProblem

__all__ = ["Transport"]


class Transport:
    """What the SDK asks of a transport. Give what the program says to ``hear``; ``seen`` gets each message, too."""

    def __init__(self, seen: Callable[[Mapping[str, Any]], None]) -> None:
        self._seen = seen
        self._say: Callable[[bytes], None] = lambda words: None
        self._lines = Lines()
        self._messages: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        self._open = False
        self.problem: ProtocolProblem | None = None

    def begin(self, say: Callable[[bytes], None]) -> None:
        """The program is there; ``say`` takes bytes for it."""
        self._say, self._open = say, True

    def hear(self, piece: bytes) -> None:
        """Take the next bytes of the program."""
        try:
            for message in self._lines.add(piece):
                if self.problem is None:
                    self._seen(message)
                    self._messages.put_nowait(message)
        except ProtocolProblem as problem:
            self.end(problem)

    def end(self, problem: ProtocolProblem) -> None:
        """Nothing more will be said."""
        if self.problem is None:
            self.problem, self._open = problem, False
            self._messages.put_nowait(None)

    # --- what the SDK calls ------------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """The process has been started already."""

    async def write(self, data: str) -> None:
        """Tell the program; one that has ended does not mind."""
        self._say(data.encode())

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Each message. Raises ProtocolProblem once there are no more: whoever waits for an answer then hears of it."""
        while (message := await self._messages.get()) is not None:
            yield dict(message)
        if self.problem is not None:
            raise self.problem

    async def close(self) -> None:
        """The process is ended by whoever has started it."""
        self._open = False

    def is_ready(self) -> bool:
        """Whether something may be said."""
        return self._open

    async def end_input(self) -> None:
        """The input is ended by whoever has started the process."""
