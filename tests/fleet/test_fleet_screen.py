"""The screen on several machines: one list, one question after the other, and words for whatever cannot be done."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fleet.conftest import ASKED, FAILING, Machine, asking_lines
from textual import events
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.frames import PROTOCOL, FromHost, FromScreen, Hello, LogLines, LogOpened
from unstuck.fleet.link import ProcessLink
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.app.fleet_app import FleetApp
from unstuck_tui.keys.actions import key_of

Machines = Callable[[str], Machine]
ASKING = ("run", "--headless", "--check", FAILING, "--", "true")


class Screen:
    """The app on two machines, and the person before it. A machine whose link was ``cut`` stays away until ``back``."""

    def __init__(self, machines: dict[str, Machine], settings: ScreenSettings) -> None:
        self._machines, self._away = machines, set[str]()
        self._opened: dict[str, ProcessLink] = {}
        self.view = FleetView(list(machines), self._open, Copies(os.environ))
        self.app = FleetApp(self.view, settings)
        self.pilot: Pilot[None]

    async def _open(self, host: str) -> ProcessLink:
        if host in self._away:
            return await ProcessLink.open(["/does/not/exist"], os.environ)
        self._opened[host] = await self._machines[host].link()
        return self._opened[host]

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[Screen]:
        async with self.app.run_test(size=(140, 40), notifications=True) as self.pilot:
            yield self

    def cut(self, host: str) -> None:
        self._away.add(host)
        self._opened[host]._process.kill()

    def back(self, host: str) -> None:
        self._away.discard(host)

    @property
    def text(self) -> str:
        visible_screen_stack.set(self.app._background_screens)
        strips = self.app.screen._compositor.render_strips()
        rows = ["".join(part.text for part in strip).rstrip() for strip in strips]
        return "\n".join((*rows, *(notice.message for notice in self.app._notifications)))

    async def until(self, *words: str, gone: str = "") -> None:
        """Wait until all ``words`` stand on the screen, and ``gone`` does not: its parts are drawn one by one."""
        try:
            async with asyncio.timeout(20):
                while any(word not in self.text for word in words) or (gone and gone in self.text):
                    await self.pilot.pause(0.1)
        except TimeoutError:
            raise AssertionError(f"{words} never came, or {gone!r} stayed:\n{self.text}") from None

    async def press(self, action: str) -> None:
        await self.pilot.press(key_of(action))  # type: ignore[arg-type]


async def test_every_question_of_all_machines_is_answered_in_one_list(machine: Machines, tmp_path: Path) -> None:
    """Questions of two machines are on top with their hosts; the usual keys answer one, and a cut host says so."""
    a, b = machine("a"), machine("b")
    assert a.unstuck(*ASKING).returncode == b.unstuck(*ASKING).returncode == 3
    screen = Screen({"a": a, "b": b}, ScreenSettings(notify="off", dialogs="list"))
    async with screen.shown():
        await screen.until("! a/shop/task", "! b/shop/task", "needs you · 2", "a ✓", "b ✓")
        await screen.pilot.pause(0.5)
        await screen.press("gate.answer")
        await screen.until("/shop/task is stuck", "Skip this part")
        first = "a" if "a/shop/task is stuck" in screen.text else "b"
        await screen.pilot.pause(0.5)
        await screen.pilot.press("2")
        await screen.until("needs you · 1", "skipped")
        left = "b" if first == "a" else "a"
        answered = {"a": a, "b": b}[first].logs[0].read_bytes()
        assert answered.count(b'"gate_answered"') == 1
        screen.cut(left)
        await screen.until("UNKNOWN", f"{left} cut off")
        assert "UNKNOWN for" in screen.text
        await screen.press("gate.answer")
        await screen.until(f"{left}/shop/task is stuck")
        await screen.pilot.pause(0.5)
        await screen.pilot.press("2")
        await screen.until("nothing is sent to it until it is back")
        assert b"gate_answered" not in {"a": a, "b": b}[left].logs[0].read_bytes()
        screen.back(left)
        await screen.until(f" {left} ✓", f"! {left}/shop/task needs you", gone=f"? {left}/shop/task")


async def test_keys_that_need_the_host_itself_say_where_to_go(machine: Machines) -> None:
    """Editing by hand names the ssh command, looking at checkpoints names the host, and the log opens."""
    a = machine("a")
    assert a.unstuck(*ASKING).returncode == 3
    screen = Screen({"a": a}, ScreenSettings(notify="off", dialogs="list"))
    async with screen.shown():
        await screen.until("! a/shop/task", "a ✓")
        await screen.press("view.browse")
        await screen.until("are on a: open `unstuck` there")
        await screen.press("view.log")
        await screen.until("gate_opened")


class HeldLink:
    """A link whose host has one question, which comes when ``ready`` is set."""

    def __init__(self, log: str, raw: bytes, ready: asyncio.Event) -> None:
        self._log, self._raw, self._ready = log, raw, ready

    async def frames(self) -> AsyncIterator[FromHost]:
        yield Hello(protocol=PROTOCOL, version="1", host="h", now=time.time(), mono=time.monotonic())
        yield LogOpened(log=self._log, live=True)
        await self._ready.wait()
        yield LogLines(log=self._log, lines=self._raw.decode())
        await asyncio.Event().wait()

    async def send(self, frame: FromScreen) -> None:
        """Take it, and say nothing."""

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_person_is_notified_once_for_all_machines(tmp_path: Path) -> None:
    """While the person looks elsewhere, questions of two machines are one notification and not one for each."""
    ready, raw = asyncio.Event(), b"".join(asking_lines())

    async def open_link(host: str) -> HeldLink:
        return HeldLink(f"{host * 16}-{ASKED}", raw, ready)

    sent = tmp_path / "sent"
    command = ("sh", "-c", f'echo "$0" >> {sent}')
    view = FleetView(["a", "b"], open_link, Copies(os.environ))
    app = FleetApp(view, ScreenSettings(notify="command", notify_command=command, dialogs="list"))
    async with app.run_test(size=(140, 40)) as pilot:
        app.post_message(events.AppBlur())
        while not all(host.standing == "connected" for host in view.hosts):
            await pilot.pause(0.1)
        await pilot.pause(1.5)
        ready.set()
        while not sent.exists() or not sent.read_text("utf-8"):
            await pilot.pause(0.1)
        await pilot.pause(1.5)
    assert sent.read_text("utf-8") == "2 need you: a/shop/web, b/shop/web\n"
