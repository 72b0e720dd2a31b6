"""The Textual app: the person's window on a run that goes on beside it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import events

from unstuck.errors import RecordError
from unstuck_tui.app.base_app import BaseApp, is_field
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.tasks.opening import Opening
from unstuck_tui.screens.opening import OpeningScreen

if TYPE_CHECKING:
    from textual.screen import Screen

    from unstuck.runs.view.outputs import OutputKind
    from unstuck.runs.view.run_view import RunView
    from unstuck.settings.screen_settings import ScreenSettings
    from unstuck.supervision.recovery.review import Standstill
    from unstuck_tui.control.question_controller import QuestionController
    from unstuck_tui.dialogs.question_dialog import QuestionDialog
    from unstuck_tui.notifications.absence import Absence
    from unstuck_tui.notifications.notifier import Notifier
    from unstuck_tui.runs.tracker import Tracker
    from unstuck_tui.screens.main import MainScreen


JUST_S = 60.0
"""Seconds for which a run has just begun."""
_WARNED_S = 60.0


class UnstuckApp(BaseApp):
    """Shows one run. The core does not know that it is there; when it dies, the run goes on without a screen.

    One that begins with an ``Opening`` shows what that knows until :meth:`open` brings the run. Nothing that only a
    run needs is loaded before: that takes longer than all the rest. Keys pressed meanwhile are worked then.
    """

    view: RunView
    tracker: Tracker
    questions: QuestionController
    notifier: Notifier
    _absence: Absence

    def __init__(self, view: RunView | Opening, settings: ScreenSettings | None = None) -> None:
        super().__init__(settings)
        self.drawn = asyncio.Event()
        """Set once the first frame is on the terminal."""
        self._opening: Opening | None = None
        self._early: list[events.Key | events.Paste] = []
        if isinstance(view, Opening):
            self._opening = view
        else:
            self._take(view)

    def _take(self, view: RunView) -> None:
        """Show this run from now on."""
        from unstuck_tui.control.question_controller import QuestionController
        from unstuck_tui.notifications.absence import Absence
        from unstuck_tui.notifications.notifier import Notifier
        from unstuck_tui.runs.tracker import Tracker

        self.view = view
        self.tracker = Tracker.of(view)
        self.questions = QuestionController(self, self.tracker, view, pops=self.settings.dialogs == "pop")
        self.notifier = Notifier(
            self,
            self.tracker,
            view,
            self.settings,
            in_takeover=lambda: self.questions.takeover.is_active,
            link=self._link,
        )
        self._absence = Absence(view)

    async def open(self, view: RunView) -> None:
        """Show the run in the place of what was known of it."""
        is_shown = asyncio.Event()
        self.call_later(self._turn, view, is_shown)
        await is_shown.wait()

    async def _turn(self, view: RunView, is_shown: asyncio.Event) -> None:
        """Change the screens in one frame; the keys that came before it come before those that come after it."""
        self._take(view)
        if not self.app_focus:
            self.notifier.focus(False)
        with self.batch_update():
            await self.turn_to(self.main_screen())
        self._opening = None
        self.opened()
        early, self._early = self._early, []
        for event in early:
            await self.on_event(event)
        is_shown.set()

    def on_ready(self) -> None:
        self.drawn.set()

    def on_mount(self) -> None:
        if self._opening is None:
            self.opened()

    def opened(self) -> None:
        """The run is shown: begin what goes on beside it."""
        if self.view.recovery is not None:
            self.run_worker(self._recover(self.view.recovery), group="recovery")
        elif not self.view.is_past:
            self.run_worker(self._warn(), group="warnings")

    def save_unsent(self) -> str:
        return "" if self._opening is not None else self.questions.save_unsent()

    def get_default_screen(self) -> Screen[None]:
        """The first screen, in place of Textual's own, which would be styled and laid out below it."""
        return self.main_screen() if self._opening is None else OpeningScreen(self._opening, self.size)

    def main_screen(self) -> MainScreen:
        """The screen of the run."""
        from unstuck_tui.screens.main import MainScreen

        return MainScreen(self.view, self.tracker, self.questions, self.notifier)

    def over(self) -> None:
        """Nothing is left to be shown: leave, once the person is back from another program in this terminal."""
        if self.is_lent:
            self.questions.takeover.leaves_when_back = True
        else:
            self.exit()

    @property
    def is_open(self) -> bool:
        """True once the run itself is shown."""
        return self._opening is None

    @property
    def is_lent(self) -> bool:
        return self._opening is None and self.questions.takeover.is_active

    async def _recover(self, standstill: Standstill) -> None:
        """Ask how a run that was cut off continues; without a decision the next start asks again."""
        from unstuck_tui.screens.recovery import RecoveryScreen

        await standstill.known.wait()
        if not standstill.is_over and not await self.push_screen_wait(
            RecoveryScreen(standstill, clock=self.tracker.clock)
        ):
            self.exit()

    async def _warn(self) -> None:
        """Say what was found out before the start of a run that has just begun; ``unstuck events`` says it, too."""
        from unstuck.eventlog.attention_stats import seconds_of
        from unstuck.eventlog.events import RunStarted
        from unstuck.eventlog.log.record_reader import RunReader

        now = self.view.clock.now()
        reader = RunReader(self.view.log.parent)
        try:
            first = await asyncio.to_thread(lambda: next(reader.records(), None))
        except RecordError:
            return
        if first is None or not isinstance(first.event, RunStarted) or now - (seconds_of(first.time) or 0.0) > JUST_S:
            return
        for warning in first.event.warnings:
            self.notify(warning, severity="warning", timeout=_WARNED_S, markup=False)

    async def on_event(self, event: events.Event) -> None:
        if self._opening is not None:
            if isinstance(event, events.Key | events.Paste) and not self._leaves(event):
                self._early.append(event)
            else:
                await super().on_event(event)
            return
        if isinstance(event, events.AppFocus | events.AppBlur):
            self.notifier.focus(isinstance(event, events.AppFocus))
            if isinstance(event, events.AppFocus):
                self._note_presence()
        await super().on_event(event)

    def _leaves(self, event: events.Key | events.Paste) -> bool:
        """True for a key that leaves at once, before there is a run; after other keys it may be text that is typed."""
        bound = self.screen.active_bindings.get(event.key) if isinstance(event, events.Key) else None
        if bound is None or bound.binding.action != "leave":
            return False
        return bound.binding.priority or not self._early

    def pressed(self) -> None:
        if self._opening is not None:
            return
        self.questions.key()
        self.notifier.key()
        self._note_presence()

    def _note_presence(self) -> None:
        """The person is there: tell them what they have missed, unless they are writing."""
        self._absence.sign()
        if not is_field(self.focused) and (missed := self._absence.take()) is not None:
            self.run_worker(self._recap(missed), group="recap")

    async def _recap(self, after: int) -> None:
        """Show what happened since the event ``after``; not where that is only the state of the run."""
        from unstuck.eventlog.log.record_reader import RunReader
        from unstuck.runs.queries.recap import recap_of
        from unstuck.runs.queries.recap_lines import recap_lines
        from unstuck_tui.screens.reading import RecapScreen

        reader = RunReader(self.view.log.parent)
        try:
            facts = await asyncio.to_thread(lambda: recap_of(reader.records(), after=after))
        except RecordError:
            return  # the screen says elsewhere what is wrong with the log
        lines = recap_lines(facts)
        if len(lines) > 1:
            await self.push_screen(RecapScreen([line.shown for line in lines]))

    def action_leave(self) -> None:
        if self._opening is not None:
            self.exit()
            return
        standstill = self.view.recovery
        if standstill is not None and not standstill.is_over:
            self.exit()  # nothing has begun yet
        else:
            self.questions.leave()

    def action_suspend(self) -> None:
        """Back to the shell, where nothing is left undone meanwhile: the run stands in this process."""
        from unstuck.runs.view.run_view import agents_at_work

        if self.view.goes_on or (agents_at_work(self.view.state) and not self.view.is_elsewhere):
            self.notify(
                "This would suspend the run with its agents. Leave the screen instead: "
                f"{spoken('app.quit')} can leave them at work.",
                severity="warning",
                markup=False,
            )
        else:
            super().action_suspend()

    # --- what reaches a person who looks elsewhere -------------------------------------------------------------------

    def _link(self, task: str) -> str:
        """Return the address of the run, or of the question of ``task``, where a page is served; else nothing."""
        from unstuck_web.access import address_of

        return address_of(self.view.place.home, self.view.state, task) if self.view.place is not None else ""

    def run_notify_command(self, words: tuple[str, ...]) -> None:
        """Run a program for a notification, and show its failure."""

        from unstuck_tui.notifications.notifier import run_program

        async def run() -> None:
            await run_program(words, lambda line: self.notify(line, severity="warning", timeout=20, markup=False))

        self.run_worker(run(), group="notifications")

    def on_question_dialog_read(self, event: QuestionDialog.Read) -> None:
        from unstuck_tui.screens.pager import PagerScreen

        row = self.view.state.tasks.get(event.task)
        if row is not None:
            content: OutputKind = "check" if row.check is not None else "agent"
            self.push_screen(PagerScreen(self.view, event.task, content, self.questions.takeover.lend))

    def on_question_dialog_copied(self, event: QuestionDialog.Copied) -> None:
        from unstuck_tui.control.clipboard import copy

        copy(self, event.text, self.view.log.parent)
