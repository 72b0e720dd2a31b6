"""A host that a screen follows: connected again and again, its logs copied, its answers passed on."""

from __future__ import annotations

import asyncio
import getpass
import os
import random
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Literal

from unstuck.clock import Clock, SystemClock, iso
from unstuck.errors import RecordError, UnstuckError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.storage.run_store import has_ended
from unstuck.fleet.copies import LOGS_LIMIT, Copies, CopyRefused
from unstuck.fleet.frames import (
    ALIVE_S,
    PROTOCOL,
    Alive,
    Ask,
    Follow,
    FromHost,
    Hello,
    LogBroken,
    LogEnded,
    LogLines,
    LogLive,
    LogOpened,
    Reply,
)
from unstuck.fleet.link import HostLink, LinkFailed
from unstuck.fleet.names import host_name, log_name
from unstuck.fleet.remote_run import RemoteRun
from unstuck.text import admit, one_line
from unstuck.version import __version__
from unstuck.words.amounts import span, time_of_day

SILENT_S = 3 * ALIVE_S
"""Seconds without a frame after which a host counts as cut off."""
REPLY_S = 40.0
_BACKOFF_S = (0.5, 30.0)
_STEADY_S = 0.5
"""Seconds by which a clock may seem to move: a frame takes its time on the way."""

LinkOpener = Callable[[str], Awaitable[HostLink]]
Standing = Literal["connecting", "connected", "cut off", "refused"]


class RemoteHost:
    """One host and its runs. ``changed`` is called with a run and its new record, or without where it stands otherwise.

    ``offset`` and ``mono_offset`` are the seconds by which this machine's clocks are ahead of the host's.
    """

    def __init__(
        self,
        name: str,
        open_link: LinkOpener,
        copies: Copies,
        changed: Callable[[RemoteRun | None, Record | None], None],
        *,
        clock: Clock | None = None,
        silent_s: float = SILENT_S,
        backoff_s: tuple[float, float] = _BACKOFF_S,
    ) -> None:
        self.name, self._open_link, self._copies, self._changed = host_name(name), open_link, copies, changed
        self.clock: Clock = clock or SystemClock()
        self._silent_s, self._backoff_s = silent_s, backoff_s
        self.standing: Standing = "connecting"
        self.problem = ""
        self.since = self.clock.monotonic()
        """The monotonic time at which the host was last heard of."""
        self.offset = self.mono_offset = 0.0
        self.runs: dict[str, RemoteRun] = {}
        self._link: HostLink | None = None
        self._followed: Collection[str] = ()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._load()

    @property
    def age(self) -> str:
        """The time since the host was last heard of, in words."""
        return span(self.clock.monotonic() - self.since)

    @property
    def words(self) -> str:
        """The host and how it stands, in a few words."""
        return self._words(f"for {self.age}")

    @property
    def words_since(self) -> str:
        """The same with the time at which the host was last heard of in the place of its age."""
        heard = iso(self.clock.now() - (self.clock.monotonic() - self.since))
        return self._words(f"since {time_of_day(heard, seconds=True)}")

    def _words(self, unheard: str) -> str:
        if self.standing == "connected":
            problems = [run.problem for run in self.runs.values() if run.problem]
            return f"{self.name} ✓" + (f" · {problems[0]}" if problems else "")
        if not self.problem:
            return f"{self.name} {self.standing}"
        unknown = "" if self.standing == "refused" else f", UNKNOWN {unheard}"
        return f"{self.name} {self.standing}{unknown}: {self.problem}"

    async def follow(self) -> None:
        """Follow the host for as long as this is awaited. A link that fails is opened again after a growing pause."""
        first, most = self._backoff_s
        pause = first
        while True:
            try:
                await self._follow_link()
            except (LinkFailed, TimeoutError, RecordError) as problem:
                was_connected = self.standing == "connected"
                reason = str(problem) or f"nothing was heard for {self._silent_s:g} s"
                if self.standing != "refused":
                    self._stand("cut off", one_line(admit(reason), 200))
                pause = first if was_connected else min(most, 2 * pause)
            await self.clock.sleep(pause * (0.5 + random.random() / 2))

    async def ask(self, log: str, message: dict[str, Any]) -> dict[str, Any]:
        """Return the host's reply to a message about ``log``. Raises UnstuckError while it is cut off."""
        link = self._link
        if link is None or self.standing != "connected":
            raise UnstuckError(
                f"{self.name} is {self.standing}, and its state UNKNOWN for {self.age}: nothing is sent to it "
                "until it is back"
            )
        self._number += 1
        number = self._number
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            await link.send(Ask(id=number, log=log, message=message))
            async with asyncio.timeout(REPLY_S):
                return await waiting
        except (LinkFailed, TimeoutError):
            raise UnstuckError(
                f"{self.name} was cut off before it replied: it may have arrived, which shows when the host is back"
            ) from None
        finally:
            self._waiting.pop(number, None)

    # --- the link ----------------------------------------------------------------------------------------------------

    async def _follow_link(self) -> None:
        """Open a link and take its frames until it fails. Raises LinkFailed, TimeoutError, RecordError."""
        link = await self._open_link(self.name)
        try:
            frames = link.frames()
            async with asyncio.timeout(self._silent_s):
                hello = await anext(frames)
            self._greet(hello)
            logs = {log: self._copies.cursor(self.name, log) for log in self._copies.logs(self.name)}
            cursors = {log: end for log, end in logs.items() if not self._copies.refusal(self.name, log)}
            who = f"{_plain(getpass.getuser())}@{_plain(os.uname().nodename)}"[:80]
            await link.send(Follow(version=__version__, who=who, cursors=cursors))
            self._followed = cursors.keys()
            self._link = link
            self._stand("connected", "")
            beating = asyncio.create_task(_beat(link))
            try:
                while True:
                    async with asyncio.timeout(self._silent_s):
                        frame = await anext(frames)
                    self.since = self.clock.monotonic()
                    self._take(frame)
                    # Frames that lie ready would keep the screen from being drawn.
                    await asyncio.sleep(0)
            finally:
                beating.cancel()
        except StopAsyncIteration:
            raise LinkFailed("the connection is gone") from None
        finally:
            self._link = None
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(LinkFailed("cut off"))
            await link.close()

    def _greet(self, hello: FromHost) -> None:
        if not isinstance(hello, Hello):
            raise LinkFailed("it began without a greeting")
        if hello.protocol != PROTOCOL:
            version = one_line(admit(hello.version), 40)
            self._stand(
                "refused",
                f"it speaks version {hello.protocol} of the protocol (unstuck {version}), and this side version "
                f"{PROTOCOL} (unstuck {__version__}): use the same unstuck on both",
            )
            raise LinkFailed(self.problem)
        self._set_clocks(hello.now, hello.mono)

    def _set_clocks(self, now: float, mono: float) -> None:
        offset, mono_offset = self.clock.now() - now, self.clock.monotonic() - mono
        if max(abs(offset - self.offset), abs(mono_offset - self.mono_offset)) > _STEADY_S:
            self.offset, self.mono_offset = offset, mono_offset
            self._changed(None, None)

    def _take(self, frame: FromHost) -> None:
        match frame:
            case LogLines(log=log, lines=lines):
                self._take_lines(log, lines)
            case Alive(now=now, mono=mono):
                self._set_clocks(now, mono)
            case Reply(id=number, reply=reply):
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply)
            case LogOpened(log=log, live=live) | LogLive(log=log, live=live):
                if isinstance(frame, LogOpened) and log not in self._followed and log not in self.runs:
                    self._begin(log)
                if (run := self._run(log)) is not None:
                    run.live = live
                    self._changed(None, None)
            case LogBroken(log=log, problem=problem):
                if (run := self._run(log)) is not None:
                    run.problem = one_line(f"run {log_name(log).run}: {admit(problem)}", 300)
                    self._changed(None, None)
            case LogEnded() | Hello():
                pass  # the log says so itself

    def _begin(self, log: str) -> None:
        """Take a log that was not asked for from its start, as the host sends it."""
        with suppress(ValueError):
            self._copies.begin(self.name, log)

    def _take_lines(self, log: str, lines: str) -> None:
        run = self._run(log)
        if run is None or run.problem:
            return
        try:
            records = self._copies.append(self.name, log, lines.encode("latin-1", "replace"))
        except CopyRefused as refused:
            run.problem = str(refused)
            self._changed(None, None)
            return
        run.take(records)
        for record in records:
            self._changed(run, record)

    def _run(self, log: str) -> RemoteRun | None:
        """Return the run of a log; None for what cannot be the name of one, and beyond the number that is kept."""
        run = self.runs.get(log)
        if run is None and len(self.runs) < LOGS_LIMIT:
            with suppress(ValueError):
                run = RemoteRun(self.name, log, self._copies.path(self.name, log), self.clock, self.ask)
                run.problem = self._copies.refusal(self.name, log)
                self.runs[log] = run
                self._changed(run, None)
        return run

    def _load(self) -> None:
        """Show the runs as they were when they were last heard of."""
        for log in self._copies.logs(self.name):
            self._copies.cursor(self.name, log)
            if not has_ended(self._copies.path(self.name, log).parent):
                self._run(log)

    def _stand(self, standing: Standing, problem: str) -> None:
        self.standing, self.problem = standing, problem
        if standing == "connected":
            self.since = self.clock.monotonic()
        self._changed(None, None)


async def _beat(link: HostLink) -> None:
    """Say from time to time that this side is there."""
    with suppress(LinkFailed):
        while True:
            await asyncio.sleep(ALIVE_S)
            await link.send(Alive())


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
