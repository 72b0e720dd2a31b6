"""The what-if tab: steps of recorded runs that differ under other settings."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

from unstuck.clock import SystemClock
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.queries.what_if import Comparison, compare_run, rows
from unstuck.runs.queries.what_if_settings import changed, recorded
from unstuck.runs.view.run_view import RunView
from unstuck_tui.dialogs.what_if import Asked, WhatIfDialog
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import would_lines
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.what_if import (
    COLUMNS,
    comparing_lines,
    comparison_lines,
    difference_about,
    difference_texts,
)
from unstuck_tui.render.format import Line
from unstuck_tui.screens.browse.tab import Tab, TabContext

Row = Mapping[str, Any]
_LOOK_S = 0.2


class _Compared(NamedTuple):
    text: str
    rows: Sequence[Row]
    notes: Sequence[str]


_LAST: WeakKeyDictionary[RunView, _Compared] = WeakKeyDictionary()
"""The last comparison on each run: whoever looks at an event of it comes back."""


class WhatIfTab(Tab[Row]):
    """Compares in a thread, so that the screen goes on. Nothing is run or written."""

    name: ClassVar[str] = "what-if"
    empty = "nothing is compared yet"
    columns = COLUMNS
    texts = staticmethod(difference_texts)
    rowless: ClassVar[frozenset[str]] = frozenset({"change"})
    head = "TASK"
    orders: ClassVar[Sequence[Order]] = (
        Order("by run"),
        Order("most questions first", lambda row: row["questions"], descends=True),
        Order("most attempts first", lambda row: row["attempts"], descends=True),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._stop: threading.Event | None = None
        self._at = (0, 0, 0)

    def key(self, row: Row) -> str:
        return f"{row['run']} {row['event']}"

    def group(self, row: Row) -> str:
        return f"{row['run']} {row['task']}"

    async def read(self) -> Sequence[Row]:
        last = _LAST.get(self.context.view)
        if last is None or self._stop is not None:
            return ()
        self.empty = "no step differs"
        return [row for row in last.rows if row["row"] == "difference"]

    def about(self, row: Row, width: int) -> Sequence[Line]:
        return [*difference_about(row, width), (), *self.without_row(width)]

    def without_row(self, width: int) -> Sequence[Line]:
        if self._stop is not None:
            return comparing_lines(*self._at, width)
        last = _LAST.get(self.context.view)
        if last is None:
            return would_lines(
                f"{spoken('what_if.change')} replays runs under other settings, such as max_retries=2: "
                "each step that would differ stands here.",
                width,
            )
        return comparison_lines(last.rows, last.notes, width)

    def back(self) -> bool:
        """Cancel a comparison that is under way."""
        if self._stop is None or self._stop.is_set():
            return False
        self._stop.set()
        return True

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_change(self, row: Row | None) -> None:
        """Ask for other settings, and compare."""
        view, screen, last = self.context.view, self.context.screen, _LAST.get(self.context.view)
        own = recorded(view.state.run.settings)
        asked = await screen.app.push_screen_wait(WhatIfDialog(own, last.text if last else "", clock=SystemClock()))
        if asked is None:
            return
        folders = [view.log.parent]
        if asked.all_runs:
            folders = [self.context.place.runs / name for name in run_names(self.context.place.runs)]
        self.found, self.note, self._at = (), "comparing", (1, len(folders), 0)
        self.arrange()
        stop = self._stop = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(self._compare, folders, asked, stop))
        try:
            while not (await asyncio.wait((work,), timeout=_LOOK_S))[0]:
                screen.redraw()
        finally:
            stop.set()
            self._stop, self.note = None, ""
        if (found := work.result()) is not None:
            _LAST[view] = found
        screen.reload()

    def _compare(self, folders: Sequence[Path], asked: Asked, stop: threading.Event) -> _Compared | None:
        """Return the comparison of the runs in ``folders``, None once ``stop`` is set."""
        found = Comparison()
        for number, folder in enumerate(folders, 1):
            for seq in compare_run(folder, lambda own: changed(own, asked.changes), found):
                self._at = number, len(folders), seq
                if stop.is_set():
                    return None
        return _Compared(asked.text, list(rows(found, dict(asked.changes))), found.notes)

    async def do_open(self, row: Row) -> None:
        """Show the event of the difference."""
        from unstuck_tui.screens.log import LogScreen

        view, run = self.context.view, str(row["run"])
        if run == view.log.parent.name and view.is_past:
            self.context.screen.leave_at(row["event"])
            return
        view = await self.context.view_of(run)
        self.context.screen.app.push_screen(LogScreen(view, task=row["task"], seq=row["event"]))
