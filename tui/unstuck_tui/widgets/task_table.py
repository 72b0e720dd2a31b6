"""The task table: one line a task, drawn by the line, so that ten thousand cost no more than those in view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.cells import cell_len
from textual import events
from textual.message import Message

from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.state import State
from unstuck.words.labels import group_of, is_checking, kind_mark, repeats_of
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.render.attention import empty_text
from unstuck_tui.render.format import Cell, fit, flat, width_of
from unstuck_tui.render.tasks.sorting import Sorting, arranged, next_sorting
from unstuck_tui.render.tasks.table import (
    Columns,
    Needs,
    columns_for,
    header_cells,
    pips_of,
    problem_width,
    task_cells,
)
from unstuck_tui.runs.tracker import Changes, Tracker
from unstuck_tui.widgets.frame import place_of
from unstuck_tui.widgets.lines import Lines, OneLine

_NAME_LIMIT = 100


class TaskTable(Lines, can_focus=True):
    """All tasks that pass the filter; the cursor stays on its task, wherever that moves."""

    AREA = "table"
    BINDINGS = bindings_of("table")
    DEFAULT_CSS = """
    TaskTable { height: 1fr; }
    """

    @dataclass
    class Selected(Message):
        """Another task is under the cursor."""

        task_id: str

    class Arranged(Message):
        """Other tasks are shown, or in another order."""

    def __init__(self, tracker: Tracker, limits: Mapping[str, int], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tracker, self._limits = tracker, limits
        self._order: list[str] = []
        self._places: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._words = ""
        self._sorting: Sorting = "plan"
        self._stale = self._is_moved = False
        self._selected = ""
        self._marked: dict[str, None] = {}
        self._measured = 0
        self._needs = Needs(pips=len(pips_of(Climb(), limits)))

    @property
    def _state(self) -> State:
        return self._tracker.state

    @property
    def selected(self) -> str:
        """The id of the task under the cursor; empty where no task is shown."""
        return self._selected

    @property
    def chosen(self) -> Sequence[str]:
        """The marked tasks that are there still; without any the one under the cursor."""
        return self.marked or ([self._selected] if self._selected else [])

    @property
    def marked(self) -> Sequence[str]:
        """The marked tasks that are there still."""
        return [task for task in self._marked if task in self._state.tasks]

    @property
    def shown(self) -> Sequence[str]:
        """The ids of the tasks that are shown, in order."""
        return self._order

    @property
    def is_filtered(self) -> bool:
        """True while a filter hides tasks."""
        return bool(self._words)

    @property
    def sorting(self) -> Sorting:
        """The order of the rows."""
        return self._sorting

    def on_mount(self) -> None:
        self._arrange()

    def line_total(self) -> int:
        return len(self._order)

    def nothing_here(self) -> str:
        if self._state.tasks:
            return f"  no task matches the filter; {spoken('view.back')} forgets it"
        return empty_text(self._state.run.kind)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        row = self._state.tasks.get(self._order[index])
        if row is None:
            return ()
        now = self._tracker.clock.monotonic()
        history = self._tracker.history
        spent = history.spent(row.id) if row.state == "ended" else 0.0
        if is_checking(self._state, row) and (since := history.checked_since(row.id)) is not None:
            spent = now - since
        return task_cells(
            self._state,
            row,
            self._columns(width),
            now=now,
            limits=self._limits,
            spent=spent,
            marked=row.id in self._marked,
            still=bool(self._tracker.held()),
            printed=self._tracker.activity.of(row.attempt, now) if row.state == "running" else (),
            absent=self._tracker.absent(row.id) if row.state != "ended" else ("", ""),
        )

    def heading(self, width: int) -> Sequence[Cell]:
        """The heading that goes with this table; it says what the filter hides."""
        room = self.scrollable_content_region.width or width
        if not self._words:
            return header_cells(self._columns(room), self._sorting)
        words = fit(self._words, min(width // 3, cell_len(flat(self._words))))
        message = f" /{words}  {len(self._order)} of {len(self._state.tasks)}"
        (names,) = header_cells(self._columns(room), self._sorting)
        return Cell(fit(names.text.rstrip(), width - cell_len(message) - 2), names.tone), Cell(f"{message} ", "wait")

    def _columns(self, width: int) -> Columns:
        return columns_for(width, self._needs)

    def _measure(self) -> None:
        """Look how long the texts of the tasks are that have come in: no column is wider than it has to be."""
        needs = self._needs
        task, agent, failure, repeats = needs.task, needs.agent, needs.failure, needs.repeats
        for row in islice(self._state.tasks.values(), self._measured, None):
            name = row.task.agent or row.task.agent_type
            task = max(task, width_of(flat(row.id[:_NAME_LIMIT])))
            names = (name, *(f"⇄ {other}" for other in row.failover))
            agent = max(agent, *(width_of(flat(one[:_NAME_LIMIT])) for one in names))
            mark = flat(kind_mark(row)[:_NAME_LIMIT])
            self._kinds[mark] = width_of(mark)
            failure = max(failure, problem_width(self._state, row))
            repeats = repeats or int(bool(repeats_of(self._state, row)))
        # A type that all have tells none of them apart.
        kind = max(self._kinds.values(), default=0) if len(self._kinds) > 1 else 0
        self._needs = Needs(task, agent, kind, needs.pips, failure, repeats, self._used())
        self._measured = len(self._state.tasks)

    def _used(self) -> int:
        """1 where agents say what they use."""
        return int(bool(self._state.run.tokens or self._state.run.cost))

    def _measure_failures(self, tasks: Iterable[str]) -> None:
        """Give the failures of ``tasks`` the room that they need; a column that has become wide stays so."""
        state, widest, repeats, used = self._state, self._needs.failure, self._needs.repeats, self._used()
        for task in tasks:
            row = state.tasks.get(task)
            if row is None or (row.diagnosis is None and not row.gate and row.state not in ("blocked", "ready")):
                continue
            widest = max(widest, problem_width(state, row))
            repeats = repeats or int(bool(repeats_of(state, row)))
        if (widest, repeats, used) != (self._needs.failure, self._needs.repeats, self._needs.used):
            self._needs = self._needs._replace(failure=widest, repeats=repeats, used=used)
            self.refresh()
            self.post_message(self.Arranged())

    def place(self) -> str:
        """The cursor's place among all rows; empty where all of them are in view."""
        if self._selected not in self._places:
            return ""
        return place_of(self._places[self._selected] + 1, len(self._order), self.size.height, "row")

    def is_cursor(self, index: int) -> bool:
        return self._order[index] == self._selected

    def show(self, changes: Changes, *, clocks: bool = False) -> None:
        """Draw what has changed, and with ``clocks`` the lines in view on which one runs.

        What a filter or an order makes of the changes waits for the next second.
        """
        if self._words or self._sorting != "plan":
            self._stale = self._stale or bool(changes.tasks)
            if clocks and (self._stale or self._sorting == "time"):
                self._arrange()
        elif len(self._state.tasks) != len(self._order):
            self._arrange()
        self._measure_failures(changes.tasks)
        if clocks and not self._is_moved:
            self._select_live()
        timed = self._tracker.timed if clocks else ()
        top = self.scroll_offset.y
        seen = enumerate(self._order[top : top + self.size.height], top)
        self.redraw(index for index, task in seen if task in changes.tasks or task in timed)

    def attempts_in_view(self) -> list[str]:
        """The attempts at work on the lines in view."""
        top = self.scroll_offset.y
        rows = (self._state.tasks.get(task) for task in self._order[top : top + self.size.height])
        return [row.attempt for row in rows if row is not None and row.state == "running"]

    def filter_by(self, words: str) -> None:
        """Show only tasks with these words (without them, where they begin with ``!``)."""
        self._words = words.strip()
        self._arrange()
        self.refresh_bindings()

    def select(self, task_id: str) -> None:
        """Put the cursor on this task, if it is shown."""
        self._is_moved = True
        if task_id in self._places:
            self._move_to(task_id)

    def measure_again(self) -> None:
        """Forget how wide columns have become: the state is that of another moment."""
        self._measured = 0
        self._needs = Needs(pips=self._needs.pips)
        self._arrange()
        self.refresh()

    def _arrange(self) -> None:
        """Filter and sort, with the cursor on the task it was on."""
        self._stale = False
        self._measure()
        place = self._places.get(self._selected, 0)
        order = arranged(self._state, self._words, self._sorting, now=self._tracker.clock.monotonic())
        if order != self._order:
            self._order = order
            self._places = {task: place for place, task in enumerate(order)}
            self.resized()
            self.refresh()
        if self._selected not in self._places:
            self._move_to(order[min(place, len(order) - 1)] if order else "")
        self.post_message(self.Arranged())

    def _select_live(self) -> None:
        """Put the cursor on a task that needs the person, else on one that is at work, until the person moves it."""
        selected = self._state.tasks.get(self._selected)
        if selected is not None and group_of(self._state, selected) == "needs you":
            return
        asked = next((row.gate.task for row in self._tracker.gates if row.gate.task in self._places), "")
        if not asked and selected is not None and group_of(self._state, selected) == "working":
            return
        working = (task for task in self._order if group_of(self._state, self._state.tasks[task]) == "working")
        if found := asked or next(working, ""):
            self._move_to(found)

    def _move_to(self, task_id: str) -> None:
        before, self._selected = self._selected, task_id
        if task_id:
            self.scroll_to_line(self._places[task_id])
        if task_id != before:
            self.redraw(self._places.get(task, -1) for task in (before, task_id))
            self.post_message(self.Selected(task_id))
            if not (before and task_id):
                self.refresh_bindings()  # without a task there is nothing to open

    def action_cursor(self, by: int) -> None:
        self._is_moved = True
        if self._order:
            place = self._places.get(self._selected, 0) + by
            self._move_to(self._order[max(0, min(len(self._order) - 1, place))])

    def action_mark(self) -> None:
        if self._selected in self._marked:
            del self._marked[self._selected]
        elif self._selected:
            self._marked[self._selected] = None
        self.redraw([self._places.get(self._selected, -1)])
        self.refresh_bindings()
        self.action_cursor(1)

    def unmark(self) -> None:
        marked, self._marked = list(self._marked), {}
        self.redraw(self._places.get(task, -1) for task in marked)
        self.refresh_bindings()

    def action_page(self, by: int) -> None:
        self.action_cursor(by * max(1, self.size.height - 1))

    def action_sort(self) -> None:
        self.action_sort_by(next_sorting(self._sorting))

    def action_sort_by(self, sorting: Sorting) -> None:
        """Sort, and keep the task under the cursor; not where that would hide what the order puts first."""
        self._sorting = sorting
        self._arrange()
        if sorting in ("state", "time") and self._places.get(self._selected, 0) >= self.size.height:
            self._move_to(self._order[0])
        elif self._selected:
            self.scroll_to_line(self._places[self._selected])

    async def on_click(self, event: events.Click) -> None:
        place = self.scroll_offset.y + event.y
        if place < len(self._order):
            self._is_moved = True
            self._move_to(self._order[place])
            if event.chain > 1:
                await self.run_action("screen.open")


class TableHeading(OneLine):
    """The names of the table's columns, the order, and what the filter hides."""

    def __init__(self, table: TaskTable, *, id: str | None = None) -> None:
        super().__init__(table.heading, id=id, classes="-heading")
        self._table = table

    def on_click(self, event: events.Click) -> None:
        self._table.action_sort()
