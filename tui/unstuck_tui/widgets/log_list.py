"""The lines of a log, drawn from where they stand in the file; however many there are, only those in view are read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from textual.message import Message

from unstuck.eventlog.envelope import Record
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.render.format import Cell
from unstuck_tui.render.log import record_cells
from unstuck_tui.runs.log.lines import LogLines
from unstuck_tui.widgets.lines import CursorLines

__all__ = ["LogList"]


class LogList(CursorLines):
    """All records, or the ``found`` ones. While it ``follows``, the cursor is on the last."""

    AREA = "log"
    BINDINGS = bindings_of("log")
    DEFAULT_CSS = """
    LogList { height: 1fr; }
    """

    class Stopped(Message):
        """The cursor was moved: the list does not follow any more."""

    def __init__(self, lines: LogLines, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._log = lines
        self.found: Sequence[int] | None = None
        self.follows = True

    @property
    def record(self) -> Record | None:
        """The record under the cursor."""
        return self._log.record(self._line(self._cursor)) if self.line_total() else None

    def _line(self, index: int) -> int:
        return index if self.found is None else self.found[index]

    def line_total(self) -> int:
        return len(self._log) if self.found is None else len(self.found)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return record_cells(self._log.record(self._line(index)), width)

    def nothing_here(self) -> str:
        return (
            "  nothing here"
            if self.found is None
            else f"  no event matches; {spoken('logs.back')} shows all of them again"
        )

    def renew(self) -> None:
        """There are more lines, or others."""
        self.resized()
        last = max(0, self.line_total() - 1)
        self.move_to(last if self.follows else min(self._cursor, last))
        self.refresh()
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """Scroll to the cursor once the list has its place."""
        self.scroll_to_line(self._cursor)

    def place_on(self, seq: int) -> None:
        """Put the cursor on record ``seq``, or on the first one shown after it."""
        place = seq - 1 if self.found is None else bisect_left(self.found, seq - 1)
        self.move_to(place)

    def action_cursor(self, by: int) -> None:
        """Move the cursor; it does not follow any more."""
        if self.follows:
            self.follows = False
            self.post_message(self.Stopped())
        super().action_cursor(by)
