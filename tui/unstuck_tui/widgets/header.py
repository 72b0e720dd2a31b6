"""The first line: which run this is, how long it has gone on, and how many tasks are in which state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unstuck_tui.render.format import Cell
from unstuck_tui.render.header import header_line
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.widgets.lines import OneLine


class RunHeader(OneLine):
    """``show`` draws it again where it has changed; ``muted`` says what no notifications go out of."""

    def __init__(self, tracker: Tracker, *, muted: Callable[[], str] = str, id: str | None = None) -> None:
        super().__init__(self._header, id=id)
        self._tracker, self._muted = tracker, muted
        self._shown: tuple[Cell, ...] = ()

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        self._shown = self._header(width)
        return self._shown

    def show(self) -> None:
        if self._header(self.size.width) != self._shown:
            self.refresh()

    def _header(self, width: int) -> tuple[Cell, ...]:
        tracker = self._tracker
        return header_line(
            tracker.state.run,
            tracker.counted(),
            name=tracker.title,
            elapsed=tracker.elapsed(),
            width=width,
            muted=self._muted(),
            tasks=len(tracker.state.tasks),
        )
