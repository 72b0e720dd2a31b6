"""Server of the socket: bounded, never blocked by one client, and only for this user."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.channel.protocol import MAX_LINE, Message, Peer, Refused, credentials, encode, parse
from unstuck.errors import ChannelError, UnstuckError

if TYPE_CHECKING:
    import asyncio


BACKLOG = 1024

MAX_CLIENTS = 64
MAX_WAITING = 1024
_REJECTION_S = 1.0  # seconds for a rejected client to read the reason
_CLOSING_S = 5.0


def listen(path: Path) -> socket.socket:
    """Return a listening socket at ``path`` in place of a dead server's. Raises ChannelError."""
    with _locked(private_directory(path.parent)):
        if _has_listener(path):
            raise ChannelError(f"another process listens at {path}: a run is live in this project")
        if path.exists() and not stat.S_ISSOCK(path.lstat().st_mode):
            raise ChannelError(f"{path} is in the way and not a socket: remove it")
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(os.fspath(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise ChannelError(f"cannot listen at {path}: {error.strerror or error}") from None
        return listener


def private_directory(directory: Path) -> Path:
    """Return ``directory``, made where it is missing. Raises ChannelError where others can write into it."""
    try:
        for folder in reversed((directory, *directory.parents)):  # `parents=True` would leave these to the umask
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
        found = directory.stat()
    except OSError as error:
        raise ChannelError(f"cannot use {directory} for the socket: {error.strerror or error}") from None
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        # The mode stays: the setting may name a directory that others need as it is.
        raise ChannelError(f"{directory} is open to other users: chmod 700 it or set UNSTUCK_RUNTIME_DIR")
    return directory


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock ``directory`` against a second server that starts at the same time; no file remains."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _has_listener(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
        return True


class ChannelServer:
    """Listens at ``path`` and passes every message to ``handler``, which returns the reply.

    ``acknowledged`` gets the ids of acknowledged replies. At most ``clients`` are connected at once; for another one,
    the client that has been silent longest, and at least ``patience`` seconds, is disconnected. Requests with a ``do``
    in ``finished`` get their reply even while the server closes. Those in ``waiting`` may take as long as a person
    does; up to 1,024 of them do not count as clients.
    """

    def __init__(
        self,
        path: Path,
        handler: Callable[[Message, Peer], Awaitable[Message]],
        *,
        acknowledged: Callable[[str], Awaitable[None]] | None = None,
        clients: int = MAX_CLIENTS,
        patience: float = 1.0,
        finished: frozenset[str] = frozenset(),
        waiting: frozenset[str] = frozenset(),
    ) -> None:
        self.path = path
        self._handler = handler
        self._acknowledged = acknowledged
        self._limit = clients
        self._patience = patience
        self._finished, self._waiting = finished, waiting
        self._clients: set[_Client] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def start(self) -> None:
        """Listen. Raises :class:`ChannelError` if another process does or the directory is not private."""
        import asyncio

        listener = listen(self.path)
        self._inode = self.path.stat().st_ino
        self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=MAX_LINE, backlog=BACKLOG)

    async def close(self) -> None:
        """Stop listening, cancel the requests, and remove the socket file unless another server has replaced it."""
        import asyncio

        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        with contextlib.suppress(OSError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        if finishing := [client.task for client in self._clients if client.finishing]:
            await asyncio.wait(finishing, timeout=_CLOSING_S)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import asyncio

        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(reader, writer)
        try:
            if client.peer.uid != os.getuid():
                await client.reject({"error": "this socket belongs to another user"})
            elif not self._make_room():
                await client.reject({"error": "too many clients: try again", "busy": True})
            else:
                self._clients.add(client)
                await self._converse(client)
        except Refused as refusal:
            await client.reject({"error": str(refusal)})
        except ConnectionError:
            pass
        finally:
            self._clients.discard(client)
            client.close()

    def _make_room(self) -> bool:
        waiting = sum(client.waits for client in self._clients)
        if len(self._clients) - min(waiting, MAX_WAITING) < self._limit:
            return True
        silent = [client for client in self._clients if client.silent_for() > self._patience]
        if not silent:
            return False
        stalled = max(silent, key=_Client.silent_for)
        self._clients.discard(stalled)
        stalled.send({"error": "silent for too long: made room for others", "busy": True})
        stalled.task.cancel()
        return True

    async def _converse(self, client: _Client) -> None:
        expected = None
        while line := await client.line():
            message = parse(line)
            if "ack" in message:
                if message["ack"] == expected and expected and self._acknowledged:
                    await self._acknowledged(expected)
                expected = None
                continue
            client.finishing = message["do"] in self._finished
            client.waits = message["do"] in self._waiting
            reply = await client.while_connected(self._reply(message, client.peer))
            expected = reply.get("ack")
            client.send(reply)
            await client.writer.drain()
            if client.finishing and self._server is None:
                return
            client.finishing = client.waits = False

    async def _reply(self, message: Message, peer: Peer) -> Message:
        try:
            reply = await self._handler(message, peer)
        except UnstuckError as error:
            return {"error": " ".join(str(error).split())}
        except Exception as error:
            return {"error": f"{type(error).__name__} while working on {message['do']}"}
        return reply if "error" in reply else {"ok": True, **reply}


class _Client:
    """One connection. It reads a line ahead during a request, which shows a disconnection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import asyncio

        self.reader, self.writer = reader, writer
        self.peer = credentials(writer.get_extra_info("socket"))
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.finishing = self.waits = False
        self._busy = False
        self._last_line = time.monotonic()
        self._ahead: asyncio.Task[bytes] | None = None

    def silent_for(self) -> float:
        """Return the seconds since its last whole line; 0 while it waits for a reply."""
        return 0.0 if self._busy else time.monotonic() - self._last_line

    async def line(self) -> bytes:
        """Return the next whole line; empty at the end, also after an unfinished line."""
        ahead, self._ahead = self._ahead, None
        line = await (ahead or self._read())
        self._last_line = time.monotonic()
        return line

    async def _read(self) -> bytes:
        try:
            line = await self.reader.readline()
        except ValueError:
            raise Refused(f"a message may have {MAX_LINE} bytes") from None
        return line if line.endswith(b"\n") else b""

    async def while_connected(self, work: Awaitable[Message]) -> Message:
        """Return the result of ``work``, which is cancelled when the client disconnects."""
        import asyncio

        working = asyncio.ensure_future(work)
        self._ahead = asyncio.ensure_future(self._read())
        self._busy = True
        try:
            await asyncio.wait({working, self._ahead}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and self._is_disconnected():
                raise ConnectionResetError
            return await working
        finally:
            self._busy, self._last_line = False, time.monotonic()
            if not working.done():
                working.cancel()
                await asyncio.wait({working})

    def _is_disconnected(self) -> bool:
        ahead = self._ahead
        return ahead is not None and ahead.done() and ahead.exception() is None and not ahead.result()

    def send(self, reply: Message) -> None:
        line = encode(reply)
        if len(line) > MAX_LINE:
            line = encode({"error": f"the reply is larger than {MAX_LINE} bytes"})
        self.writer.write(line)

    async def reject(self, reply: Message) -> None:
        """Send the reason and read the rest: closing with unread bytes would discard the reason."""
        import asyncio

        self.send(reply)
        with contextlib.suppress(TimeoutError, OSError, ValueError):
            self.writer.write_eof()
            async with asyncio.timeout(_REJECTION_S):
                while await self.reader.read(MAX_LINE):
                    pass

    def close(self) -> None:
        if self._ahead is not None and not self._ahead.cancel() and not self._ahead.cancelled():
            self._ahead.exception()  # retrieved, so that the loop logs no warning
        if self.writer.transport.get_write_buffer_size():
            self.writer.transport.abort()
        else:
            self.writer.close()
