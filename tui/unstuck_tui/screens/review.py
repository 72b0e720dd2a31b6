"""The review: sessions of agents above, the timeline of the selected one below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from unstuck.history.reviews import Session
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.render.format import Cell, fit
from unstuck_tui.render.printed.review import summary_words
from unstuck_tui.render.review import (
    TimelineRow,
    about_cells,
    session_cells,
    session_heading,
    timeline_cells,
    timeline_of,
)
from unstuck_tui.screens.transcript import TranscriptScreen
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen


class SessionList(CursorLines):
    """The reviewed sessions."""

    def __init__(self, sessions: Sequence[Session], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sessions = list(sessions)

    @property
    def selected(self) -> Session:
        return self.sessions[self.cursor]

    def line_total(self) -> int:
        return len(self.sessions)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return session_cells(self.sessions[index], width)


class Timeline(CursorLines):
    """The timeline of one session."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[TimelineRow] = ()

    def fill(self, rows: Sequence[TimelineRow]) -> None:
        """Show another session, from its start."""
        self.rows, self.cursor = rows, 0
        self.resized()
        self.refresh()
        self.scroll_to_line(0)

    def line_total(self) -> int:
        return len(self.rows)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return timeline_cells(self.rows[index], width)

    def nothing_here(self) -> str:
        return "  nothing happened in this session"


class ReviewScreen(FittingScreen[None], inherit_bindings=False):
    """Changes nothing: everything on it was read before it came up."""

    AREAS: ClassVar[tuple[Area, ...]] = ("review", "rows")
    OWN: ClassVar[tuple[Area, ...]] = ("review",)
    HAS_QUESTIONS = False
    BINDINGS = bindings_of("review")
    DEFAULT_CSS = """
    ReviewScreen { layout: vertical; }
    ReviewScreen #timeline { height: 1fr; }
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        """``sessions`` are the oldest first; there is at least one."""
        super().__init__()
        self._newest = list(reversed(sessions))
        self._counts, self._circles = summary_words(sessions)
        self._list = SessionList(self._newest, id="sessions")
        self._timeline = Timeline(id="timeline")
        self._by_loss = False
        self._shown: Session | None = None

    def compose(self) -> ComposeResult:
        yield OneLine(lambda width: (Cell(fit(f" {self._counts}", width)),), id="counts")
        yield OneLine(lambda width: (Cell(fit(f" {self._circles}", width)),), id="circles")
        yield OneLine(session_heading, classes="-heading")
        yield self._list
        yield OneLine(lambda width: about_cells(self._list.selected, width), id="about", classes="-heading")
        yield self._timeline
        yield from self.compose_foot()

    def on_mount(self) -> None:
        self._list.focus()
        self._show()

    @on(CursorLines.Selected)
    def _show(self) -> None:
        """Show the timeline of the selected session; a cursor that moves within it changes nothing."""
        if self._shown is not self._list.selected and self.is_whole:
            self._shown = self._list.selected
            self._timeline.fill(timeline_of(self._shown))
            self.query_one("#about").refresh()

    def action_open(self) -> None:
        session = self._list.selected
        if self.focused is self._timeline and self._timeline.rows:
            step = self._timeline.rows[self._timeline.cursor].step
        else:
            step = session.review.loops[0].noticed if session.review.loops else 0
        self.app.push_screen(TranscriptScreen(session, step))

    def action_next_loop(self) -> None:
        sessions, cursor = self._list.sessions, self._list.cursor
        places = [*range(cursor + 1, len(sessions)), *range(cursor + 1)]
        found = next((place for place in places if sessions[place].review.loops), None)
        if found is None:
            self.app.notify("No session went round in circles.", markup=False)
        else:
            self._list.move_to(found)

    def action_sort(self) -> None:
        selected = self._list.selected
        self._by_loss = not self._by_loss
        order = sorted(self._newest, key=_loss, reverse=True) if self._by_loss else self._newest
        self._list.sessions = list(order)
        self._list.refresh()
        self._list.move_to(next(place for place, one in enumerate(order) if one is selected))
        said = "Most steps after a loop first." if self._by_loss else "Newest first."
        self.app.notify(said, timeout=3, markup=False)


def _loss(session: Session) -> int:
    after = session.review.after
    return after.steps + 1 if after is not None else 0
