"""The log screen: every record of a run, followed or paused, or those that match a search. Read-only."""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Input

from unstuck.eventlog.envelope import Record
from unstuck.runs.view.run_view import RunView
from unstuck_tui.control.clipboard import copy
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.render.format import Cell
from unstuck_tui.render.log import record_cells, record_lines, record_text, title_cells
from unstuck_tui.runs.log.lines import LogLines
from unstuck_tui.runs.log.query import Query, QueryProblem, query_of
from unstuck_tui.widgets.detail import TextPane
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.inputs import FilterField
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen

_TICK_S = 1.0
_PIECE = 20_000


class LogList(CursorLines, inherit_bindings=False):
    """All records, or the ``found`` ones. While it ``follows``, the cursor is on the last."""

    AREA = "log"
    BINDINGS = bindings_of("log")

    class Stopped(Message):
        """The cursor was moved: the list does not follow any more."""

    def __init__(self, lines: LogLines, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._log = lines
        self.found: Sequence[int] | None = None
        self.follows = True

    @property
    def record(self) -> Record | None:
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
        self.call_after_refresh(lambda: self.scroll_to_line(self._cursor))  # once the list has its place

    def place_on(self, seq: int) -> None:
        """Put the cursor on record ``seq``, or on the first one shown after it."""
        place = seq - 1 if self.found is None else bisect_left(self.found, seq - 1)
        self.move_to(place)

    def action_cursor(self, by: int) -> None:
        if self.follows:
            self.follows = False
            self.post_message(self.Stopped())
        super().action_cursor(by)


class LogScreen(FittingScreen[None], inherit_bindings=False):
    """``task`` is the one that can be looked at alone; ``seq`` the record to begin at, 0 for the last one.

    ``words`` are looked for from the beginning.
    """

    AREAS: ClassVar[tuple[Area, ...]] = ("logs", "log", "detail")
    HAS_QUESTIONS = False
    OWN: ClassVar[tuple[Area, ...]] = ("logs",)
    BINDINGS = bindings_of("logs")
    DEFAULT_CSS = """
    LogScreen { layout: vertical; }
    LogScreen #record { display: none; height: 45%; }
    LogScreen.-opened #record { display: block; }
    """

    def __init__(self, view: RunView, *, task: str = "", seq: int = 0, words: str = "") -> None:
        super().__init__()
        self._view, self._selected_task, self._seq = view, task, seq
        self._lines = LogLines(view.log)
        self._list = LogList(self._lines, id="log")
        self._list.add_class("pane", "list")
        self._words, self._problem, self._unread = words, "", ""
        self._one_task = self._without_me = False
        self._found: array[int] = array("L")
        self._searched = 0
        self._growing = False

    def compose(self) -> ComposeResult:
        yield OneLine(self.title_cells, id="title")
        yield self._list
        yield TextPane(from_end=False, id="record", classes="pane about")
        yield FilterField(
            self._words, placeholder="words, task:NAME, type:EVENT, by:human or timer or rule, failure:ID", id="words"
        )
        yield from self.compose_foot()

    def on_mount(self) -> None:
        self._list.follows = not self._seq
        self._list.focus()
        entitle(self._list, "events")
        self._grow()
        if self._words:
            self.query_one(FilterField).add_class("-open")
            self._look_anew()
        if not self._view.is_past:
            self.set_interval(_TICK_S, self.tick)

    def tick(self) -> None:
        """A second has passed: look whether there is more."""
        if self.is_current:
            self._grow()

    # --- what is shown -----------------------------------------------------------------------------------------------

    def title_cells(self, width: int) -> tuple[Cell, ...]:
        """The run, the number of its records, and which of them are shown."""
        shown = len(self._found) if self._list.found is not None else None
        notes = [] if self._view.is_past else ["follows" if self._list.follows else "paused"]
        notes += [f"only {self._selected_task}"] if self._one_task else []
        notes += ["decided without you"] if self._without_me else []
        if self._list.found is not None and self._searched < len(self._lines):
            notes.append("looking")
        run = self._view.state.run.id
        return title_cells(
            run,
            len(self._lines),
            shown,
            words=self._words,
            notes=notes,
            problem=self._problem or self._unread,
            width=width,
        )

    def _grow(self) -> None:
        if not self._growing:
            self._growing = True
            self.run_worker(self._look_for_more(), group="growing")

    async def _look_for_more(self) -> None:
        try:
            await asyncio.to_thread(self._lines.grow)
            self._unread = ""
        except OSError as problem:
            self._unread = _unread(problem)
        finally:
            self._growing = False
        self._renew()
        if self._seq and len(self._lines):
            self._list.place_on(self._seq)
            self._seq = 0
        if self._list.found is not None and not (self._problem or self._unread) and self._searched < len(self._lines):
            self._search_on()

    def _renew(self) -> None:
        self._list.renew()
        self.query_one("#title").refresh()

    def _query(self) -> Query:
        query = query_of(self._words)
        query = query.of_task(self._selected_task) if self._one_task else query
        return query.without_me() if self._without_me else query

    def _look_anew(self) -> None:
        """Look for other records, from the beginning."""
        try:
            self._problem, empty = "", self._query().is_empty
        except QueryProblem as problem:
            self._problem, empty = str(problem), False
        self._found, self._searched = array("L"), 0
        self._list.found = None if empty else self._found
        self._renew()
        self.refresh_bindings()
        if not empty and not self._problem:
            self._search_on()

    def _search_on(self) -> None:
        self.run_worker(self._search(self._query(), self._found), group="searching", exclusive=True)

    async def _search(self, query: Query, found: array[int]) -> None:
        """Piece by piece, so that the first ones are there at once and another wish ends it."""
        while self._searched < len(self._lines) and found is self._found:
            begin, end = self._searched, min(len(self._lines), self._searched + _PIECE)
            try:
                more = await asyncio.to_thread(list, self._lines.matching(query, begin, end))
            except OSError as problem:
                self._unread = _unread(problem)
                self._renew()
                return
            if found is self._found:
                found.extend(more)
                self._searched = end
                self._renew()
        self.refresh_bindings()

    # --- what the person does ----------------------------------------------------------------------------------------

    @on(LogList.Selected)
    def _selected(self) -> None:
        if self.has_class("-opened"):
            self._show_record()

    @on(LogList.Stopped)
    def _stopped(self) -> None:
        if self.is_whole:
            self.query_one("#title").refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Open and copy nothing where no record matches."""
        if action == "only_task" and not self._selected_task:
            return False
        has_looked = bool(self._problem) or self._searched == len(self._lines)
        is_vain = has_looked and self._list.found is not None and not self._found and not self.has_class("-opened")
        return not (is_vain and action in ("open", "copy")) and super().check_action(action, parameters)

    def _show_record(self) -> None:
        if not self.is_whole:
            return
        page = self.query_one("#record", TextPane)
        width = page.room
        entitle(page, f"event {self._list.record.seq}" if self._list.record is not None else "")
        page.fill(record_lines(self._list.record, width) if self._list.line_total() else (), from_start=True)

    def action_open(self) -> None:
        self.toggle_class("-opened")
        self.call_after_refresh(self._show_record)

    def action_follow(self) -> None:
        self._list.follows = not self._list.follows
        self._renew()

    def action_only_task(self) -> None:
        self._one_task = not self._one_task
        self._look_anew()

    def action_without_me(self) -> None:
        self._without_me = not self._without_me
        self._look_anew()

    def action_filter(self) -> None:
        self.query_one(FilterField).open()

    @on(Input.Changed, "#words")
    def _typed(self, event: Input.Changed) -> None:
        self._words = event.value.strip()
        self._look_anew()

    @on(Input.Submitted, "#words")
    def _looked_for(self) -> None:
        if not self._words:
            self.query_one(FilterField).close()
        self.set_focus(self._list)

    def action_copy(self) -> None:
        if (record := self._list.record) is not None:
            copy(self.app, record_text(record), self._view.log.parent)

    def action_back(self) -> None:
        """Leave what is open: the record, the words, then the log."""
        if self.has_class("-opened"):
            self.remove_class("-opened")
            self.set_focus(self._list)
        elif (field := self.query_one(FilterField)).is_open or self._list.found is not None:
            self._one_task = self._without_me = False
            self._words = ""
            field.close()
            self.set_focus(self._list)
            self._look_anew()
        else:
            self.dismiss()


def _unread(problem: OSError) -> str:
    return f"the log cannot be read: {problem.strerror or problem}"
