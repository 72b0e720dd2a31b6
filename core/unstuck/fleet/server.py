"""The host's end of a link: sends the logs of this user's runs, and carries out what is asked of them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from unstuck.clock import SystemClock
from unstuck.fleet.frames import (
    ALIVE_S,
    FRAME_LIMIT,
    PROTOCOL,
    Alive,
    Ask,
    Follow,
    Hello,
    LogBroken,
    LogEnded,
    LogLines,
    LogLive,
    LogOpened,
    Reply,
    encode,
    from_screen,
)
from unstuck.fleet.host_logs import Broken, Ended, HostLog, HostLogs, Lines, News, Opened
from unstuck.fleet.requests import Requests
from unstuck.text import known_values, secret_values, set_secret_values
from unstuck.version import __version__

LOOK_S = 0.2
_LIVE_EVERY = 5
_SILENT_S = 60.0
_ASKED_AT_ONCE = 64


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, environ: Mapping[str, str]) -> None:
    """Serve one screen until it goes away, says nothing for a minute, or says what is no frame."""
    set_secret_values(dict.fromkeys((*known_values(), *secret_values(environ))))
    server = _Server(writer, environ)
    await server.send(server.hello())
    try:
        async with asyncio.timeout(_SILENT_S):
            follow = from_screen(await reader.readline())
    except (TimeoutError, ValueError):
        return
    if not isinstance(follow, Follow) or follow.protocol != PROTOCOL:
        return  # it has read the versions, and says why
    server.logs = HostLogs(environ, follow.cursors)
    requests = Requests(environ, follow.who)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(server.send_logs())
            group.create_task(server.send_alive())
            group.create_task(_hear(reader, server, requests, group))
    except* (ConnectionError, _Gone):
        pass


class _Gone(Exception):
    """The screen has gone away."""


class _Server:
    """The sending half; one frame goes out at a time, and a slow link is waited for."""

    def __init__(self, writer: asyncio.StreamWriter, environ: Mapping[str, str]) -> None:
        self._writer, self._environ = writer, environ
        self._clock, self._sending = SystemClock(), asyncio.Lock()
        self._live: dict[str, tuple[HostLog, bool]] = {}
        self.logs, self.looked = HostLogs(environ), asyncio.Event()

    def hello(self) -> Hello:
        now, mono = self._clock.now(), self._clock.monotonic()
        return Hello(protocol=PROTOCOL, version=__version__, host=os.uname().nodename[:255], now=now, mono=mono)

    async def send(self, frame: BaseModel) -> None:
        async with self._sending:
            self._writer.write(encode(frame))
            await self._writer.drain()

    async def send_alive(self) -> None:
        while True:
            await asyncio.sleep(ALIVE_S)
            await self.send(Alive(now=self._clock.now(), mono=self._clock.monotonic()))

    async def send_logs(self) -> None:
        """Send what is new in all logs, again and again."""
        looks = 0
        while True:
            news = self.logs.news()
            while (item := await asyncio.to_thread(next, news, None)) is not None:
                await self.send(await self._frame(item))
            self.looked.set()
            looks += 1
            if looks % _LIVE_EVERY == 0:
                await self._send_live()
            await asyncio.sleep(LOOK_S)

    async def _frame(self, item: News) -> BaseModel:
        name = item.log.name
        match item:
            case Opened():
                live = await asyncio.to_thread(item.log.is_live)
                self._live[name] = (item.log, live)
                return LogOpened(log=name, live=live)
            case Lines():
                return LogLines(log=name, lines=item.raw.decode("latin-1"))
            case Ended():
                return LogEnded(log=name)
            case Broken():
                return LogBroken(log=name, problem=item.problem[:10_000])

    async def _send_live(self) -> None:
        for name, (log, before) in list(self._live.items()):
            if (live := await asyncio.to_thread(log.is_live)) != before:
                self._live[name] = (log, live)
                await self.send(LogLive(log=name, live=live))


async def _hear(reader: asyncio.StreamReader, server: _Server, requests: Requests, group: asyncio.TaskGroup) -> None:
    """Carry out requests, several at once: one that waits for a run holds up no other."""
    room = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def carry_out(ask: Ask) -> None:
        try:
            if server.logs.log(ask.log) is None:  # a screen that has just come back asks before the first look
                await server.looked.wait()
            reply: dict[str, Any] = await requests.reply(server.logs.log(ask.log), ask.message)
            await server.send(Reply(id=ask.id, reply=reply))
        finally:
            room.release()

    while True:
        try:
            async with asyncio.timeout(_SILENT_S):
                line = await reader.readline()
            frame = from_screen(line)
        except (TimeoutError, ValueError, ConnectionError):
            raise _Gone from None
        if isinstance(frame, Ask):
            await room.acquire()
            group.create_task(carry_out(frame))


async def serve_stdio(environ: Mapping[str, str]) -> None:
    """Serve the screen at the other end of the standard streams."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=FRAME_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.streams.FlowControlMixin(), sys.stdout.buffer)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    with suppress(ConnectionError):
        await serve(reader, writer, environ)
    transport.abort()
