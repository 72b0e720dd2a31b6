"""The line under a replay, which takes the mouse as well."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from unstuck.clock import iso
from unstuck_tui.render.format import Cell, time_of_day
from unstuck_tui.render.scrubber import place_at, scrubber_cells
from unstuck_tui.runs.replay.replayed_run import PastRun
from unstuck_tui.widgets.lines import Lines

__all__ = ["Scrubber"]


class Scrubber(Lines):
    """One line. ``speed`` is how many seconds of then pass in one of now."""

    DEFAULT_CSS = """
    Scrubber { height: 1; background: $panel; overflow: hidden; }
    """

    class Pointed(Message):
        """Somebody has clicked on a moment: record ``seq``."""

        def __init__(self, seq: int) -> None:
            self.seq = seq
            super().__init__()

    def __init__(self, run: PastRun, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._run = run
        self._begin = self._width = 0
        self.speed = 1
        self.plays = False

    def line_total(self) -> int:
        return 1

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        run = self._run
        time = time_of_day(iso(run.clock.now()), seconds=True)
        cells, self._begin, self._width = scrubber_cells(
            run.index, run.seq, time=time, speed=self.speed, plays=self.plays, width=width
        )
        return cells

    def on_click(self, event: events.Click) -> None:
        share = place_at(event.x, self._begin, self._width)
        if share is not None:
            self.post_message(self.Pointed(self._run.index.at(share)))
