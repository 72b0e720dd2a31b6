"""All of an output, a prompt or a diff on a screen of its own: searched, followed, copied, opened in an editor."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.widgets import Input

from unstuck.errors import UnstuckError
from unstuck.eventlog.state import TaskRow
from unstuck.history.entries import Entry
from unstuck.history.output_reader import OutputReader
from unstuck.runs.view.output_files import output_file, read_output
from unstuck.runs.view.outputs import OutputKind, workdir_of
from unstuck.runs.view.run_view import RunView
from unstuck.supervision.checkpointing import Since
from unstuck.words.amounts import sized
from unstuck.words.excerpt import failure_pattern
from unstuck.words.labels import counted
from unstuck_tui.control.clipboard import copy
from unstuck_tui.control.external_editor import Place, open_place
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.render.diff import (
    DiffLine,
    heading,
    next_since,
    read_diff,
    side_by_side,
    since_words,
    unified,
)
from unstuck_tui.render.format import Cell, Line, laid_out, width_of
from unstuck_tui.render.tasks.detail import is_step, prompt_lines
from unstuck_tui.render.tasks.pager import SET_IN, line_with, page_line, pager_title, place_of, places_of, trouble_at
from unstuck_tui.render.transcript import TranscriptLayout
from unstuck_tui.widgets.inputs import FilterField
from unstuck_tui.widgets.lines import CursorLines, OneLine
from unstuck_tui.widgets.minimum_size import FittingScreen
from unstuck_tui.widgets.workers import start

Content = OutputKind | Literal["changes"]
_CONTENTS: tuple[Content, ...] = ("changes", "check", "agent", "prompt")
_TICK_S = 1.0
_LOOK = 5
"""Seconds from one look at the changes to the next."""
_SIDEWAYS = 20
_NOTHING = re.compile(r"(?!)")


class PagerLines(CursorLines):
    """Lines of text, drawn when they come into view, or ``laid_out`` ones."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.texts: list[str] = []
        self.laid_out: Sequence[Line] | None = None
        self.marks = _NOTHING
        self.words = ""
        self.shift = 0
        self.note = "  reading"

    def line_total(self) -> int:
        return len(self.texts)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        if self.laid_out is not None:
            return line_with(self.laid_out[index], self.words)
        text = self.texts[index]
        marked = bool(self.marks.search(text))
        return page_line(text, width, shift=self.shift, marked=marked, words=self.words)

    def nothing_here(self) -> str:
        return self.note

    def fill(self, texts: list[str], laid_out: Sequence[Line] | None = None) -> None:
        """Show these lines; the cursor stays on its line where there is one."""
        self.texts, self.laid_out = texts, laid_out
        self.resized()
        self.move_to(self.cursor)
        self.refresh()

    def on_resize(self) -> None:
        # How far it can scroll shows only once the lines have their place.
        self.call_after_refresh(lambda: self.scroll_to_line(self.cursor))


class PagerScreen(FittingScreen[None], inherit_bindings=False):
    """``lend`` gives the terminal to a program in a folder."""

    AREAS: ClassVar[tuple[Area, ...]] = ("pager", "rows")
    OWN: ClassVar[tuple[Area, ...]] = ("pager",)
    HAS_QUESTIONS = False
    BINDINGS = bindings_of("pager")
    DEFAULT_CSS = """
    PagerScreen { layout: vertical; }
    """

    def __init__(
        self,
        view: RunView,
        task: str,
        content: Content,
        lend: Callable[[Sequence[str], Path], Awaitable[None]],
        *,
        since: Since = "start",
    ) -> None:
        super().__init__()
        self._view, self._task_id, self._content, self._lend = view, task, content, lend
        self._since = since
        self._attempt = self._row.attempts if self._row is not None else 0
        self._lines = PagerLines(id="pager")
        self._file: Path | None = None
        self._begin = self._end = 0
        self._note = ""
        self._diff: tuple[str, Sequence[DiffLine]] | None = None
        self._entries: tuple[Entry, ...] | None = None
        self._layout = TranscriptLayout()
        self._splits = self._unfolds = self._is_raw = False
        self._follows = content != "changes"
        self._ticks = 0
        self._found: Sequence[int] = ()
        self._found_in: Sequence[str] = ()
        self._found_for = ""

    @property
    def _row(self) -> TaskRow | None:
        return self._view.state.tasks.get(self._task_id)

    def compose(self) -> ComposeResult:
        yield OneLine(self._title, id="title", classes="-heading")
        yield self._lines
        yield FilterField(placeholder="words to look for; enter goes on", id="words")
        yield from self.compose_foot()

    def on_mount(self) -> None:
        self._lines.focus()
        self._read()
        self.set_interval(_TICK_S, self.tick)

    def tick(self) -> None:
        """A second has passed: look whether there is more of what can still grow."""
        self._ticks += 1
        row = self._row
        if self._view.is_past or row is None or row.state == "ended":
            return
        if self._content == "changes":
            if self._ticks % _LOOK == 0:
                self._read()
        elif self._attempt == row.attempts and (self._file is not None or self._entries is not None):
            start(self, "growing", self._look_for_more)
        elif self._can_grow and not self._lines.texts:
            self._read()  # there may be a file now

    # --- what is shown -----------------------------------------------------------------------------------------------

    def _title(self, width: int) -> Sequence[Cell]:
        row, lines = self._row, self._lines
        is_one = self._content != "changes" and row is not None and row.attempts > 1
        attempt = f" · attempt {self._attempt} of {row.attempts}" if is_one and row is not None else ""
        notes = [self._note]
        if lines.texts:
            notes.append(f"line {lines.cursor + 1:,} of {len(lines.texts):,}")
        if lines.shift:
            notes.append(f"from column {lines.shift + 1}")
        if self._follows and self._can_grow:
            notes.append("follows")
        if lines.words:
            notes.insert(0, counted(len(self._matches()), "match", "matches"))
        return pager_title(f"{self._task_id}{attempt}", _CONTENTS, self._content, notes, width)

    def _matches(self) -> Sequence[int]:
        """The lines with the words that are looked for, looked for once."""
        lines = self._lines
        if self._found_in is not lines.texts or self._found_for != lines.words:
            self._found_in, self._found_for = lines.texts, lines.words
            self._found = places_of(lines.texts, lines.words)
        return self._found

    @property
    def _can_grow(self) -> bool:
        row = self._row
        is_last = row is not None and row.state != "ended" and self._attempt == row.attempts
        return is_last and self._content in ("check", "agent") and not self._view.is_past

    def _read(self) -> None:
        start(self, "reading", self._load)

    async def _load(self) -> None:
        """Read what is chosen, from its end where that is followed."""
        row = self._row
        if row is None:
            self._lines.note = "  this task is gone"
            self._lines.fill([])
        elif self._content == "changes":
            await self._load_changes()
        else:
            await self._load_output(row, self._content)
        self._redraw_title()

    async def _load_output(self, row: TaskRow, kind: OutputKind) -> None:
        self._diff, self._begin, self._end, self._note = None, 0, 0, ""
        self._entries = None
        file = output_file(self._view.log, self._view.state, row, kind, self._attempt)
        try:
            if file is None:
                raise FileNotFoundError
            piece = await read_output(file)
            text, self._begin, self._end = str(piece.text), piece.begin, piece.end
        except OSError:
            file = None
            is_last = self._attempt == row.attempts
            tail = await self._view.output(row.id, kind) if is_last else None
            text = tail.text if tail is not None else ""
            self._note = tail.note if tail is not None else f"attempt {self._attempt} left nothing of it"
        self._file = file
        self._lines.note = f"  {self._note or 'nothing was printed'}"
        if kind == "agent" and not self._is_raw and (entries := await self._said(row, file)) is not None:
            self._note = ""
            self._show_entries(entries)
            self._go_to_start()
            return
        self._lines.marks = failure_pattern(row.diagnosis) if kind == "check" else _NOTHING
        if self._begin:
            self._note = f"{sized(self._begin)} before: {spoken('pager.edit')} opens all"
        self._show_text(text, kind)
        self._go_to_start()

    def _go_to_start(self) -> None:
        """Go to the end of what is followed, else to the first line."""
        self._lines.move_to(len(self._lines.texts) - 1 if self._follows and self._content != "prompt" else 0)
        # How far it can scroll shows only once the lines have their place.
        self.call_after_refresh(lambda: self._lines.scroll_to_line(self._lines.cursor))

    async def _said(self, row: TaskRow, file: Path | None) -> tuple[Entry, ...] | None:
        """Messages and tool calls of the attempt's agent; None where it printed plain text."""
        if self._attempt == row.attempts:
            return (await self._view.output(row.id, "agent")).entries
        if file is None:
            return None
        reader = OutputReader(file, root=workdir_of(self._view.state, row))
        return await asyncio.to_thread(reader.read, is_ended=True)

    def _show_entries(self, entries: tuple[Entry, ...]) -> None:
        self._entries = entries
        lines = self._layout.lines(entries, width=self._room, unfold=self._unfolds)
        self._lines.fill(["".join(cell.text for cell in line) for line in lines], lines)

    def _show_text(self, text: str, kind: OutputKind) -> None:
        if kind == "prompt":
            lines = prompt_lines(text, width=self._room)
            self._lines.fill(["".join(cell.text for cell in line) for line in lines], lines)
        else:
            self._lines.fill([line for line in text.splitlines() if not is_step(line)])

    @property
    def _room(self) -> int:
        return max(20, self.size.width - self._lines.styles.scrollbar_size_vertical)

    async def _load_changes(self) -> None:
        since = self._since
        try:
            checkpoint, diff = await self._view.changes(self._task_id, since)
        except UnstuckError as problem:
            self._lines.note = f"  {problem}"
            self._lines.fill([])
            return
        if self._diff is not None and self._diff[0] == diff and self._lines.texts:
            return
        self._file, self._note = None, f"since {since_words(since)}"
        self._diff = (diff, await asyncio.to_thread(read_diff, diff))
        self._lines.note = "  no file has changed" if checkpoint else "  nothing to compare with"
        self._lines.marks = _NOTHING
        self._show_diff(since_words(since, checkpoint))

    def _show_diff(self, words: str = "") -> None:
        if self._diff is None:
            return
        diff, lines = self._diff
        told: Sequence[Line] = side_by_side(lines, self._room) if self._splits else unified(lines, self._room)
        if diff:
            told = [heading(words or since_words(self._since), diff, self._room), *told]
        self._lines.fill(["".join(cell.text for cell in line) for line in told], told)

    async def _look_for_more(self) -> None:
        """Append what has been printed since."""
        row = self._row
        if self._entries is not None and row is not None:
            entries = await self._said(row, self._file)
            if entries is not None and self._entries is not None and entries != self._entries:
                self._show_entries(entries)
                self._follow()
            return
        file, end = self._file, self._end
        if file is None:
            return
        try:
            piece = await read_output(file, end)
        except OSError:
            return
        if (self._file, self._end) != (file, end) or piece.end == end:
            return
        self._end = piece.end
        if piece.size < end:  # it was shortened: its end was written again
            self._read()
            return
        more = [line for line in piece.text.splitlines() if not is_step(line)]
        self._lines.fill([*self._lines.texts, *more])
        self._follow()

    def _follow(self) -> None:
        """Go to the end of what has grown, if it is followed."""
        if self._follows:
            self._lines.move_to(len(self._lines.texts) - 1)
        self._redraw_title()

    def _redraw_title(self) -> None:
        if self.is_whole:
            self.query_one("#title").refresh()
            self.refresh_bindings()

    def on_resize(self, event: events.Resize) -> None:
        if self._diff is not None:
            self.call_after_refresh(self._show_diff)
        elif self._content == "prompt" or self._entries is not None:
            self.call_after_refresh(self._read)

    @on(PagerLines.Selected)
    def _moved(self) -> None:
        self._redraw_title()

    # --- what the person does ----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what the text can do."""
        row = self._row
        if action == "attempt":
            return self._content != "changes" and row is not None and row.attempts > 1
        if action == "find":
            return bool(self._lines.words)
        if action == "split":
            return self._content == "changes"
        if action == "unfold":
            return self._entries is not None
        if action == "raw":
            return self._content == "agent"
        if action == "follow":
            return self._can_grow
        return super().check_action(action, parameters)

    def action_content(self, content: Content) -> None:
        """Show another output of the task, or its changes; the changes again are since another time."""
        if content == self._content == "changes":
            self._since = next_since(self._since)
        self._content = content
        self._follows = content != "changes"
        self._turn()

    def _turn(self) -> None:
        self._diff = self._entries = None
        self._lines.shift = 0
        self._lines.note = "  reading"
        self._lines.cursor = 0
        self._lines.fill([])
        self._read()

    def action_attempt(self, by: int) -> None:
        row = self._row
        if row is not None:
            self._attempt = max(1, min(row.attempts, self._attempt + by))
            self._follows = self._attempt == row.attempts
            self._turn()

    def action_split(self) -> None:
        self._splits = not self._splits
        self._show_diff()

    def action_unfold(self) -> None:
        """Show all lines of what calls returned, or the first ones."""
        self._unfolds = not self._unfolds
        if self._entries is not None:
            self._show_entries(self._entries)

    def action_raw(self) -> None:
        """Show the agent's output as it was printed, or what it says."""
        self._is_raw = not self._is_raw
        self._turn()

    def action_follow(self) -> None:
        self._follows = not self._follows
        self._follow()

    def action_sideways(self, by: int) -> None:
        self._shift_to(self._lines.shift + by * _SIDEWAYS)

    def action_line_end(self) -> None:
        """Show the end of the line under the cursor."""
        if self._lines.texts:
            self._shift_to(width_of(laid_out(self._lines.texts[self._lines.cursor])) - self._columns)

    def _shift_to(self, column: int) -> None:
        if self._lines.laid_out is None:
            self._lines.shift = max(0, column)
            self._lines.refresh()
            self._redraw_title()

    @property
    def _columns(self) -> int:
        """The columns of a line that are in view."""
        return self._room - len(SET_IN)

    def _bring_into_view(self, words: str) -> None:
        """Scroll sideways where the first of ``words`` on the line would not be seen."""
        lines = self._lines
        text = laid_out(lines.texts[lines.cursor]) if lines.laid_out is None else ""
        begin = text.lower().find(words.lower())
        if begin >= 0 and not lines.shift <= begin <= lines.shift + self._columns - len(words):
            self._shift_to(0 if begin + len(words) <= self._columns else begin - self._columns // 2)

    def action_search(self) -> None:
        self.query_one(FilterField).open()

    @on(Input.Changed, "#words")
    def _typed(self, event: Input.Changed) -> None:
        self._lines.words = event.value
        self._lines.refresh()
        self._redraw_title()

    @on(Input.Submitted, "#words")
    def _looked_for(self) -> None:
        if not self._lines.words:
            self.query_one(FilterField).close()
        self.set_focus(self._lines)
        self.action_find(1)

    def action_find(self, step: int) -> None:
        words = self._lines.words
        if not words:
            return
        place = place_of(self._matches(), self._lines.cursor, step)
        self._go_to(place, f"{words!r} is not in this text.")
        if place is not None:
            self._bring_into_view(words)

    def action_trouble(self, step: int) -> None:
        """Go to the next or the previous line of the failure, or of another error."""
        if self._lines.texts:
            place = trouble_at(self._lines.texts, self._lines.marks, self._lines.cursor, step)
            self._go_to(place, "No line of this text tells of an error.")

    def _go_to(self, place: int | None, message: str) -> None:
        if place is None:
            self.app.notify(message, markup=False)
            return
        self._follows = False
        self._lines.scroll_to_line(min(place + self._lines.size.height // 2, len(self._lines.texts) - 1))
        self._lines.move_to(place)

    def action_copy(self) -> None:
        if self._lines.texts:
            copy(self.app, "\n".join(self._lines.texts), self._view.log.parent)

    async def action_edit(self) -> None:
        """Open the whole file in the person's editor."""
        if self._file is None:
            self.app.notify("There is no file of it to open.", markup=False)
            return
        place = Place(self._file, 0 if self._begin else self._lines.cursor + 1)
        said = await open_place(self.app, self._view, place, os.environ, self._lend)
        self.app.notify(said, timeout=12, markup=False)

    def action_back(self) -> None:
        """Leave the search, then the text."""
        if (field := self.query_one(FilterField)).is_open:
            field.close()
            self._lines.words = ""
            self.set_focus(self._lines)
            self._lines.refresh()
            self._redraw_title()
        else:
            self.dismiss()
