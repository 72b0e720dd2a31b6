"""The Textual app: the person's window on a run that goes on beside it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Input, TextArea

from unstuck.errors import RecordError
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.runs.view.run_view import RunView, agents_at_work
from unstuck.settings.screen_settings import ScreenSettings
from unstuck_tui.app.base_app import BaseApp
from unstuck_tui.control.clipboard import copy
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.keys.actions import spoken
from unstuck_tui.notifications.absence import Absence
from unstuck_tui.notifications.notifier import Notifier, run_program
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.screens.main import MainScreen

if TYPE_CHECKING:
    from unstuck.runs.view.outputs import OutputKind
    from unstuck.supervision.recovery.review import Standstill
    from unstuck_tui.dialogs.question_dialog import QuestionDialog


JUST_S = 60.0
"""Seconds for which a run has just begun."""
_WARNED_S = 60.0


class UnstuckApp(BaseApp):
    """Shows one run. The core does not know that it is there; when it dies, the run goes on without a screen."""

    def __init__(self, view: RunView, settings: ScreenSettings | None = None) -> None:
        super().__init__(settings)
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
        self.drawn = asyncio.Event()
        """Set once the first frame is on the terminal."""

    def on_ready(self) -> None:
        self.drawn.set()

    def on_mount(self) -> None:
        if self.view.recovery is not None:
            self.run_worker(self._recover(self.view.recovery), group="recovery")
        elif not self.view.is_past:
            self.run_worker(self._warn(), group="warnings")

    def save_unsent(self) -> str:
        return self.questions.save_unsent()

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
        return self.questions.takeover.is_active

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
        if isinstance(event, events.AppFocus | events.AppBlur):
            self.notifier.focus(isinstance(event, events.AppFocus))
            if isinstance(event, events.AppFocus):
                self._note_presence()
        await super().on_event(event)

    def pressed(self) -> None:
        self.questions.key()
        self.notifier.key()
        self._note_presence()

    def _note_presence(self) -> None:
        """The person is there: tell them what they have missed, unless they are writing."""
        self._absence.sign()
        if not isinstance(self.focused, Input | TextArea) and (missed := self._absence.take()) is not None:
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
        standstill = self.view.recovery
        if standstill is not None and not standstill.is_over:
            self.exit()  # nothing has begun yet
        else:
            self.questions.leave()

    def action_suspend(self) -> None:
        """Back to the shell, where nothing is left undone meanwhile: the run stands in this process."""
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
        copy(self, event.text, self.view.log.parent)
