"""The plan: who needs whom, what holds what, and what giving a task up would touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from unstuck.eventlog.state import State
from unstuck.text import one_line
from unstuck.words.labels import word_of
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.render.format import Cell, Line, fit, flat, width_of
from unstuck_tui.render.tasks.plan_graph import Graph, Standing, about_lines, graph_cells, graph_of, standing_of
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.widgets.detail import TextPane
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen

_WIDEST = 60
_KEPT = 1_000

_TICK_S = 1.0
_NAMED = 8


class GraphList(CursorLines):
    """``look`` at a state to show it; the order stays until there are other tasks."""

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


class PlanScreen(FittingScreen[str], inherit_bindings=False):
    """Returns the task to be selected on the main screen, None where that stays as it is."""

    AREAS: ClassVar[tuple[Area, ...]] = ("graph", "rows", "detail")
    OWN: ClassVar[tuple[Area, ...]] = ("graph",)
    HAS_QUESTIONS = False
    BINDINGS = bindings_of("graph")
    DEFAULT_CSS = """
    PlanScreen { layout: vertical; }
    PlanScreen #about { height: 12; max-height: 45%; }
    """

    def __init__(self, tracker: Tracker, task: str) -> None:
        super().__init__()
        self._tracker, self._begin = tracker, task
        self._list = GraphList(id="graph")
        self._list.add_class("pane", "list")
        self._seen = -1, (-1, False)
        self._told = ""

    def compose(self) -> ComposeResult:
        yield OneLine(lambda width: (Cell(fit(self.summary(), width)),), id="title")
        yield self._list
        yield TextPane(from_end=False, id="about", classes="pane about")
        yield from self.compose_foot()

    def on_mount(self) -> None:
        self._list.focus()
        entitle(self._list, "tasks")
        self.tick()
        self._list.select(self._begin)
        self.set_interval(_TICK_S, self.tick)

    def tick(self) -> None:
        """A second has passed: look whether something has changed."""
        state, places = self._tracker.state, (self._tracker.placed, bool(self._tracker.held()))
        if not self.is_current or self._seen == (state.seq, places):
            return
        placed = self._seen[1] != places
        self._seen = state.seq, places
        self._list.look(state, placed=placed, still=places[1])
        if placed:
            self.query_one("#title").refresh()
            self.refresh_bindings()
        self._show()

    def summary(self) -> str:
        """The number of tasks, and the longest way that is left."""
        state, chain = self._tracker.state, self._list.standing.chain
        ended = sum(row.state == "ended" for row in state.tasks.values())
        text = f" plan of {one_line(state.run.project, 60) or 'this run'} · {ended} of {len(state.tasks)} ended"
        if not chain:
            return text
        shown = [*chain[:_NAMED], *(["…"] if len(chain) > _NAMED else [])]
        return f"{text} · » critical path, {len(chain)} tasks: {' → '.join(map(one_line, shown))}"

    @on(GraphList.Selected)
    def _selected(self) -> None:
        self._show()

    def on_resize(self, event: object) -> None:
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        """Show the facts about the task; a person who reads on keeps their place."""
        if not self.is_whole:
            return
        page, task = self.query_one("#about", TextPane), self._list.selected
        if task:
            entitle(page, flat(task))
            from_start, self._told, state = task != self._told, task, self._tracker.state
            page.fill(about_lines(self._list.graph, self._list.standing, state, task, page.room), from_start=from_start)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without tasks there is none to go to."""
        is_empty = action in ("open", "holder") and not self._list.line_total()
        return not is_empty and super().check_action(action, parameters)

    def action_open(self) -> None:
        self.dismiss(self._list.selected or None)

    def action_holder(self) -> None:
        task = self._list.selected
        holder = self._list.standing.held.get(task, "")
        if holder:
            self._list.select(holder)
        elif task:
            row = self._tracker.state.tasks[task]
            self.app.notify(f"{task} waits for no other task: {word_of(self._tracker.state, row)}.", markup=False)

    def action_back(self) -> None:
        self.dismiss(None)
