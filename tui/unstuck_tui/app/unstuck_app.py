"""The Textual app: the person's window on a run that goes on beside it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from textual import events, on
from textual.binding import Binding
from textual.command import CommandPalette
from textual.widgets import Input, TextArea

from unstuck.errors import RecordError
from unstuck.runs.view.run_view import RunView
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.control.clipboard import copy
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.notifications.absence import Absence
from unstuck_tui.notifications.notifier import Notifier, run_program
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.terminal.driver import TerminalDriver
from unstuck_tui.terminal.escapes import clipboard
from unstuck_tui.textual_internals import SteadyApp, driver_of
from unstuck_tui.widgets.inputs import LineField
from unstuck_tui.widgets.minimum_size import is_below
from unstuck_tui.widgets.styles import TONE_CLASSES, TONE_CSS

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.message_pump import MessagePump

    from unstuck.supervision.recovery.review import Standstill

_HANDLED_S = 0.2
THEMES = {"dark": "textual-dark", "light": "textual-light", "ansi": "ansi-dark"}
"""Values of the setting ``theme``; the last has no colours but the terminal's own sixteen, and none without those."""


def _commands() -> type[Provider]:
    from unstuck_tui.keys.palette import ActionCommands

    return ActionCommands


class UnstuckApp(SteadyApp, inherit_bindings=False):
    """Shows one run. The core does not know that it is there; when it dies, the run goes on without a screen."""

    # A screen's own way back comes before, wherever there is one.
    BINDINGS = [*bindings_of("app"), Binding("escape", "clear", show=False)]  # noqa: RUF012
    COMMANDS = {_commands}  # noqa: RUF012
    COMPONENT_CLASSES = TONE_CLASSES
    DEFAULT_CSS = TONE_CSS
    TITLE = "unstuck"

    def __init__(self, view: RunView, settings: ScreenSettings | None = None) -> None:
        super().__init__()
        self.view = view
        self.settings = settings or ScreenSettings()
        self.tracker = Tracker.of(view)
        self.questions = QuestionController(self, self.tracker, view, pops=self.settings.dialogs == "pop")
        self.notifier = Notifier(
            self, self.tracker, view, self.settings, in_takeover=lambda: self.questions.takeover.is_active
        )
        self._absence = Absence(view)
        self._themes = [name for name in THEMES.values() if not (self.no_color and name == THEMES["ansi"])]
        self.theme = THEMES[self.settings.theme] if THEMES[self.settings.theme] in self._themes else self._themes[0]

    def on_mount(self) -> None:
        self.set_keymap(dict(self.settings.keys))
        if self.view.recovery is not None:
            self.run_worker(self._recover(self.view.recovery), group="recovery")

    def get_default_screen(self) -> MainScreen:
        """The main screen, in place of Textual's own, which would be styled and laid out below it."""
        return MainScreen(self.view, self.tracker, self.questions, self.notifier)

    def over(self) -> None:
        """Nothing is left to be shown: leave, once the person is back from another program in this terminal."""
        if self.is_lent:
            self.questions.takeover.leaves_when_back = True
        else:
            self.exit()

    @property
    def is_lent(self) -> bool:
        """True while another program has the terminal."""
        return self.questions.takeover.is_active

    async def _recover(self, standstill: Standstill) -> None:
        """Ask how a run that was cut off continues; without a decision the next start asks again."""
        from unstuck_tui.screens.recovery import RecoveryScreen

        await standstill.known.wait()
        if not standstill.is_over and not await self.push_screen_wait(
            RecoveryScreen(standstill, clock=self.tracker.clock)
        ):
            self.exit()

    async def on_event(self, event: events.Event) -> None:
        """Handle every key here first: a dialog that comes up while keys are pressed is answered by accident."""
        if isinstance(event, events.AppFocus | events.AppBlur):
            self.notifier.focus(isinstance(event, events.AppFocus))
            if isinstance(event, events.AppFocus):
                self._note_presence()
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self._is_two_keys(event):
                await self.on_event(events.Key("escape", "\x1b"))
                await self.on_event(events.Key(event.character or "", event.character))
                return
            self.questions.key()
            self.notifier.key()
            self._note_presence()
            if await self._acts_on(event):
                return
        await super().on_event(event)

    def _note_presence(self) -> None:
        """The person is there: tell them what they have missed, unless they are writing."""
        self._absence.sign()
        if not isinstance(self.focused, Input | TextArea) and (missed := self._absence.take()) is not None:
            self.run_worker(self._recap(missed), group="recap")

    async def _recap(self, after: int) -> None:
        """Show what happened since the event ``after``; not where that is only the state of the run."""
        from unstuck.eventlog.log.record_reader import RunReader
        from unstuck.runs.queries.recap import recap_of
        from unstuck_tui.render.printed.recap import recap_lines
        from unstuck_tui.screens.recap import RecapScreen

        reader = RunReader(self.view.log.parent)
        try:
            facts = await asyncio.to_thread(lambda: recap_of(reader.records(), after=after))
        except RecordError:
            return  # the screen says elsewhere what is wrong with the log
        lines = recap_lines(facts)
        if len(lines) > 1:
            await self.push_screen(RecapScreen([line.shown for line in lines]))

    def _is_two_keys(self, event: events.Key) -> bool:
        """True for escape and a letter that came together, as over a slow line: alt and that letter look the same.

        Not while a text is written, nor where that key with alt does something.
        """
        if not event.key.startswith("alt+") or not event.character or isinstance(self.focused, Input | TextArea):
            return False
        return event.key not in self.screen.active_bindings

    async def _acts_on(self, event: events.Key) -> bool:
        """Do at once what the key means, where it is no text that is typed.

        Textual sends keys to what has the focus and acts when they come back: of keys that come in one go all but the
        first would go to what had the focus before it, and the rest of a word to look for would be commands.
        """
        self.app_focus = True
        field = self.focused
        if isinstance(field, Input | TextArea) and (event.is_printable or not isinstance(field, LineField)):
            return False
        bound = self.screen.active_bindings.get(event.key)
        if not isinstance(field, LineField):
            return bound is not None and bound.enabled and await self.run_action(bound.binding.action, bound.node)
        if bound is None or not bound.enabled or (bound.node is field and bound.binding.action != "submit"):
            return False
        await self._handled(field)  # what was typed before
        acts = await self.run_action(bound.binding.action, bound.node)
        await self._handled(*takewhile(lambda node: node is not self, field.ancestors_with_self))
        return acts

    async def _handled(self, *nodes: MessagePump) -> None:
        """Wait until each of ``nodes`` has handled what has reached it so far; not long, lest one waits for us."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_HANDLED_S):
                for node in nodes:
                    done = asyncio.Event()
                    if node.call_later(done.set):
                        await done.wait()

    def on_resize(self, event: events.Resize) -> None:
        """Close the palette where it has no room for a single line: its list cannot be moved through then."""
        if is_below(event.size) and isinstance(self.screen, CommandPalette):
            self.pop_screen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action == "command_palette" and is_below(self.size))

    def action_leave(self) -> None:
        """Leave the screen, after a question where agents are at work."""
        standstill = self.view.recovery
        if standstill is not None and not standstill.is_over:
            self.exit()  # nothing has begun yet
        else:
            self.questions.leave()

    def action_clear(self) -> None:
        """Take away what was said in passing: on a small screen it covers much of what it is about."""
        self.clear_notifications()

    def action_suspend(self) -> None:
        """Back to the shell, where nothing is left undone meanwhile: the run stands in this process."""
        if self.view.goes_on:
            self.notify(
                "This would suspend the run with its agents. Leave the screen instead: "
                f"{spoken('app.quit')} can leave them at work.",
                severity="warning",
                markup=False,
            )
        else:
            self.action_suspend_process()

    def action_theme(self) -> None:
        """The next of dark, light, and the terminal's own colours."""
        # The palette's own command may have chosen a theme that is not among them.
        now = self._themes.index(self.theme) if self.theme in self._themes else -1
        self.theme = self._themes[(now + 1) % len(self._themes)]

    def copy_to_clipboard(self, text: str) -> None:
        self.keep_copied(text)
        self.write(clipboard(text, in_tmux=bool(os.environ.get("TMUX"))))

    # --- what reaches a person who looks elsewhere -------------------------------------------------------------------

    def write(self, sequence: str) -> None:
        """Send ``sequence`` to the terminal, also while another program has it."""
        driver = driver_of(self)
        if isinstance(driver, TerminalDriver):
            driver.pass_on(sequence)
        elif driver is not None:
            driver.write(sequence)

    def set_title(self, text: str) -> None:
        """Let the terminal's title be ``text`` until the screen is left; empty: its own."""
        driver = driver_of(self)
        if isinstance(driver, TerminalDriver):
            driver.show_title(text)

    def run_notify_command(self, words: tuple[str, ...]) -> None:
        """Run a program for a notification; that it does not work is said."""

        async def run() -> None:
            await run_program(words, lambda line: self.notify(line, severity="warning", timeout=20, markup=False))

        self.run_worker(run(), group="notifications")

    @on(QuestionDialog.Copied)
    def _copied(self, event: QuestionDialog.Copied) -> None:
        copy(self, event.text, self.view.log.parent)

    def action_help(self) -> None:
        """Show the keys of the pane that has the focus."""
        from unstuck_tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            return
        own: Sequence[Area] = getattr(self.screen, "OWN", ("main",))
        area: Area = getattr(self.focused, "AREA", own[-1])
        # Over another screen nothing works that works everywhere else.
        everywhere: Sequence[Area] = () if self.screen.is_modal else ("app",)
        self.push_screen(HelpScreen(*own[:-1], area, own[-1], *everywhere))
