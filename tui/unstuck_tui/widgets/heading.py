"""The table's heading, which stays in place when the table scrolls."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events

from unstuck_tui.render.format import Cell
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.task_table import TaskTable

__all__ = ["Heading"]


class Heading(Lines):
    """One line: the names of the columns, the order, and what is hidden by the filter."""

    DEFAULT_CSS = """
    Heading { height: 1; background: $boost; overflow: hidden; }
    """

    def __init__(self, table: TaskTable, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._table = table

    def line_total(self) -> int:
        return 1

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._table.heading(width)

    def on_click(self, event: events.Click) -> None:
        self._table.action_sort()
