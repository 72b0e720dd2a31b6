"""Transport between an agent's process and the protocol's package.

Lines without a valid message, such as an agent's own log, are skipped: the package would fail on some of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from unstuck.agents.command.jsonl_reader import Lines, ProtocolProblem

_WAIT_S = 1.0
"""Seconds to wait after the end of the stream: the process mostly exits next, and its exit code says more."""


class AcpTransport:
    """Transport of one process. ``fault`` is the reason why it has ended; empty until then."""

    def __init__(self) -> None:
        self.fault = ""
        self._say: Callable[[bytes], None] | None = None
        self._lines = Lines(strict=False)
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def connect(self, say: Callable[[bytes], None]) -> None:
        """Write to ``say`` from now on."""
        self._say = say

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the agent's output; none at its end."""
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
        """End the transport; the first reason stays."""
        if not self.fault:
            self.fault = fault
            self._messages.put_nowait(None)

    async def send(self, message: dict[str, Any]) -> None:
        """Send ``message``. Raises ConnectionError after the end."""
        if self.fault or self._say is None:
            raise ConnectionError(self.fault or "not connected")
        self._say(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        return await self._messages.get()

    async def close(self) -> None:
        """End the transport."""
        self.end("it was closed")


def _is_message(message: dict[str, Any]) -> bool:
    """Return whether ``message`` is a request, a notification, or a response with an id of the kind used here."""
    if "method" in message:
        return isinstance(message["method"], str) and isinstance(message.get("id"), str | int | None)
    error = message.get("error")
    fine = error is None or (
        isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    )
    return fine and isinstance(message.get("id"), int)
