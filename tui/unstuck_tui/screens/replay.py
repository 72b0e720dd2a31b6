"""The main screen on a replayed run, with a line to move through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Input

from unstuck.clock import iso
from unstuck.errors import RecordError
from unstuck.words.amounts import time_of_day
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.notifications.notifier import Notifier
from unstuck_tui.render.format import Cell
from unstuck_tui.render.scrubber import place_at, scrubber_cells
from unstuck_tui.runs.log.index import last_of, next_of
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.screens.log import LogScreen
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.widgets.lines import OneLine
from unstuck_tui.widgets.workers import start

PAUSE_S = 2.0
AT_ONCE = 150

_FRAME_S = 0.2
_OWN = frozenset(("play", "step", "go_to", "next", "previous", "speed"))
_NAMES = {"failures": "failure", "gates": "question"}


class Player:
    """Moves a run on by the time that has passed since it was last asked to; ``now`` is a monotonic clock."""

    def __init__(self, run: ReplayedRun, now: Callable[[], float] = monotonic) -> None:
        self._run, self._now = run, now
        self._last = now()

    def begin(self) -> None:
        """From now on time passes."""
        self._last = self._now()

    async def play(self, speed: float) -> bool:
        """Advance by ``speed`` seconds for each that has gone by. False where the run is over.

        No pause takes longer than two seconds, and of a flood of records no more come at once than can be shown.
        """
        now = self._now()
        ahead = self._run.clock.ahead + (now - self._last) * speed
        self._last = now
        seq, most = self._run.seq, self._run.seq + AT_ONCE
        while seq < len(self._run.index) and seq < most:
            gap = min(max(0.0, self._run.index.time_of(seq + 1) - self._run.index.time_of(seq)), PAUSE_S * speed)
            if ahead < gap:
                break
            ahead -= gap
            seq += 1
        if seq > self._run.seq:
            await self._run.go_to(seq)
        over = seq >= len(self._run.index)
        self._run.clock.ahead = 0.0 if over or seq == most else ahead
        return not over


class Scrubber(OneLine):
    """The moment that is shown, on a line that takes the mouse. ``speed``: seconds of the run in one of now."""

    @dataclass
    class MomentChosen(Message):
        """A click on a moment: record ``seq``."""

        seq: int

    def __init__(self, run: ReplayedRun, *, id: str | None = None) -> None:
        super().__init__(self._moment, id=id)
        self._run = run
        self._begin = self._bar_width = 0
        self.speed = 1
        self.plays = False

    def _moment(self, width: int) -> Sequence[Cell]:
        run = self._run
        time = time_of_day(iso(run.clock.now()), seconds=True)
        cells, self._begin, self._bar_width = scrubber_cells(
            run.index, run.seq, time=time, speed=self.speed, plays=self.plays, width=width
        )
        return cells

    def on_click(self, event: events.Click) -> None:
        share = place_at(event.x, self._begin, self._bar_width)
        if share is not None:
            self.post_message(self.MomentChosen(self._run.index.at(share)))


class ReplayScreen(MainScreen, inherit_bindings=False):
    """Its keys come before those of the panes: moving through time is what one does here."""

    AREAS = ("replay", *MainScreen.AREAS)
    OWN: ClassVar[tuple[Area, ...]] = ("replay", "main")
    BINDINGS = [*bindings_of("replay"), *bindings_of("main")]  # noqa: RUF012

    def __init__(self, run: ReplayedRun, tracker: Tracker, questions: QuestionController, notifier: Notifier) -> None:
        super().__init__(run, tracker, questions, notifier)
        self._run = run
        self._scrubber = Scrubber(run, id="scrubber")
        self._player = Player(run)

    def compose_more(self) -> ComposeResult:
        yield self._scrubber

    async def on_mount(self) -> None:
        self._playing = self.set_interval(_FRAME_S, self._play_on, pause=True)
        self._run.turned = self._turned
        self._turned()

    def _turned(self) -> None:
        self._tracker.turn(self._run.history, self._run.last)
        self._table.measure_again()

    def frame(self) -> None:
        super().frame()
        self._scrubber.refresh()

    def tick(self) -> None:
        super().tick()
        self._scrubber.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _OWN:
            return self._is_up and not (self.is_small or isinstance(self.focused, Input))
        return super().check_action(action, parameters)

    def action_log(self) -> None:
        self.app.push_screen(LogScreen(self._run, task=self._table.selected, seq=self._run.seq))

    def left_browse(self, seq: int | None) -> None:
        if seq is not None:
            self._set_playing(False)
            self._go_to(seq, point=True)

    # --- moving ------------------------------------------------------------------------------------------------------

    def _go_to(self, seq: int, *, point: bool = False) -> None:
        """Show the run up to record ``seq``; of several wishes in a row the last one counts."""
        start(self, "moving", self._move, seq, point)

    async def _move(self, seq: int, point: bool) -> None:
        try:
            await self._run.go_to(seq)
            pointed = [record.task for record in self._run.index.records(seq - 1, seq)] if point else []
        except RecordError as lost:
            self._say_lost(lost)
            return
        self.frame()
        for task in pointed:
            self._table.select(task)

    def action_play(self) -> None:
        self._set_playing(not self._scrubber.plays)

    def _set_playing(self, plays: bool) -> None:
        self._scrubber.plays = plays
        self._let_pass(plays)
        self._scrubber.refresh()

    def _let_pass(self, passes: bool) -> None:
        if passes:
            self._player.begin()
            self._playing.resume()
        else:
            self._playing.pause()

    def on_screen_suspend(self) -> None:
        """Pause the playback while something lies over the screen."""
        self._let_pass(False)

    def on_screen_resume(self) -> None:
        """In view again: what was playing goes on."""
        self._let_pass(self._scrubber.plays)

    async def _play_on(self) -> None:
        try:
            goes_on = await self._player.play(self._scrubber.speed)
        except RecordError as lost:
            goes_on = False
            self._say_lost(lost)
        if not goes_on:
            self._set_playing(False)
        self.tick()
        self._scrubber.refresh()

    def _say_lost(self, lost: RecordError) -> None:
        """The record has gone meanwhile, such as with its run: what is shown stays as it is."""
        self.notify(str(lost), severity="warning", timeout=10, markup=False)

    def action_step(self, by: int) -> None:
        self._set_playing(False)
        self._go_to(self._run.seq + by)

    def action_go_to(self, seq: int) -> None:
        """To the begin, or with -1 to the end."""
        self._set_playing(False)
        self._go_to(seq if seq >= 0 else len(self._run.index))

    def action_next(self, what: Literal["failures", "gates"]) -> None:
        self._set_playing(False)
        places = self._run.index.failures if what == "failures" else self._run.index.gates
        seq = next_of(places, self._run.seq)
        if seq:
            self._go_to(seq, point=True)
        else:
            self.notify(f"No {_NAMES[what]} after this.", markup=False)

    def action_previous(self) -> None:
        self._set_playing(False)
        index = self._run.index
        seq = max(last_of(index.failures, self._run.seq), last_of(index.gates, self._run.seq))
        if seq:
            self._go_to(seq, point=True)
        else:
            self.notify("No failure or question before this.", markup=False)

    def action_speed(self, way: int) -> None:
        """Make time pass ten times as fast, or a tenth of it."""
        speed = self._scrubber.speed * 10 if way > 0 else self._scrubber.speed // 10
        self._scrubber.speed = max(1, min(10_000, speed))
        self._scrubber.refresh()

    @on(Scrubber.MomentChosen)
    def _moment_chosen(self, event: Scrubber.MomentChosen) -> None:
        self._set_playing(False)
        self._go_to(event.seq)
