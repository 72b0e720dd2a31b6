"""Client of the socket, for an event loop and for commands without one."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.channel.protocol import MAX_LINE, VERSION, Message, credentials, encode
from unstuck.errors import ChannelError, NoReply

if TYPE_CHECKING:
    import asyncio

BUSY_PAUSE_S = 0.05
_QUEUE_FULL: Message = {"error": "too many clients: try again", "busy": True}


async def request(path: Path, message: Message, *, timeout: float | None = None) -> Message:
    """Send ``message`` (``v`` is added), acknowledge the reply and return it, an ``error`` included.

    Raises :class:`ChannelError` if there is no listener, the server disconnects, or no reply comes within ``timeout``
    seconds.
    """
    import asyncio

    try:
        async with asyncio.timeout(timeout):
            exchange = await converse(path, message)
            await exchange.acknowledge()
            return exchange.reply
    except TimeoutError:
        raise NoReply(f"no reply at {path} within {timeout} s") from None


async def converse(path: Path, message: Message) -> Exchange:
    """Send ``message`` like :func:`request`, without a time limit; the caller acknowledges the reply later."""
    import asyncio

    try:
        # A rejected client can only ask again; there is nothing to wait for.
        while (exchange := await _exchanged(path, message)).reply.get("busy"):
            await exchange.close()
            await asyncio.sleep(BUSY_PAUSE_S)
        return exchange
    except OSError as error:
        raise _unreachable(path, error) from None


class Exchange:
    """A reply with a pending acknowledgement; ``acknowledge`` or ``close`` ends it."""

    def __init__(self, reply: Message, writer: asyncio.StreamWriter | None = None) -> None:
        self.reply, self._writer = reply, writer

    async def acknowledge(self) -> None:
        """Send the acknowledgement if the reply asks for one; a disconnected server is no error."""
        if self._writer is not None and "ack" in self.reply:
            with contextlib.suppress(OSError):
                self._writer.write(encode({"v": VERSION, "ack": self.reply["ack"]}))
                await self._writer.drain()
        await self.close()

    async def close(self) -> None:
        """Disconnect without an acknowledgement."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _exchanged(path: Path, message: Message) -> Exchange:
    import asyncio

    connection = _connect(path)
    if connection is None:
        return Exchange(_QUEUE_FULL)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_LINE)
    try:
        writer.write(encode({**message, "v": VERSION}))
        return Exchange(_read_reply(path, await _read_line(path, reader)), writer)
    except BaseException:
        writer.close()
        raise


async def _read_line(path: Path, reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:
        raise ChannelError(f"{path}: the reply is larger than {MAX_LINE} bytes") from None


def call(path: Path, message: Message, timeout: float | None = None) -> Message:
    """Send ``message`` like :func:`request`, for commands without an event loop."""
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while (reply := _ask_blocking(path, message, deadline)).get("busy"):
            time.sleep(BUSY_PAUSE_S)
        return reply
    except TimeoutError:
        raise NoReply(f"no reply at {path} within {timeout} s") from None
    except OSError as error:
        raise _unreachable(path, error) from None


def _ask_blocking(path: Path, message: Message, deadline: float | None) -> Message:
    connection = _connect(path)
    if connection is None:
        _remaining(deadline)
        return _QUEUE_FULL
    with connection:
        connection.settimeout(_remaining(deadline))
        with contextlib.suppress(BrokenPipeError):
            # A rejected client finds the reason in the reply.
            connection.sendall(encode({**message, "v": VERSION}))
        line = bytearray()
        while not line.endswith(b"\n") and len(line) <= MAX_LINE:
            connection.settimeout(_remaining(deadline))
            chunk = connection.recv(65536)
            if not chunk:
                break
            line += chunk
        reply = _read_reply(path, bytes(line))
        if "ack" in reply:
            connection.sendall(encode({"v": VERSION, "ack": reply["ack"]}))
        return reply


def _remaining(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


def _read_reply(path: Path, line: bytes) -> Message:
    if not line.endswith(b"\n"):
        raise ChannelError(f"{path}: the other end went away before it replied")
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        raise ChannelError(f"{path}: the reply is not a JSON object")
    return reply


def _unreachable(path: Path, error: OSError) -> ChannelError:
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return ChannelError(f"no supervisor listens at {path}: is a run live here?")
    return ChannelError(f"{path}: {error.strerror or error}")


def _connect(path: Path) -> socket.socket | None:
    """Return a connection to this user's server; None while its queue is full, which asyncio takes for connected."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        connection.connect(os.fspath(path))
        if credentials(connection).uid != os.getuid() or os.lstat(path).st_uid != os.getuid():
            raise ChannelError(f"{path} belongs to another user")
    except BlockingIOError:
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection
