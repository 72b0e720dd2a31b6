"""A list of rows to move through, drawn by whatever tab it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unstuck_tui.keys.actions import bindings_of
from unstuck_tui.render.format import Cell
from unstuck_tui.screens.browse.tab import Tab
from unstuck_tui.widgets.lines import CursorLines

__all__ = ["RowsList"]


class RowsList(CursorLines):
    """The rows of ``tab``; each tab keeps its own cursor."""

    AREA = "rows"
    BINDINGS = bindings_of("rows")
    DEFAULT_CSS = """
    RowsList { height: 1fr; }
    """

    def __init__(self, tab: Tab[Any], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tab = tab

    def line_total(self) -> int:
        return len(self.tab.rows)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self.tab.cells(self.tab.rows[index], width)

    def nothing_here(self) -> str:
        return f"  {self.tab.problem or (self.tab.empty if self.tab.is_read else 'looking')}"

    def renew(self) -> None:
        """There are other rows, or it is another tab."""
        self.resized()
        self.refresh()
        self.scroll_to_line(self.tab.cursor)

    @property
    def cursor(self) -> int:
        return self.tab.cursor

    @cursor.setter
    def cursor(self, index: int) -> None:
        self.tab.cursor = index

    def move_to(self, index: int) -> None:
        # Now, and not when the message arrives: what the next key begins is not to be left.
        self.tab.back()
        super().move_to(index)
