"""The browse screen: failures, checkpoints, memory, recovery, deletion, claims, the page and what-if, each on a tab."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from unstuck.clock import SystemClock
from unstuck.errors import UnstuckError
from unstuck.runs.view.run_view import RunView
from unstuck_tui.control.question_controller import QuestionController
from unstuck_tui.dialogs.confirm import ConfirmDialog
from unstuck_tui.keys.actions import Area, action_of, bindings_of, spoken
from unstuck_tui.render.browse.columns import tab_cells
from unstuck_tui.render.format import Cell, width_of
from unstuck_tui.screens.browse.checkpoints import CheckpointsTab
from unstuck_tui.screens.browse.deletion import DeletionTab
from unstuck_tui.screens.browse.memory import MemoryTab
from unstuck_tui.screens.browse.page import PageTab
from unstuck_tui.screens.browse.recovery import RecoveryTab
from unstuck_tui.screens.browse.signatures import SignaturesTab
from unstuck_tui.screens.browse.tab import Tab, TabContext
from unstuck_tui.screens.browse.truth import TruthTab
from unstuck_tui.screens.browse.what_if import WhatIfTab
from unstuck_tui.widgets.detail import TextPane
from unstuck_tui.widgets.frame import entitle, place_of
from unstuck_tui.widgets.inputs import FilterField
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen
from unstuck_tui.widgets.workers import start

_TABS: tuple[type[Tab[Any]], ...] = (
    SignaturesTab,
    CheckpointsTab,
    MemoryTab,
    RecoveryTab,
    DeletionTab,
    TruthTab,
    PageTab,
    WhatIfTab,
)
_TICK_S = 2.0
_AROUND, _LEAST_ROWS, _FEW_ROWS = 2, 8, 4
"""Lines of the tabs and the hints, and the least lines of a list; the last are those of a small screen."""
SPLIT = 100
"""The least width in which two panes stand below the list."""


class RowsList(CursorLines):
    """The rows of ``tab``; each tab keeps its own cursor."""

    def __init__(self, tab: Tab[Any], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tab = tab

    @property
    def room(self) -> int:
        """The width of a row beside a scrollbar."""
        return self.scrollable_content_region.width

    def line_total(self) -> int:
        return len(self.tab.rows)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self.tab.cells(index, width)

    def nothing_here(self) -> str:
        return f"  {self.tab.nothing}"

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
        if self.tab.rows:
            self.tab.back()
        super().move_to(index)


class _Tabs(OneLine):
    """The names of the tabs, and a note about the one that is shown."""

    async def on_click(self, event: events.Click) -> None:
        begin = 0
        for place, cell in enumerate(self.line_cells(0, self.size.width)[: len(_TABS)]):
            begin += width_of(cell.text)
            if event.x < begin:
                await self.run_action(f"screen.turn_to({place})")
                return


class BrowseScreen(FittingScreen[int], inherit_bindings=False):
    """Closes with the event at which a replay goes on, if one was chosen.

    A tab that is not shown costs nothing: there is one list, and it draws the tab that is.
    """

    AREAS: ClassVar[tuple[Area, ...]] = (
        "browse",
        "signatures",
        "checkpoints",
        "memory",
        "cut_off",
        "deletion",
        "page",
        "what_if",
        "rows",
        "detail",
    )
    HAS_QUESTIONS = False
    OWN: ClassVar[tuple[Area, ...]] = (
        "signatures", "checkpoints", "memory", "cut_off", "deletion", "page", "what_if", "browse",
    )  # fmt: skip
    BINDINGS = bindings_of(*OWN)
    DEFAULT_CSS = """
    BrowseScreen { layout: vertical; }
    BrowseScreen #list { height: 50%; }
    BrowseScreen #facts { height: 1fr; }
    BrowseScreen #about, BrowseScreen #beside { width: 1fr; height: 100%; }
    BrowseScreen #beside { display: none; }
    BrowseScreen.-beside #beside { display: block; }
    """

    def __init__(self, view: RunView, questions: QuestionController, place: int = 0) -> None:
        super().__init__()
        self._view, self._questions = view, questions
        context = TabContext(view=view, environ=dict(os.environ), screen=self)
        self._all = tuple(tab(context) for tab in _TABS)
        self._list = RowsList(self._all[place], id="rows")
        self._reading: set[str] = set()
        self._outdated: set[str] = set()
        self._is_acting = False
        self._seen = -1
        self._told: tuple[str, str] = ("", "")
        self._looked: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield _Tabs(self._tab_cells, id="tabs")
        with Vertical(id="list", classes="pane list"):
            yield OneLine(lambda _: self._tab.heading(self._list.room), id="columns", classes="-heading")
            yield self._list
            yield FilterField(
                placeholder=f"words to look for, or !words to hide; enter keeps, {spoken('browse.back')} forgets",
                id="filter",
            )
        with Horizontal(id="facts"):
            yield TextPane(from_end=False, id="about", classes="pane about")
            yield TextPane(from_end=False, id="beside", classes="pane about")
        yield from self.compose_foot()

    def on_mount(self) -> None:
        self._list.focus()
        self.reload()
        if not self._view.is_past:
            self.set_interval(_TICK_S, self.tick)

    def tick(self) -> None:
        """Some seconds have passed: look again where the run has gone on and the tab tells of it."""
        tab = self._tab
        if self.is_current and tab.follows and self._seen != self._view.state.seq and tab.name not in self._reading:
            self.reload()

    @property
    def _tab(self) -> Tab[Any]:
        return self._list.tab

    def _tab_cells(self, width: int) -> Sequence[Cell]:
        tab = self._tab
        return tab_cells([one.name for one in _TABS], tab.name, tab.note or f"{len(tab.rows):,}", width)

    # --- what is shown -----------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read the shown tab again; where it is just being read, once more after that."""
        tab = self._tab
        self._outdated.add(tab.name)
        if tab.name not in self._reading and self.is_attached:
            self._reading.add(tab.name)
            self._seen = self._view.state.seq
            self.run_worker(self._read(tab), group="reading")

    async def _read(self, tab: Tab[Any]) -> None:
        self._outdated.discard(tab.name)
        try:
            await tab.renew()
        finally:
            self._reading.discard(tab.name)
        if tab is self._tab and self.is_attached:
            self._list.renew()
            self.query_one(_Tabs).refresh()
            self.refresh_bindings()
            self._tell_about()
        if tab is self._tab and (tab.name in self._outdated or not tab.is_whole):
            self.reload()

    def redraw(self) -> None:
        """Show what is known by now, from its begin."""
        if self.is_attached:
            self.query_one(_Tabs).refresh()
            self._list.refresh()
            self._tell_about(from_start=True)

    @on(RowsList.Selected)
    def _selected(self) -> None:
        self._tell_about()

    def _tell_about(self, *, from_start: bool = False) -> None:
        """Show the facts about the row; a person who reads on keeps their place."""
        if not self.is_whole:
            return
        page, beside, tab = self.query_one("#about", TextPane), self.query_one("#beside", TextPane), self._tab
        told = tab.name, tab.key(tab.row) if tab.row is not None else ""
        from_start, self._told = from_start or told != self._told, told
        entitle(
            self.query_one("#list"),
            tab.list_title,
            " · ".join(filter(None, (self._place(), tab.summary, *self._list_keys()))),
        )
        entitle(page, tab.about_title)
        self._fit_list()
        entitle(beside, tab.beside_title)
        self.call_after_refresh(self.query_one("#columns").refresh)  # the rows may have got a scrollbar
        row = tab.row
        is_split = row is not None and bool(tab.beside_title) and self.size.width >= SPLIT
        if is_split != self.has_class("-beside"):
            self.set_class(is_split, "-beside")
            self.call_after_refresh(self._tell_about, from_start=from_start)  # the panes have other widths by then
            return
        if row is None:
            page.fill(tab.without_row(page.room), from_start=from_start)
        elif is_split:
            page.fill(tab.about(row, page.room), from_start=from_start)
            beside.fill(tab.beside(row, beside.room), from_start=from_start)
        else:
            page.fill(tab.stacked(row, page.room), from_start=from_start)
        if row is not None and (tab.name, tab.read_for(row)) != self._looked:
            self._looked = tab.name, tab.read_for(row)
            start(self, "details", self._look, tab, row)

    @on(TextPane.Fitted, "#beside")
    def _fitted(self) -> None:
        if self.is_whole and self.has_class("-beside"):
            self._tell_about()

    def _place(self) -> str:
        """The place of the cursor in the list, where not all rows are in view."""
        rows = self.query_one(RowsList)
        return place_of(self._tab.cursor + 1, len(self._tab.rows), rows.size.height, "row")

    def _list_keys(self) -> list[str]:
        """The keys of the list that do something now, as far as the footer may leave them out."""
        names = [name for name in ("filter", "sort", "fold", "all_runs") if self._offers(name)]
        return [f"{spoken(f'browse.{name}')} {action_of(f'browse.{name}').label}" for name in names]

    def _offers(self, action: str) -> bool:
        tab = self._tab
        if action == "all_runs":
            return tab.spans_runs and tab.has_project
        return {"sort": len(tab.orders) > 1, "fold": tab.has_groups, "filter": bool(tab.found)}.get(action, True)

    def _fit_list(self) -> None:
        """Give the list as many lines as it has rows, up to half of the screen; the facts get all others."""
        panes = self.query_one("#list")
        frame = 2 if panes.styles.border_top[0] else 0
        least = _FEW_ROWS if self.has_class("-stacked") else _LEAST_ROWS
        rows = max(least, len(self._tab.rows)) + 1 + self.query_one(FilterField).is_open
        panes.styles.height = min((self.size.height - _AROUND) // 2, rows + frame)

    async def _look(self, tab: Tab[Any], row: Any) -> None:
        try:
            await tab.look(row)
        except (OSError, UnstuckError) as problem:
            self.report(str(problem), trouble=True)
        if tab is self._tab and tab.row is not None and tab.key(tab.row) == tab.key(row):
            self._tell_about()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._tell_about)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only the actions of the shown tab, and those that need a row only with one."""
        tab = self._tab
        needs_row = parameters[1:] and parameters[1] not in tab.rowless
        can_act = parameters[:1] == (tab.name,) and (tab.row is not None or not tab.is_read or not needs_row)
        return (can_act if action == "act" else self._offers(action)) and super().check_action(action, parameters)

    def scroll_to_next(self, begin: str) -> None:
        page = self.query_one("#about", TextPane)
        page.scroll_to_next(begin)

    def leave_at(self, seq: int) -> None:
        self.dismiss(seq)

    # --- what the person does ----------------------------------------------------------------------------------------

    def action_turn_by(self, by: int) -> None:
        self.action_turn_to((self._all.index(self._tab) + by) % len(self._all))

    def action_turn_to(self, place: int) -> None:
        self._close_filter()
        self._list.tab = self._all[place]
        self.query_one("#columns").refresh()
        self._list.renew()
        self.redraw()
        self.refresh_bindings()
        self.set_focus(self._list)
        self.reload()

    def action_again(self) -> None:
        self.reload()

    def action_filter(self) -> None:
        field = self.query_one(FilterField)
        field.value = self._tab.words
        field.open()
        self._fit_list()

    @on(Input.Changed, "#filter")
    def _filtering(self, event: Input.Changed) -> None:
        if event.input.has_focus or not event.value:
            self._tab.filter_by(event.value)
            self._rearranged()

    @on(Input.Submitted, "#filter")
    def _filtered(self) -> None:
        self._close_filter()
        self.set_focus(self._list)
        self._rearranged()

    def _close_filter(self) -> None:
        """Take the field away; the words stay in the title of the list."""
        self.query_one(FilterField).remove_class("-open")

    def action_sort(self) -> None:
        self._tab.sort()
        self._rearranged()

    def action_fold(self, every: bool) -> None:
        self._tab.fold(every=every)
        self._rearranged()

    def action_all_runs(self) -> None:
        """Show the rows of all runs, or of this run again."""
        self._tab.all_runs = not self._tab.all_runs
        self._tab.arrange()
        self._rearranged()
        self.reload()

    def _rearranged(self) -> None:
        """Other rows of the tab are shown, or in another order."""
        self._list.renew()
        self.query_one("#columns").refresh()
        self.query_one(_Tabs).refresh()
        self.refresh_bindings()
        self._tell_about()

    async def action_act(self, tab: str, name: str) -> None:
        do = getattr(self._tab, f"do_{name}")
        if self._tab.row is None and name not in self._tab.rowless:
            self.report("No row is selected.")
        elif not inspect.iscoroutinefunction(do):
            do(self._tab.row)
        elif self._is_acting:
            self.report("Another action is still in progress.")
        else:
            self._is_acting = True
            # The app does it, and nothing takes its place: leaving the screen must not cut off a restore.
            self.app.run_worker(cast(Any, partial(self._act, do, self._tab.row)), group="acting")
            await asyncio.sleep(0)  # until it has begun: the next key may be meant to give it up

    async def _act(self, do: Any, row: Any) -> None:
        try:
            await do(row)
        except (OSError, UnstuckError) as problem:
            self.report(str(problem), trouble=True)
        finally:
            self._is_acting = False

    def action_back(self) -> None:
        """Leave what is open: what was asked about the row, the filter, then the screen."""
        field = self.query_one(FilterField)
        if not field.has_focus and self._tab.back():
            self.redraw()
        elif field.is_open or self._tab.words:
            self._close_filter()
            self.set_focus(self._list)
            self._tab.filter_by("")
            self._rearranged()
        else:
            self.dismiss()

    def report(self, said: str, *, trouble: bool = False) -> None:
        self.app.notify(said, severity="warning" if trouble else "information", timeout=12, markup=False)

    async def confirm(self, title: str, said: Sequence[str], yes: str, *, typed: str = "", hint: str = "") -> bool:
        """True where the person says yes; where ``typed`` is given, by typing it.

        Not where the person has left this screen meanwhile: their next keys are meant for the other one.
        """
        if not self.is_whole:
            self.report(f"{title} You left before you could confirm: nothing is changed.", trouble=True)
            return False
        # In a replay it is the person's time that passes, not the run's.
        clock = SystemClock() if self._view.is_past else self._view.clock
        dialog = ConfirmDialog(title, said, yes, clock=clock, typed=typed, hint=hint)
        said_yes = await self.app.push_screen_wait(dialog)
        return said_yes is True

    async def lend(self, command: Sequence[str], folder: Path) -> None:
        await self._questions.takeover.lend(command, folder)

    async def answer_all(self, gates: Sequence[str]) -> None:
        await self._questions.ask_all(gates)
