"""The base of the browse screen's tabs, and what a tab may ask of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from textual.app import App

from unstuck.errors import UnstuckError, UsageError
from unstuck.runs.view.run_view import RunView
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.models import Settings
from unstuck.workspace.project import Project
from unstuck_tui.render.browse.columns import Column, RowTexts, heading_cells, needs_of, row_cells, would_lines
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

    async def settings(self) -> Settings:
        """The settings of the project as they are now. Raises UnstuckError."""
        root, environ = self.place.root, dict(self.environ)
        return await asyncio.to_thread(
            lambda: load_settings(root, user_file=default_user_file(), environ=environ, overrides={})
        )


class Tab(Generic[Row]):
    """One tab: its ``rows``, with a cursor. Subclasses say how they are read and drawn.

    Nothing is read before the tab is shown for the first time. Its actions are the methods whose names begin with
    ``do_``; those that are no coroutines are done at once, whatever else is being done. Where there are no rows
    ``empty`` says so, and ``would`` what would stand there; actions in ``rowless`` need no row. One that ``follows`` is
    read again when the run has gone on, and one that is not ``is_whole`` yet at once. ``about_title`` and
    ``beside_title`` name the panes below the list; there is one where the second has no name.
    """

    name: ClassVar[str]
    empty: str
    would: ClassVar[str]
    columns: ClassVar[Sequence[Column]]
    follows: ClassVar[bool] = False
    rowless: ClassVar[frozenset[str]] = frozenset()
    about_title: str = "details"
    beside_title: str = ""

    def __init__(self, context: TabContext) -> None:
        self.context = context
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.is_read, self.is_whole = False, True
        self.problem = self.note = ""
        self._needs: tuple[int, ...] = ()

    @property
    def list_title(self) -> str:
        """The name of the list."""
        return self.name

    @property
    def summary(self) -> str:
        """All rows in a few words, for the frame of the list."""
        return ""

    @property
    def row(self) -> Row | None:
        return self.rows[self.cursor] if self.rows else None

    async def renew(self) -> None:
        """Read the rows again; the cursor stays on its row where that is still there."""
        before = self.key(self.row) if self.row is not None else ""
        try:
            self.rows, self.problem = await self.read(), ""
        except (OSError, UnstuckError) as problem:
            self.rows, self.problem, self.is_whole = (), str(problem), True
        keys = [self.key(row) for row in self.rows]
        self.cursor = keys.index(before) if before in keys else max(0, min(self.cursor, len(keys) - 1))
        self._needs = needs_of(self.columns, (self.texts(row) for row in self.rows[:_MEASURED]))
        self.is_read = True

    def key(self, row: Row) -> str:
        """The name of a row."""
        raise NotImplementedError

    async def read(self) -> Sequence[Row]:
        """The rows. Nothing of it may hold up the event loop. Raises UnstuckError, OSError."""
        raise NotImplementedError

    def heading(self, width: int) -> Sequence[Cell]:
        """The names of the columns."""
        return heading_cells(self.columns, width, self._needs)

    def cells(self, row: Row, width: int) -> Sequence[Cell]:
        """One line of the list."""
        return row_cells(self.columns, self.texts(row), width, self._needs)

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

    async def look(self, row: Row) -> None:
        """Read what more the row under the cursor needs. Raises UnstuckError, OSError."""

    def without_row(self, width: int) -> Sequence[Line]:
        """The lines in the place of facts where there is no row."""
        return would_lines(self.would, width)

    def back(self) -> bool:
        """Leave what was asked about the row; False where nothing was."""
        return False
