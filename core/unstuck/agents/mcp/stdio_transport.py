"""Standard input and output as the protocol uses them: one JSON object a line, bounded, and known to have arrived.

What is read is read by a thread, because what an agent gives a program as its input may be a pipe, a socket or a file;
nobody waits for it at the end. What is written may block: an agent that does not read keeps nobody but itself waiting.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Any, BinaryIO

from unstuck.text import one_line

__all__ = ["MAX_LINE", "Lines", "Replies", "complain"]

MAX_LINE = 2**25
_CHUNK, _AHEAD = 2**16, 8
_NOT_OURS = "not a message of the Model Context Protocol"
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Replies:
    """What is written. ``after`` is awaited once the reply to a request is with the agent, as far as we can know."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._after: dict[Any, Callable[[], Awaitable[None]]] = {}
        self._due: list[Callable[[], Awaitable[None]]] = []

    def after(self, request: Any, then: Callable[[], Awaitable[None]]) -> None:
        """Await ``then`` behind the reply to ``request``."""
        self._after[request] = then

    async def write(self, text: str) -> None:
        """One message, with its line end."""
        if self._after and (then := self._after.pop(_id_of(text), None)) is not None:
            self._due.append(then)
        self._stream.write(text.encode())
        self._stream.flush()

    async def flush(self) -> None:
        """What was written has left us already."""
        due, self._due = self._due, []
        for then in due:
            await then()

    async def refuse(self, code: int, problem: str, id: str | int | None = None) -> None:
        """Say what is wrong with a line; where it was a request, whoever waits for its ``id`` hears of it."""
        error = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": problem}}
        await self.write(json.dumps(error) + "\n")


class Lines:
    """What is read from ``descriptor``: one message after the other, until the agent goes.

    ``is_understood`` says whether a text is a message to whoever reads it, who would pass over any other in silence.
    ``problem`` is why it ended before the agent went.
    """

    def __init__(self, descriptor: int, replies: Replies, is_understood: Callable[[str], bool]) -> None:
        self._descriptor, self._replies, self._is_understood = descriptor, replies, is_understood
        self.problem = ""

    async def __aiter__(self) -> AsyncIterator[str]:
        """Every line that is a message; the others are answered here. Behind one that is too long nothing is read."""
        async for line in _lines(self._descriptor):
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
            if (text := await self._understood(line)) is not None:
                yield text

    async def _understood(self, line: bytes) -> str | None:
        """The message of this line of JSON; None for one that is refused."""
        message, text = json.loads(line), line.decode()
        is_request = "method" in message and "id" in message
        id = message["id"] if is_request and isinstance(message["id"], str | int) else None
        if not is_request or id is not None:  # else it would be taken for one that wants no answer
            if self._is_understood(text):
                return text
            if (mended := _mended(message)) and self._is_understood(mended):
                return mended
        complain(f"{_NOT_OURS}: {one_line(line)}")
        if is_request:
            await self._replies.refuse(_INVALID_REQUEST, _NOT_OURS, id)
        return None


def _mended(message: Any) -> str:
    """``message`` without halves of characters: where a text was cut off in one that is JSON to most, but not to all.

    Empty where it is nested too deeply.
    """
    try:
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"
    except RecursionError:
        return ""


def complain(problem: str) -> None:
    """Into the agent's own log of the server, as far as it keeps one."""
    with suppress(OSError):
        sys.stderr.write(f"unstuck mcp: {problem}\n")
        sys.stderr.flush()


async def _lines(descriptor: int) -> AsyncIterator[bytes]:
    """Every line with its end; one that is too long as far as it was read, and the last one as it is."""
    loop, room = asyncio.get_running_loop(), Semaphore(_AHEAD)
    read: asyncio.Queue[bytes] = asyncio.Queue()

    def work() -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody listens any more
            for line in _split(descriptor):
                room.acquire()
                loop.call_soon_threadsafe(read.put_nowait, line)
            loop.call_soon_threadsafe(read.put_nowait, b"")

    Thread(target=work, daemon=True).start()
    while line := await read.get():
        room.release()
        yield line


def _split(descriptor: int) -> Iterator[bytes]:
    rest = bytearray()
    while chunk := _chunk(descriptor):
        *ended, last = chunk.split(b"\n")
        for part in ended:
            yield bytes(rest) + part + b"\n"
            rest.clear()
        rest += last
        if len(rest) > MAX_LINE:
            break
    yield bytes(rest)


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


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
