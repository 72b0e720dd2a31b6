"""The transcript of a session around one step, with the steps of its loops marked."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult

from unstuck.errors import UnstuckError
from unstuck.history.entries import Entry
from unstuck.history.excerpt import excerpt_of
from unstuck.history.reviews import Session
from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.render.format import Cell, Line, fit
from unstuck_tui.render.printed.review import short_id
from unstuck_tui.render.review import step_lines
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen


class TranscriptLines(CursorLines):
    """The lines of the transcript; ``steps`` are the first lines of the results, by step."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[Line] = []
        self.message = "  reading the transcript"

    def line_total(self) -> int:
        return len(self.lines)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self.lines[index]

    def nothing_here(self) -> str:
        return self.message


class TranscriptScreen(FittingScreen[None], inherit_bindings=False):
    """Reads the transcript in a thread, so that a large one holds up nothing."""

    AREAS: ClassVar[tuple[Area, ...]] = ("transcript", "rows")
    OWN: ClassVar[tuple[Area, ...]] = ("transcript",)
    HAS_QUESTIONS = False
    BINDINGS = bindings_of("transcript")
    DEFAULT_CSS = """
    TranscriptScreen { layout: vertical; }
    """

    def __init__(self, session: Session, step: int) -> None:
        super().__init__()
        self._session, self._step = session, step
        self._lines = TranscriptLines(id="transcript")
        self._entries: Sequence[Entry] = ()
        self._starts: list[int] = []
        self._wrapped_at = 0
        self._is_left = self._unfolded = False

    def compose(self) -> ComposeResult:
        yield OneLine(self._title, id="title", classes="-heading")
        yield self._lines
        yield from self.compose_foot()

    def _title(self, width: int) -> Sequence[Cell]:
        session = self._session
        return (Cell(fit(f" {session.agent} {short_id(session)} · step {self._step} · {session.source.path}", width)),)

    def on_mount(self) -> None:
        self._lines.focus()
        self.run_worker(self._read(), group="reading")

    def on_unmount(self) -> None:
        self._is_left = True

    async def _read(self) -> None:
        try:
            # A thread cannot be ended, so it looks itself whether anybody still waits for it.
            session = self._session
            read = partial(excerpt_of, session.source, self._step, lambda: self._is_left, root=session.project)
            self._entries = await asyncio.to_thread(read)
            self._lines.message = "  nothing stands in this transcript"
        except (OSError, UnstuckError) as problem:
            self._lines.message = f"  the transcript cannot be read any more: {problem}"
        if self.is_whole:
            self._draw()
            self.call_after_refresh(self._go_to, self._place_of(self._step))

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw_again)

    def _draw_again(self) -> None:
        """Wrap the lines for another width."""
        if self.is_whole and self._lines.size.width != self._wrapped_at:
            self._draw_at_entry()

    def action_unfold(self) -> None:
        self._unfolded = not self._unfolded
        self._draw_at_entry()

    def _draw_at_entry(self) -> None:
        """Draw other lines; the cursor stays on its entry."""
        entry = bisect_right(self._starts, self._lines.cursor) - 1
        self._draw()
        if self._starts:
            self.call_after_refresh(self._go_to, self._starts[max(0, entry)])

    def _draw(self) -> None:
        self._wrapped_at = self._lines.size.width
        width = max(20, self._wrapped_at - 1)
        lines: list[Line] = []
        self._starts = []
        for entry in self._entries:
            self._starts.append(len(lines))
            lines += step_lines(entry, width, unfold=self._unfolded, marked="↻" if self._is_marked(entry) else "")
        self._lines.lines = lines
        self._lines.resized()
        self._lines.refresh()

    def _is_marked(self, entry: Entry) -> bool:
        """Return whether the entry is the result of a step of a loop."""
        loops = self._session.review.loops
        step = entry.step
        return step is not None and any(loop.first <= step <= loop.last for loop in loops)

    def _place_of(self, step: int) -> int:
        found = (
            start
            for entry, start in zip(self._entries, self._starts, strict=True)
            if entry.step is not None and entry.step >= step
        )
        return next(found, max(0, len(self._lines.lines) - 1))

    def _go_to(self, line: int) -> None:
        if self._lines.lines:
            self._lines.scroll_to_line(min(line + self._lines.size.height // 2, len(self._lines.lines) - 1))
            self._lines.move_to(line)

    def action_next_mark(self) -> None:
        marked = [start for entry, start in zip(self._entries, self._starts, strict=True) if self._is_marked(entry)]
        if marked:
            self._go_to(next((start for start in marked if start > self._lines.cursor), marked[0]))
        else:
            self.app.notify("No step of a loop is shown here.", markup=False)

    def action_back(self) -> None:
        self.dismiss()
