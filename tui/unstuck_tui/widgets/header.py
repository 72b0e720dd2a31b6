"""The first line: which run this is, how long it has gone on, and how many tasks are in which state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unstuck_tui.render.format import Cell
from unstuck_tui.render.header import header_line
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.widgets.lines import Lines

__all__ = ["RunHeader"]


class RunHeader(Lines):
    """One line."""

    DEFAULT_CSS = """
    RunHeader { height: 1; background: $panel; overflow: hidden; }
    """

    def __init__(self, tracker: Tracker, *, muted: Callable[[], str] = str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tracker, self._muted = tracker, muted
        self._shown: tuple[Cell, ...] = ()

    def line_total(self) -> int:
        return 1

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        self._shown = self._cells(width)
        return self._shown

    def show(self) -> None:
        """Draw it again, if it has changed."""
        if self._cells(self.size.width) != self._shown:
            self.refresh()

    def _cells(self, width: int) -> tuple[Cell, ...]:
        tracker = self._tracker
        return header_line(
            tracker.state.run,
            tracker.counted(),
            name=tracker.title,
            elapsed=tracker.elapsed(),
            width=width,
            muted=self._muted(),
        )
