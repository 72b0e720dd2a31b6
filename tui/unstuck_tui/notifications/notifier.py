"""Notifies a person who does not look at the screen: by the terminal's title and by notifications."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import ceil, inf
from typing import Protocol

from unstuck.eventlog.state import State
from unstuck.runs.view.run_view import RunView
from unstuck.settings.screen_settings import ScreenSettings
from unstuck.text import one_line
from unstuck.words.labels import counted_group
from unstuck_tui.notifications.alarms import Alarm, AlarmRegister, Notification, alarms_of, run_over, terminals_of
from unstuck_tui.render.format import fit, width_of
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.terminal.escapes import notification

ALONE_S = 60.0
"""Seconds without a key after which a person counts as away, where the terminal does not report its focus."""
MUTED_S = 3600.0
"""For how long something is muted at first."""
_EVERYTHING = ""
_PROGRAM_S = 10.0
_LONGEST = 200
_NAMED = 20
_PLACE = re.compile(r"\{(?:text|link)\}")


class NotificationOutlet(Protocol):
    """The ways from the app to the terminal and its person."""

    def write(self, sequence: str) -> None:
        """Send ``sequence`` to the terminal."""

    def set_title(self, text: str) -> None:
        """Set the terminal's title to ``text`` until the screen is left."""

    def run_notify_command(self, words: tuple[str, ...]) -> None:
        """Run this program beside everything else."""


class MuteList:
    """The tasks that send no notifications; all of them, and the run, where everything is muted.

    For :data:`MUTED_S` at first, the second time without an end: a mute must not hide the next problem for a day.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[str, float] = {}

    def __call__(self, task: str) -> bool:
        return self._is_muted(_EVERYTHING) or self._is_muted(task)

    def _is_muted(self, what: str) -> bool:
        return self._until.get(what, 0.0) > self._now()

    def cycle(self, tasks: Sequence[str]) -> None:
        """Mute ``tasks``: for a while, the second time without an end, the third time unmute them."""
        if not all(map(self._is_muted, tasks)):
            until = self._now() + MUTED_S
        elif any(self._until[task] < inf for task in tasks):
            until = inf
        else:
            until = 0.0
        self._until.update(dict.fromkeys(tasks, until))

    def cycle_all(self) -> None:
        self.cycle([_EVERYTHING])

    @property
    def summary(self) -> str:
        """The muted tasks in a few words, and for how long; empty where nothing is muted."""
        muted = sorted(what for what in self._until if self._is_muted(what))
        if not muted:
            return ""
        if muted[0] == _EVERYTHING:
            return f"muted{self._left(_EVERYTHING)}"
        more = f" +{len(muted) - 1}" if len(muted) > 1 else ""
        return f"muted: {fit(muted[0], min(_NAMED, width_of(muted[0])))}{more}{self._left(muted[0])}"

    def _left(self, what: str) -> str:
        left = self._until[what] - self._now()
        return "" if left == inf else f" {max(1, ceil(left / 60))}m"


class Notifier:
    """Sends what is due each frame. Tell it of every key, and of the terminal's focus."""

    def __init__(
        self,
        outlet: NotificationOutlet,
        tracker: Tracker,
        view: RunView,
        settings: ScreenSettings,
        *,
        in_takeover: Callable[[], bool] = lambda: False,
        link: Callable[[str], str] = lambda task: "",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._in_takeover, self._link = in_takeover, link
        self._outlet, self._tracker, self._view, self._settings = outlet, tracker, view, settings
        self._in_tmux = bool(environ.get("TMUX"))
        self._register = AlarmRegister()
        self._alarms: tuple[Alarm, ...] = ()
        self._alarms_of: object = None
        self._title = ""
        self._number = 0
        self._is_focused: bool | None = None
        self._last_key = tracker.clock.monotonic()
        self.muted = MuteList(tracker.clock.monotonic)

    def key(self) -> None:
        """The person has pressed a key."""
        self._last_key = self._tracker.clock.monotonic()
        if self._is_focused is False:
            self._is_focused = True

    def focus(self, is_focused: bool) -> None:
        """The terminal has said so."""
        self._is_focused = is_focused

    @property
    def is_away(self) -> bool:
        """True while the person looks elsewhere, also at another program in this terminal."""
        if self._in_takeover():
            return True
        if self._is_focused is None:
            return self._tracker.clock.monotonic() - self._last_key >= ALONE_S
        return not self._is_focused

    def frame(self) -> None:
        """Show the title and send the notifications that the state calls for by now."""
        if self._view.is_past:
            return
        self._show_title()
        standstill = self._view.recovery
        if self._settings.notify == "off" or (standstill is not None and not standstill.is_over):
            return
        state = self._tracker.state
        if self._alarms_of != (about := (self._tracker.gates, state.run.state, state.run.blocked, terminals_of(state))):
            # Words are looked for once per question: there may be thousands, and a frame every second.
            self._alarms, self._alarms_of = alarms_of(state, self._tracker.gates), about
        now = self._tracker.clock.monotonic()
        for page in self._register.look(
            self._alarms, run_over(state), now=now, is_away=self.is_away, is_muted=self.muted
        ):
            self._send(page)

    def _show_title(self) -> None:
        title = title_of(self._tracker.state, len(self._tracker.gates)) if self._settings.title else ""
        if title != self._title:
            self._title = title
            self._outlet.set_title(title)

    def _send(self, page: Notification) -> None:
        self._number += 1
        text = one_line(page.text, _LONGEST)
        if self._settings.notify == "command":
            if not self._settings.notify_command:
                return
            link = self._link(page.tasks[0] if len(page.tasks) == 1 else "")
            self._outlet.run_notify_command(words_of(self._settings.notify_command, text, link))
        else:
            self._outlet.write(notification(self._settings.notify, text, number=self._number, in_tmux=self._in_tmux))
        self._view.notified(page.kind, self._settings.notify, page.tasks, text)


def title_of(state: State, asked: int) -> str:
    """The terminal's title while ``asked`` questions wait."""
    run = state.run
    if asked:
        what = counted_group("needs you", asked)
    elif run.state == "blocked":
        what = "blocked"
    else:
        what = run_over(state)
    text = "unstuck" + (f": {what}" if what else "")
    return f"{text} · {one_line(run.project, 60)}" if run.project else text


def words_of(command: tuple[str, ...], text: str, link: str = "") -> tuple[str, ...]:
    """The words of the program that takes ``text``: where ``{text}`` stands, else as the last one.

    ``{link}`` is the address of the page. A text that begins with a hyphen would be an option to many.
    """
    message = text.lstrip("-") or "unstuck"
    meant = {"{text}": message, "{link}": link}
    # In one go: a text that holds such a word means nothing by it.
    words = tuple(_PLACE.sub(lambda found: meant[found[0]], word) for word in command)
    return words if any("{text}" in word for word in command) else (*words, message)


async def run_program(words: tuple[str, ...], complain: Callable[[str], None]) -> None:
    """Run the program for a notification; call ``complain`` with the reason where it did not work."""
    try:
        program = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        complain(f"notify_command: {one_line(words[0], 60)} cannot be run: {reason}")
        return
    try:
        async with asyncio.timeout(_PROGRAM_S):
            code = await program.wait()
    except TimeoutError:
        complain(f"notify_command: {one_line(words[0], 60)} took longer than {_PROGRAM_S:.0f} s and was ended")
    else:
        if code:
            complain(f"notify_command: {one_line(words[0], 60)} ended with {code}")
    finally:
        if program.returncode is None:
            with suppress(ProcessLookupError):
                program.kill()
            await program.wait()
