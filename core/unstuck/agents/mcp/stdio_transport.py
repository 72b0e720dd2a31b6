"""Transport of the protocol over standard input and output: bounded lines of JSON with confirmed replies.

A thread reads the input, which may be a pipe, a socket or a file; the process ends without waiting for it. A write may
block: an agent that does not read holds up only itself.
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

MAX_LINE = 2**25
_CHUNK, _AHEAD = 2**16, 8
_NOT_OURS = "not a message of the Model Context Protocol"
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Replies:
    """Output of replies. A callback set with ``after`` is awaited once a reply has been written."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._after: dict[Any, Callable[[], Awaitable[None]]] = {}
        self._due: list[Callable[[], Awaitable[None]]] = []

    def after(self, request: Any, then: Callable[[], Awaitable[None]]) -> None:
        """Await ``then`` after the reply to ``request``."""
        self._after[request] = then

    async def write(self, text: str) -> None:
        """Write one message with its line end."""
        if self._after and (then := self._after.pop(_id_of(text), None)) is not None:
            self._due.append(then)
        self._stream.write(text.encode())
        self._stream.flush()

    async def flush(self) -> None:
        """Await the callbacks of the replies written so far; ``write`` has flushed them."""
        due, self._due = self._due, []
        for then in due:
            await then()

    async def refuse(self, code: int, problem: str, id: str | int | None = None) -> None:
        """Answer a bad line with an error, with the ``id`` of a request."""
        error = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": problem}}
        await self.write(json.dumps(error) + "\n")


class Lines:
    """Messages from ``descriptor`` until the agent disconnects.

    ``is_understood`` returns whether the protocol's package accepts a text; it ignores any other silently. ``problem``
    is the reason for an early end.
    """

    def __init__(self, descriptor: int, replies: Replies, is_understood: Callable[[str], bool]) -> None:
        self._descriptor, self._replies, self._is_understood = descriptor, replies, is_understood
        self.problem = ""

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield every line that is a message and answer the others; end at a line that is too long."""
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
        """Return the message in this line of JSON; None for a refused one."""
        message, text = json.loads(line), line.decode()
        is_request = "method" in message and "id" in message
        id = message["id"] if is_request and isinstance(message["id"], str | int) else None
        if not is_request or id is not None:  # a request with a bad id would count as a notification
            if self._is_understood(text):
                return text
            if (mended := _mended(message)) and self._is_understood(mended):
                return mended
        complain(f"{_NOT_OURS}: {one_line(line)}")
        if is_request:
            await self._replies.refuse(_INVALID_REQUEST, _NOT_OURS, id)
        return None


def _mended(message: Any) -> str:
    """Return ``message`` without lone surrogates, which a cut text leaves and some parsers reject.

    Empty if it is nested too deeply.
    """
    try:
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"
    except RecursionError:
        return ""


def complain(problem: str) -> None:
    """Write ``problem`` to standard error, which agents keep as the server's log."""
    with suppress(OSError):
        sys.stderr.write(f"unstuck mcp: {problem}\n")
        sys.stderr.flush()


async def _lines(descriptor: int) -> AsyncIterator[bytes]:
    """Yield every line with its end; a line that is too long in part, and the last one as it is."""
    loop, room = asyncio.get_running_loop(), Semaphore(_AHEAD)
    read: asyncio.Queue[bytes] = asyncio.Queue()

    def work() -> None:
        with suppress(RuntimeError):  # the loop has ended
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
