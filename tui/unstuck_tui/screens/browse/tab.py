"""The base of the browse screen's tabs, and what a tab may ask of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from textual.app import App

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.runs.view.run_view import RunView
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.models import Settings
from unstuck.workspace.project import Project
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import Column, RowTexts, heading_cells, needs_of, row_cells, would_lines
from unstuck_tui.render.browse.listing import Listed, Order, listing
from unstuck_tui.render.format import Cell, Line

Row = TypeVar("Row")
Result = TypeVar("Result")
_MEASURED = 500
"""Rows whose texts decide how wide the columns are."""


async def in_thread_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Do ``work`` in a thread, in a loop of its own: it looks at files by the thousand."""
    return await asyncio.to_thread(asyncio.run, work)


class TabHost(Protocol):
    """The screen, as its tabs know it."""

    @property
    def app(self) -> App[Any]:
        """The app."""

    def report(self, said: str, *, trouble: bool = False) -> None:
        """Say something in passing."""

    def reload(self) -> None:
        """Read the rows of the tab again."""

    def redraw(self) -> None:
        """Draw the facts about the row again."""

    async def confirm(self, title: str, said: Sequence[str], yes: str, *, typed: str = "", hint: str = "") -> bool:
        """True where the person says yes; where ``typed`` is given, by typing it."""

    async def answer_all(self, gates: Sequence[str]) -> None:
        """Give these gates one answer, as the person chooses it."""

    async def lend(self, command: Sequence[str], folder: Path) -> None:
        """Give the terminal to ``command`` until it ends. Raises OSError, UsageError."""

    def scroll_to_next(self, begin: str) -> None:
        """To the next line about the row that begins so."""

    def leave_at(self, seq: int) -> None:
        """Leave the screen; a replay then shows the run up to record ``seq``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabContext:
    """The run that is looked at, its environment, and the screen."""

    view: RunView
    environ: Mapping[str, str]
    screen: TabHost

    @property
    def place(self) -> Project:
        """The run's project. Raises UsageError where only the log is at hand."""
        if self.view.place is None:
            raise UsageError("this log lies outside its project, so there is nothing else to show")
        return self.view.place

    async def view_of(self, run: str) -> RunView:
        """The run ``run`` of the project, as it is now. Raises UnstuckError, OSError."""
        if run == self.view.log.parent.name:
            return self.view
        from unstuck_tui.runs.log.index import indexed
        from unstuck_tui.runs.replay.replayed_run import ReplayedRun

        log = self.place.runs / run / LOG_NAME
        return await asyncio.to_thread(lambda: ReplayedRun(indexed(log)))

    async def settings(self) -> Settings:
        """The settings of the project as they are now. Raises UnstuckError."""
        root, environ = self.place.root, dict(self.environ)
        return await asyncio.to_thread(
            lambda: load_settings(root, user_file=default_user_file(), environ=environ, overrides={})
        )


class Tab(Generic[Row]):
    """One tab: what was ``found``, the ``rows`` of it that are shown, and a cursor. Subclasses read and draw them.

    Nothing is read before the tab is shown for the first time. Its actions are the methods whose names begin with
    ``do_``; those that are no coroutines are done at once, whatever else is being done. Where there are no rows
    ``empty`` says so, and ``would`` what would stand there; actions in ``rowless`` need no row. One that ``follows`` is
    read again when the run has gone on, and one that is not ``is_whole`` yet at once. ``about_title`` and
    ``beside_title`` name the panes below the list; there is one where the second has no name. ``orders`` are those that
    a person can choose, the first one that of reading. Rows of one ``group`` stand together and can be folded; the
    column ``head`` then says how many there are. One that ``spans_runs`` shows those of all runs when asked.
    """

    name: ClassVar[str]
    empty: str
    would: ClassVar[str]
    columns: ClassVar[Sequence[Column]]
    follows: ClassVar[bool] = False
    rowless: ClassVar[frozenset[str]] = frozenset()
    orders: ClassVar[Sequence[Order]] = (Order("newest first"),)
    head: ClassVar[str] = ""
    spans_runs: ClassVar[bool] = False
    title: ClassVar[str] = ""
    about_title: str = "details"
    beside_title: str = ""

    def __init__(self, context: TabContext) -> None:
        self.context = context
        self.found: Sequence[Row] = ()
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.is_read, self.is_whole, self.all_runs = False, True, False
        self.problem = self.note = self.words = ""
        self._listed: Sequence[Listed[Row]] = ()
        self._order, self._folded = 0, set[str]()
        self._needs: tuple[int, ...] = ()

    @property
    def order(self) -> Order:
        """The order of the rows."""
        return self.orders[self._order]

    @property
    def list_title(self) -> str:
        """The name of the list, its order, its runs, and what the filter leaves of it."""
        parts = [self.title or self.name, self.order.name if len(self.orders) > 1 else ""]
        parts += [("all runs" if self.all_runs else "this run") if self.spans_runs else ""]
        parts += [f"/{self.words}  {len(self.rows):,} of {len(self.found):,}" if self.words else ""]
        return " · ".join(filter(None, parts))

    @property
    def summary(self) -> str:
        """All rows in a few words, for the frame of the list."""
        return ""

    @property
    def nothing(self) -> str:
        """The text in the place of rows."""
        if self.words and self.found:
            return f"no row matches the filter; {spoken('browse.back')} forgets it"
        return self.problem or (self.empty if self.is_read else "looking")

    @property
    def has_groups(self) -> bool:
        """True where rows can be folded."""
        return any(line.others for line in self._listed)

    @property
    def has_project(self) -> bool:
        """True where other runs are at hand."""
        return self.context.view.place is not None

    @property
    def row(self) -> Row | None:
        return self.rows[self.cursor] if self.rows else None

    async def renew(self) -> None:
        """Read the rows again; the cursor stays on its row where that is still there."""
        try:
            self.found, self.problem = await self.read(), ""
        except (OSError, UnstuckError) as problem:
            self.found, self.problem, self.is_whole = (), str(problem), True
        self.is_read = True
        self.arrange()

    def arrange(self) -> None:
        """Filter, sort and fold what was found; the cursor stays on its row, or goes to the head of its group."""
        before = self.row
        self._listed = listing(
            self.found,
            words=self.words,
            text=self.searched,
            order=self.order,
            group=self.group,
            folded=self._folded,
        )
        self.rows = [line.row for line in self._listed]
        if before is not None:
            key, group = self.key(before), self.group(before)
            keys = [self.key(row) for row in self.rows]
            heads = [line.group if line.group and not line.is_member else None for line in self._listed]
            self.cursor = keys.index(key) if key in keys else heads.index(group) if group in heads else self.cursor
        self.cursor = max(0, min(self.cursor, len(self.rows) - 1))
        self._needs = needs_of(self.columns, (self._line(place) for place in range(min(_MEASURED, len(self.rows)))))

    def filter_by(self, words: str) -> None:
        """Show only rows with these words; without them, where they begin with ``!``."""
        self.words = words.strip()
        self.arrange()

    def sort(self) -> None:
        """Go to the next order."""
        self._order = (self._order + 1) % len(self.orders)
        self.arrange()

    def fold(self, *, every: bool) -> bool:
        """Fold or unfold the group of the row, or each one; False where there is none."""
        heads = {line.group for line in self._listed if line.others}
        chosen = heads if every else heads & {self._listed[self.cursor].group} if self.rows else set()
        self._folded = self._folded - chosen if chosen <= self._folded else self._folded | chosen
        self.arrange()
        return bool(chosen)

    def searched(self, row: Row) -> str:
        """The text of a row in which words are looked for."""
        return " ".join(self.texts(row).texts.values())

    def group(self, row: Row) -> str:
        """The name of a row's group; empty where it stands alone."""
        return ""

    def key(self, row: Row) -> str:
        """The name of a row."""
        raise NotImplementedError

    async def read(self) -> Sequence[Row]:
        """The rows. Nothing of it may hold up the event loop. Raises UnstuckError, OSError."""
        raise NotImplementedError

    def heading(self, width: int) -> Sequence[Cell]:
        """The names of the columns."""
        return heading_cells(self.columns, width, self._needs)

    def cells(self, place: int, width: int) -> Sequence[Cell]:
        """The line of the list at ``place``."""
        return row_cells(self.columns, self._line(place), width, self._needs)

    def _line(self, place: int) -> RowTexts:
        """The texts of the line at ``place``: the first one of a group can be folded, the others are quieter."""
        line = self._listed[place]
        told = self.texts(line.row)
        if line.is_member:
            return replace(told, tones={**told.tones, self.head: "quiet"})
        number = f" ({line.hidden + 1})" if line.hidden else ""
        texts = {**told.texts, self.head: f"{told.texts[self.head]}{number}"} if number else told.texts
        return replace(told, texts=texts, sign=told.sign or line.sign)

    def texts(self, row: Row, /) -> RowTexts:
        """The texts of one line of the list."""
        raise NotImplementedError

    def about(self, row: Row, width: int, /) -> Sequence[Line]:
        """The facts about the row under the cursor."""
        raise NotImplementedError

    def beside(self, row: Row, width: int, /) -> Sequence[Line]:
        """More about the row under the cursor, beside the facts or below them; nothing where they say all."""
        return ()

    def stacked(self, row: Row, width: int, /) -> Sequence[Line]:
        """Both, where there is room for one pane only."""
        more = self.beside(row, width)
        return [*self.about(row, width), *([(Cell(""),)] if more else []), *more]

    def read_for(self, row: Row) -> object:
        """The value with which more is read for a row again, once it is another one."""
        return self.key(row)

    async def look(self, row: Row) -> None:
        """Read what more the row under the cursor needs. Raises UnstuckError, OSError."""

    def without_row(self, width: int) -> Sequence[Line]:
        """The lines in the place of facts where there is no row."""
        return would_lines(self.would, width)

    def back(self) -> bool:
        """Leave what was asked about the row; False where nothing was."""
        return False
