"""A list of rows to move through, drawn by whatever tab it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.message import Message

from unstuck_tui.keys.actions import bindings_of
from unstuck_tui.render.format import Cell
from unstuck_tui.screens.browse.tab import Tab
from unstuck_tui.widgets.lines import Lines

__all__ = ["RowsHeading", "RowsList"]


class RowsList(Lines, can_focus=True):
    """The rows of ``tab``; each tab keeps its own cursor."""

    AREA = "rows"
    BINDINGS = bindings_of("rows")
    DEFAULT_CSS = """
    RowsList { height: 1fr; }
    """

    class Selected(Message):
        """Another row is under the cursor."""

    def __init__(self, tab: Tab[Any], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tab = tab

    def line_total(self) -> int:
        return len(self.tab.rows)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self.tab.cells(self.tab.rows[index], width)

    def nothing_here(self) -> str:
        return f"  {self.tab.problem or (self.tab.empty if self.tab.is_read else 'looking')}"

    def is_cursor(self, index: int) -> bool:
        return index == self.tab.cursor

    def renew(self) -> None:
        """There are other rows, or it is another tab."""
        self.resized()
        self.refresh()
        self.scroll_to_line(self.tab.cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor."""
        before, total = self.tab.cursor, self.line_total()
        self.tab.cursor = max(0, min(total - 1, before + by))
        # Now, and not when the message arrives: what the next key begins is not to be left.
        self.tab.back()
        self.scroll_to_line(self.tab.cursor)
        self.redraw((before, self.tab.cursor))
        self.post_message(self.Selected())

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.action_cursor(by * max(1, self.size.height - 1))

    def on_click(self, event: events.Click) -> None:
        place = self.scroll_offset.y + event.y
        if place < self.line_total():
            self.action_cursor(place - self.tab.cursor)


class RowsHeading(Lines):
    """One line: the names of the columns."""

    DEFAULT_CSS = """
    RowsHeading { height: 1; background: $boost; overflow: hidden; }
    """

    def __init__(self, rows: RowsList) -> None:
        super().__init__(id="columns")
        self._rows = rows

    def line_total(self) -> int:
        return 1

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._rows.tab.heading(width)
