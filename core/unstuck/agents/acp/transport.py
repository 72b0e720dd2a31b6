"""Messages to and from an agent's process, as the protocol's package wants them.

Lines that are no message (an agent's own log, half a line) are passed over; what would make the package fail does not
reach it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from unstuck.agents.command.jsonl_reader import Lines, ProtocolProblem

__all__ = ["Wire"]

_WAIT_S = 1.0
"""An agent that closes its stream is mostly about to end, and its exit code says more."""


class Wire:
    """A transport. ``fault`` is why nothing more is heard, empty as long as it is."""

    def __init__(self) -> None:
        self.fault = ""
        self._say: Callable[[bytes], None] | None = None
        self._lines = Lines(strict=False)
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def connect(self, say: Callable[[bytes], None]) -> None:
        """What is sent goes to ``say`` from now on."""
        self._say = say

    def heard(self, piece: bytes) -> None:
        """Take a piece of what the agent says; an empty one is the end."""
        if self.fault:
            return
        if not piece:
            asyncio.get_running_loop().call_later(_WAIT_S, self.end, "its stream ended before its turn was over")
            return
        try:
            for message in self._lines.add(piece):
                if _is_message(message):
                    self._messages.put_nowait(message)
        except ProtocolProblem as problem:
            self.end(str(problem))

    def end(self, fault: str) -> None:
        """Nothing more is heard; the first reason stays."""
        if not self.fault:
            self.fault = fault
            self._messages.put_nowait(None)

    async def send(self, message: dict[str, Any]) -> None:
        """Say ``message``. Raises ConnectionError where nobody hears it any more."""
        if self.fault or self._say is None:
            raise ConnectionError(self.fault or "not connected")
        self._say(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        return await self._messages.get()

    async def close(self) -> None:
        """Hear nothing more."""
        self.end("it was closed")


def _is_message(message: dict[str, Any]) -> bool:
    """Whether it is a request, a notification or a response; an id that is none of ours answers nothing."""
    if "method" in message:
        return isinstance(message["method"], str) and isinstance(message.get("id"), str | int | None)
    error = message.get("error")
    fine = error is None or (
        isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    )
    return fine and isinstance(message.get("id"), int)
