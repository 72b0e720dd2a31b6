"""The link to a host over the server: what a viewer has copied as frames, requests and answers in return."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

from unstuck.contract import Answer
from unstuck.errors import RecordError, UnstuckError
from unstuck.eventlog.log.log_format import START, Position
from unstuck.fleet.frames import (
    PROTOCOL,
    Alive,
    Ask,
    Follow,
    FromHost,
    FromScreen,
    Hello,
    LogBroken,
    LogLines,
    LogLive,
    LogOpened,
    Reply,
)
from unstuck.fleet.host_logs import batches
from unstuck.fleet.link import LinkFailed
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.viewer import SILENT_S, Viewer
from unstuck.supervision.gates.gate_types import admitted
from unstuck.text import one_line

_LOOK_S = 1.0


class NatsLink:
    """A ``HostLink`` to one host of a fleet."""

    def __init__(self, viewer: Viewer, host: str) -> None:
        self._viewer, self._host = viewer, host
        self._follow: asyncio.Future[Follow] = asyncio.get_running_loop().create_future()
        self._replies: asyncio.Queue[Reply] = asyncio.Queue()
        self._asking: set[asyncio.Task[None]] = set()

    async def frames(self) -> AsyncIterator[FromHost]:
        words = self._words()
        spoken = words.get("protocol")
        yield Hello(
            protocol=PROTOCOL if spoken == s.PROTOCOL else -1,
            version=one_line(str(words.get("version", "")), 40),
            host=self._host,
            now=self._clock(words, "now"),
            mono=self._clock(words, "mono"),
        )
        ends = dict((await self._follow).cursors)
        live: dict[str, bool] = {}
        broken: set[str] = set()
        while True:
            while not self._replies.empty():
                yield self._replies.get_nowait()
            words = self._words()
            yield Alive(now=self._clock(words, "now"), mono=self._clock(words, "mono"))
            now = set(map(str, words.get("live") or ()))
            for log in sorted(self._viewer.copied.get(self._host, set())):
                end = ends.get(log, START)
                if self._viewer.copies.cursor(self._host, log).seq > end.seq or (log in now and log not in live):
                    if log not in live:
                        live[log] = log in now
                        yield LogOpened(log=log, live=live[log])
                    for raw, last in await asyncio.to_thread(list, self._lines(log, end)):
                        ends[log] = last
                        yield LogLines(log=log, lines=raw.decode("latin-1"))
            for log, was in list(live.items()):
                if was != (log in now):
                    live[log] = log in now
                    yield LogLive(log=log, live=live[log])
            problems = dict(words.get("broken") or {})
            problems |= {log: why for (host, log), why in self._viewer.refused.items() if host == self._host}
            for log in problems.keys() - broken:
                broken.add(log)
                yield LogBroken(log=log, problem=one_line(str(problems[log]), 300))
            if self._replies.empty():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await self._viewer.next_change()

    def _lines(self, log: str, end: Position) -> Iterator[tuple[bytes, Position]]:
        """Yield whole lines of the copy after ``end`` in batches, with the position after each."""
        with suppress(RecordError):
            yield from batches(self._viewer.copies.path(self._host, log), end)

    def _words(self) -> dict[str, Any]:
        """Return the last words of the host. Raises LinkFailed where they are old."""
        if not self._viewer.is_known(self._host):
            raise LinkFailed(self._viewer.problem or f"it was not heard for {SILENT_S:g} s")
        return self._viewer.hosts[self._host].words

    def _clock(self, words: dict[str, Any], name: str) -> float:
        try:
            return float(words[name]) + self._viewer.heard_ago(self._host)
        except (KeyError, TypeError, ValueError):
            raise LinkFailed("it does not say its time") from None

    async def send(self, frame: FromScreen) -> None:
        match frame:
            case Follow() if not self._follow.done():
                self._follow.set_result(frame)
            case Ask():
                task = asyncio.create_task(self._ask(frame))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            case _:
                pass

    async def _ask(self, ask: Ask) -> None:
        try:
            if ask.message.get("do") == "answer":
                reply = await self._answer(ask)
            else:
                reply = await self._viewer.ask(self._host, ask.log, ask.message)
        except (UnstuckError, ValueError, KeyError, TypeError) as problem:
            reply = {"error": str(problem), "code": getattr(problem, "exit_code", 2)}
        await self._replies.put(Reply(id=ask.id, reply=reply))
        await self._viewer.wake()

    async def _answer(self, ask: Ask) -> dict[str, Any]:
        message = ask.message
        number = message.get("number")
        answer = Answer(
            choice=message["choice"],
            text=admitted(str(message.get("text") or "")),
            number=float(number) if number is not None else None,
            scope=message.get("scope") or "once",
        )
        given = await self._viewer.answer(self._host, ask.log, str(message["gate"]), answer)
        if given.mine:
            return {"ok": True}
        what = one_line(f"{given.what.get('choice')} {given.what.get('text') or ''}", 200).strip()
        return {"error": f"{message['gate']} was answered by {given.by} already: {what}", "code": 2}

    async def close(self) -> None:
        for task in self._asking:
            task.cancel()
