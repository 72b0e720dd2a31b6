"""The plan: who needs whom, what holds what, and what giving a task up would touch."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from unstuck.text import one_line
from unstuck.words.labels import word_of
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.render.format import Cell, fit
from unstuck_tui.render.tasks.plan_graph import about_lines
from unstuck_tui.runs.tracker import Tracker
from unstuck_tui.widgets.detail import TextPane
from unstuck_tui.widgets.graph_list import GraphList
from unstuck_tui.widgets.key_hints import KeyHints
from unstuck_tui.widgets.lines import OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen, SmallNotice

__all__ = ["PlanScreen"]

_TICK_S = 1.0
_NAMED = 8


class PlanScreen(FittingScreen[str], inherit_bindings=False):
    """Returns the task to be selected on the main screen, None where that stays as it is."""

    AREAS: ClassVar[tuple[Area, ...]] = ("graph", "rows", "detail")
    OWN: ClassVar[tuple[Area, ...]] = ("graph",)
    HAS_QUESTIONS = False
    BINDINGS = bindings_of("graph")
    DEFAULT_CSS = """
    PlanScreen { layout: vertical; }
    PlanScreen #about { height: 12; max-height: 45%; border-top: solid $foreground 30%; }
    """

    def __init__(self, tracker: Tracker, task: str) -> None:
        super().__init__()
        self._tracker, self._begin = tracker, task
        self._list = GraphList(id="graph")
        self._seen = -1, (-1, False)
        self._told = ""

    def compose(self) -> ComposeResult:
        yield OneLine(lambda width: (Cell(fit(self.summary(), width)),), id="title")
        yield self._list
        yield TextPane(from_end=False, id="about")
        yield KeyHints()
        yield SmallNotice(id="small", markup=False)

    def on_mount(self) -> None:
        self._list.focus()
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
            anew, self._told, state = task != self._told, task, self._tracker.state
            page.fill(about_lines(self._list.graph, self._list.standing, state, task, page.room), anew=anew)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without tasks there is none to go to."""
        is_empty = action in ("open", "holder") and not self._list.line_total()
        return not is_empty and super().check_action(action, parameters)

    def action_open(self) -> None:
        """Back to the main screen, with this task selected."""
        self.dismiss(self._list.selected or None)

    def action_holder(self) -> None:
        """To the task that this one waits for."""
        task = self._list.selected
        holder = self._list.standing.held.get(task, "")
        if holder:
            self._list.select(holder)
        elif task:
            row = self._tracker.state.tasks[task]
            self.app.notify(f"{task} waits for no other task: {word_of(self._tracker.state, row)}.", markup=False)

    def action_back(self) -> None:
        """Back to where one was."""
        self.dismiss(None)
