"""The plan's graph, a task a line: only those in view are drawn, however large it is."""

from __future__ import annotations

from collections.abc import Sequence

from unstuck.eventlog.state import State
from unstuck_tui.keys.actions import bindings_of
from unstuck_tui.render.format import Cell, Line, width_of
from unstuck_tui.render.tasks.plan_graph import Graph, Standing, graph_cells, graph_of, standing_of
from unstuck_tui.widgets.lines import CursorLines

__all__ = ["GraphList"]

_WIDEST = 60
_KEPT = 1_000


class GraphList(CursorLines):
    """``look`` at a state to show it; the order stays until there are other tasks."""

    AREA = "rows"
    BINDINGS = bindings_of("rows")
    DEFAULT_CSS = """
    GraphList { height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.graph = graph_of({})
        self.standing = Standing((), {}, {})
        self._state = State()
        self._widest = 0
        self._drawn: dict[int, Line] = {}

    @property
    def selected(self) -> str:
        """The task under the cursor; empty where there is none."""
        return self.graph.order[self._cursor] if self.graph.order else ""

    def look(self, state: State, *, placed: bool = True, still: bool = False) -> None:
        """Show the plan as it stands in ``state``; ``still``: nothing can be recorded for the moment.

        ``placed``: some task may have ended, or begun or ceased to wait; without one, what holds what is as it was.
        """
        if len(state.tasks) != len(self.graph.order) or state is not self._state:
            selected = self.selected
            self.graph = graph_of({task: row.task.needs for task, row in state.tasks.items()})
            self._widest = min(_WIDEST, max((_wide(self.graph, task) for task in self.graph.order), default=0))
            self._state = state
            self._place_on(selected)
            placed = True
            self.refresh()
        if placed:
            self.standing = standing_of(self.graph, state, still=still)
            self.resized()
        self._look_again()

    def _look_again(self) -> None:
        """Draw the lines again that are not as they were drawn: a state that changes does not change many of them."""
        before, self._drawn = self._drawn, {}
        top, width = self.scroll_offset.y, self.scrollable_content_region.width
        in_view = range(top, min(top + self.size.height, self.line_total()))
        self.redraw([index for index in in_view if self.line_cells(index, width) != before.get(index)])

    def line_total(self) -> int:
        return len(self.graph.order)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        line = graph_cells(self.graph, self.standing, self._state, self.graph.order[index], width, self._widest)
        if len(self._drawn) >= _KEPT:  # after thousands of lines of a run in which nothing changes
            self._drawn.clear()
        self._drawn[index] = line
        return line

    def nothing_here(self) -> str:
        return "  no tasks yet"

    def select(self, task: str) -> None:
        """Put the cursor on ``task``, if it is there."""
        self._place_on(task)
        self.scroll_to_line(self._cursor)
        self.refresh()
        self.post_message(self.Selected())

    def _place_on(self, task: str) -> None:
        known: Graph = self.graph
        self._cursor = known.order.index(task) if task in known.depth else 0


def _wide(graph: Graph, task: str) -> int:
    return 2 * min(graph.depth[task], 11) + width_of(task[:_WIDEST])
