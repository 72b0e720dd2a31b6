"""Standard input and output as the protocol uses them: one JSON object a line, bounded, and known to have arrived.

Both block in threads of their own: what an agent gives a program as its input may be a pipe, a socket or a file.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, BinaryIO

from unstuck.text import one_line

__all__ = ["MAX_LINE", "Lines", "Replies", "complain"]

MAX_LINE = 2**25
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Replies:
    """What is written. ``after`` is awaited once the reply to a request is with the agent, as far as we can know."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._after: dict[Any, Callable[[], Awaitable[None]]] = {}
        self._due: list[Callable[[], Awaitable[None]]] = []
        self._turn = asyncio.Lock()

    def after(self, request: Any, then: Callable[[], Awaitable[None]]) -> None:
        """Await ``then`` behind the reply to ``request``."""
        self._after[request] = then

    async def write(self, text: str) -> None:
        """One message, with its line end."""
        if self._after and (then := self._after.pop(_id_of(text), None)) is not None:
            self._due.append(then)
        async with self._turn:
            await asyncio.to_thread(self._written, text.encode())

    async def flush(self) -> None:
        """What was written has left us already."""
        due, self._due = self._due, []
        for then in due:
            await then()

    def _written(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()

    async def refuse(self, code: int, problem: str) -> None:
        """Say what is wrong with a line that belongs to no request we could know of."""
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": problem}}
        await self.write(json.dumps(error) + "\n")


class Lines:
    """What is read: one message after the other, until the agent goes. ``problem`` is why it ended before that."""

    def __init__(self, stream: BinaryIO, replies: Replies) -> None:
        self._stream, self._replies = stream, replies
        self.problem = ""

    async def __aiter__(self) -> AsyncIterator[str]:
        """Every line that is a message; the others are answered here. Behind one that is too long nothing is read."""
        while line := await asyncio.to_thread(self._stream.readline, MAX_LINE + 1):
            if len(line) > MAX_LINE:
                self.problem = f"a message may have {MAX_LINE} bytes: the server ends"
                await self._replies.refuse(_INVALID_REQUEST, self.problem)
                return
            if not line.strip():
                continue
            if problem := _problem(line):
                await self._replies.refuse(_PARSE_ERROR, problem)
                complain(f"{problem}: {one_line(line)}")
                continue
            yield line.decode("utf-8", "replace")


def complain(problem: str) -> None:
    """Into the agent's own log of the server, as far as it keeps one."""
    with suppress(OSError):
        sys.stderr.write(f"unstuck mcp: {problem}\n")
        sys.stderr.flush()


def _problem(line: bytes) -> str:
    if not line.endswith(b"\n"):
        return "the input ends within a message"
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return "not a line of JSON"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "not a JSON-RPC 2.0 message"
    return ""


def _id_of(text: str) -> Any:
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message.get("id") if "method" not in message else None
