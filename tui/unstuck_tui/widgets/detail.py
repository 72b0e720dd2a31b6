"""The selected task: what was tried, what went wrong, and what its agent prints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message

from unstuck.errors import UnstuckError
from unstuck.eventlog.state import TaskRow
from unstuck.runs.view.outputs import OutputKind, OutputTail
from unstuck.runs.view.run_view import RunView
from unstuck.supervision.checkpointing import Since
from unstuck.words.labels import held_word, is_checking, needs_person
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.render.diff import (
    DiffLine,
    brief,
    heading,
    next_since,
    note_lines,
    read_diff,
    sharers,
    since_words,
    unified,
)
from unstuck_tui.render.format import Cell, Line, fit, fit_middle
from unstuck_tui.render.tasks.detail import (
    changed_files_lines,
    check_lines,
    failure_lines,
    failure_title,
    marked_line,
    output_lines,
    page_names,
    prompt_lines,
    section,
    story_title,
    task_lines,
    timeline_lines,
)
from unstuck_tui.render.tasks.escalation import ladder_lines, outlook
from unstuck_tui.render.tasks.table import problem_of
from unstuck_tui.render.transcript import TranscriptLayout
from unstuck_tui.runs.history import failure_key
from unstuck_tui.runs.tracker import Changes, Tracker
from unstuck_tui.widgets.frame import entitle, place_of
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.workers import start

_CORNERS, _ENDS = 4, 2
"""Cells beside a title in the frame of a pane, and in a line above it."""
_LEAST_NAMES = 16
_FACTS, _FEW_FACTS, _MIDDLE = 5, 3, 15
"""Lines of the failure with its title beside what is read, where there are few, and from how many on there are."""
_TALL, _LEAST_LADDER = 22, 7
"""Lines from which on the prompt stands below the page, and lines left from which on the next steps are in it."""
_LOOK_S = 5.0
"""Seconds from the end of one look at the files to the next."""
_PAGES = ("timeline", "ladder", "changes")
_READ = ("story", "failure", "output")
"""Parts of which one has the room where the panes share a small one: a page, the failure, an output."""
_OUTPUTS: tuple[OutputKind, ...] = ("check", "agent", "prompt")


class TextPane(Lines, can_focus=True):
    """Lines to scroll through. One that is read ``from_end`` follows what is added, until it is scrolled back."""

    AREA = "detail"
    BINDINGS = bindings_of("detail")
    DEFAULT_CSS = """
    TextPane { height: 1fr; }
    TextPane:focus { background: $boost; }
    """

    class Fitted(Message):
        """The pane has its place, or another one."""

        def __init__(self, pane: TextPane) -> None:
            super().__init__()
            self.pane = pane

        @property
        def control(self) -> TextPane:
            return self.pane

    def __init__(self, *, from_end: bool = True, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: Sequence[Line] = ()
        self._from_end = self._follows = from_end
        self._begin: int | None = None

    @property
    def room(self) -> int:
        """The width of a line beside a scrollbar, which shows only once the lines are there."""
        return max(20, self.size.width - self.styles.scrollbar_size_vertical)

    def line_total(self) -> int:
        return len(self._lines)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._lines[index]

    def fill(self, lines: Sequence[Line], *, from_start: bool = False, begin: int | None = None) -> None:
        """Show these lines; ``from_start``: they are another task's, and are shown from the start.

        ``begin`` is the line that they are shown from instead of their start or end.
        """
        from_start = from_start or begin != self._begin
        self._begin = begin
        if from_start:
            self._follows = self._from_end and begin is None
        before, self._lines = self._lines, lines
        if len(lines) == len(before) and not from_start:
            # A clock that runs changes one line of many.
            self.redraw(index for index, line in enumerate(lines) if line != before[index])
            return
        self.resized()
        self.refresh()
        if from_start or self._follows:
            self.call_after_refresh(self._settle)

    def place(self) -> str:
        """The last line in view among all; empty where all of them are."""
        last = min(len(self._lines), self.scroll_offset.y + self.size.height)
        return place_of(last, len(self._lines), self.size.height)

    def restart(self, *, from_end: bool) -> None:
        """Show other lines: from their end, which is followed, or from the start."""
        self._from_end = from_end
        self._follows = from_end and self._begin is None
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """To the end where that is followed; how far that is shows only once the page has its place.

        Only a person's scrolling ends the following: lines may have come since ``max_scroll_y`` was laid out.
        """
        follows = self._follows
        self.scroll_to(y=self.max_scroll_y if follows else self._begin or 0, animate=False, immediate=True)
        self._follows = follows

    def scroll_to_next(self, begin: str) -> None:
        """Scroll on to the next line whose text begins so; from the last one to the first."""
        places = [
            index for index, line in enumerate(self._lines) if "".join(cell.text for cell in line).startswith(begin)
        ]
        if places:
            top = next((place for place in places if place > self.scroll_offset.y), places[0])
            self.scroll_to(y=top, animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follows = self._from_end and self.scroll_offset.y >= self.max_scroll_y

    def on_resize(self) -> None:
        if self._follows:
            self.call_after_refresh(self._settle)
        self.post_message(self.Fitted(self))


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of the task's files since ``since``, in words, and a note where there are none."""

    since: str = ""
    diff: str = ""
    lines: Sequence[DiffLine] = ()
    note: str = "looking"


class Detail(Horizontal):
    """One of three pages, the failure, and one of three outputs, of which nothing is kept but the end.

    Where there is room for it, the prompt stands below the page.
    """

    DEFAULT_CSS = """
    Detail { height: 1fr; }
    Detail #story { width: 1fr; }
    Detail #pages { height: 1fr; }
    Detail #told { display: none; }
    Detail.-tall #told { display: block; }
    Detail #pages > TextPane { display: none; }
    Detail #pages > TextPane.-shown { display: block; }
    Detail #facts { width: 1fr; }
    Detail #failure { height: auto; max-height: 50%; }
    """

    def __init__(self, tracker: Tracker, view: RunView, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tracker, self._view = tracker, view
        self._task_id = ""
        self._page = _PAGES[0]
        self._tail = self._told = OutputTail()
        self._told_to = ("", "")
        self._chosen: OutputKind | None = None
        self._shown: OutputKind = "agent"
        self._transcript, self._transcript_beside = TranscriptLayout(), TranscriptLayout()
        self._unfolded = self._raw = False
        self._changes = _Changes()
        self._since: Since = "start"
        self._beside, self._beside_kind = OutputTail(), cast(OutputKind | None, None)
        self._most: tuple[int | None, int | None] = (None, None)
        self._looked_at, self._is_stale, self._left = 0.0, False, 0
        self._looked_for: tuple[object, ...] = ()
        self._laid_out: tuple[_Changes, int, Sequence[Line]] | None = None
        self._reading = self._comparing = self._due = False

    def compose(self) -> ComposeResult:
        with Vertical(id="story"):
            with Container(id="pages", classes="pane"):
                yield TextPane(id="timeline", classes="-shown")
                yield TextPane(id="ladder", from_end=False)
                yield TextPane(id="changes", from_end=False)
            yield TextPane(id="told", from_end=False, classes="pane")
        with Vertical(id="facts"):
            yield TextPane(id="failure", from_end=False, classes="pane")
            yield TextPane(id="output", classes="pane")

    def on_mount(self) -> None:
        for name in ("failure", "output"):
            self.watch(self.query_one(f"#{name}"), "scroll_y", self._scrolled, init=False)

    @property
    def page(self) -> str:
        """The page that is shown."""
        return self._page

    @property
    def shown(self) -> OutputKind:
        """The output that is shown, or will be once it is read."""
        return self._shown if self._row is None else self._output_due(self._row)

    @property
    def since(self) -> Since:
        """The time since when changes are told."""
        return self._since

    @property
    def _row(self) -> TaskRow | None:
        return self._tracker.state.tasks.get(self._task_id)

    def select(self, task_id: str) -> None:
        """Show another task, once the cursor has been drawn: moving down the table waits for no page."""
        self._task_id = task_id
        self._tail, self._changes, self._looked_for = OutputTail(), _Changes(), ()
        self._told, self._told_to = OutputTail(), ("", "")
        self._beside_kind = None
        if not self._due:
            self._due = True
            self.call_after_refresh(self._turn_to)

    def _turn_to(self) -> None:
        self._due = False
        self.draw(from_start=True)
        self._read()
        self._compare()

    def turn_page(self, name: str) -> TextPane:
        """Show the page ``name``: ``timeline``, ``ladder`` or ``changes``; the changes again are since another time."""
        if name == self._page == "changes":
            self._since = next_since(self._since)
            self._changes = _Changes()
        self._page = name
        for other in _PAGES:
            self.query_one(f"#{other}").set_class(other == name, "-shown")
        # How wide it is, and whether it is in view at all, shows only once it has its place.
        self.call_after_refresh(self._turned)
        self._compare()
        return self.query_one(f"#{name}", TextPane)

    def _turned(self) -> None:
        self.draw()
        self._read()

    def show(self, changes: Changes) -> None:
        if self._task_id in changes.tasks:
            self.draw()
            self._is_stale = True

    def tick(self, changes: Changes) -> None:
        """A second has passed."""
        if self._task_id in changes.tasks or self._task_id in self._tracker.timed:
            self.draw()
        self._read()
        if self._page != "changes":
            self._compare_beside()  # and not as soon as it is selected: git is not asked about all that are passed
            return
        row = self._row
        changes_on = self._is_stale or self._task_id in changes.tasks or (row is not None and row.state != "ended")
        if changes_on and self._tracker.clock.monotonic() >= self._looked_at + _LOOK_S:
            self._compare()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Give what is read the room, where the panes share a small one."""
        for name in _READ:
            self.set_class(event.widget.id == name or (name == "story" and event.widget.id in _PAGES), f"-{name}")
        self._make_room()
        self._entitle(self._row)

    def on_text_pane_fitted(self, event: TextPane.Fitted) -> None:
        """Fill the lines that are left in the pane of the output now."""
        if event.pane.id in ("output", "timeline"):
            self.draw()

    def on_resize(self) -> None:
        self._make_room()
        self.draw()
        self._read()

    def _make_room(self) -> None:
        """Show the prompt beside the other output where the lines are enough for both."""
        is_tall = self.size.height >= _TALL and not self.screen.has_class("-stacked")
        self.set_class(is_tall and self._shown != "prompt", "-tall")
        most: tuple[int | None, int | None] = (None, None)
        if self._shares_room:
            height, least = self.size.height, _FACTS if self.size.height >= _MIDDLE else _FEW_FACTS
            most = (
                max(1, height - least - 1) if self._is_open("story") else 1,
                max(1, height - 2) if self._is_open("failure") else least,
            )
        if most != self._most:  # the same again would be a layout of the whole screen
            self._most = most
            self.query_one("#story").styles.max_height, self.query_one("#failure").styles.max_height = most

    def draw(self, *, from_start: bool = False) -> None:
        if not self.display:
            return
        row, state = self._row, self._tracker.state
        page, failure, output = (self.query_one(f"#{name}", TextPane) for name in (self._page, "failure", "output"))
        self._entitle(row)
        if row is None:
            for one in (page, failure, output):
                one.fill((), from_start=True)
            return
        if self.has_class("-tall"):
            told = self.query_one("#told", TextPane)
            told.fill(prompt_lines(self._told.text, width=told.room, note=self._told.note), from_start=from_start)
        page.fill(self._lines(row, page.room, page.size.height), from_start=from_start)
        signature = row.diagnosis.signature if row.diagnosis else None
        seen = None
        if signature is not None:
            seen = self._tracker.history.failures.get(failure_key(signature.context_hash, signature.subject))
        ahead = outlook(state, row, self._view.rules)
        failure.fill(failure_lines(state, row, seen, width=failure.room, outlook=ahead), from_start=from_start)
        printed = self._output_lines(row, output.room, output.size.height)
        begin = marked_line(printed) if self._shown == "check" and not is_checking(state, row) else None
        output.fill(printed, from_start=from_start, begin=begin)

    def _entitle(self, row: TaskRow | None) -> None:
        """Set the titles of the panes."""
        pages, failure, output = (self.query_one(f"#{name}") for name in ("pages", "failure", "output"))
        if row is None:
            for pane in (pages, failure, output):
                entitle(pane, "")
            return
        still = bool(self._tracker.held())
        title = story_title(self._tracker.state, row, self._view.limits, still=still)
        is_framed = bool(pages.styles.border_bottom[0])
        width = max(1, pages.size.width - (_CORNERS if is_framed else _ENDS))
        if is_framed:
            tabs = page_names("page", _PAGES, self._page, width)
            name = fit_middle(row.id, min(cell_len(row.id), max(0, width - cell_len(tabs) - 3)))
            rest = title.removeprefix(f"{row.id} · ")
            if cell_len(rest) > width:  # the table names the agent, too
                rest = story_title(self._tracker.state, row, self._view.limits, still=still, with_agent=False)
                rest = rest.removeprefix(f"{row.id} · ")
            entitle(pages, f"{name} · {tabs}" if name else tabs, fit(rest, min(width, cell_len(rest))))
        else:
            names = page_names("page", _PAGES, self._page if self._is_open("story") else "", width - _LEAST_NAMES)
            title = story_title(self._tracker.state, row, self._view.limits, still=still, with_agent=False)
            entitle(pages, f"{fit(title, min(width - cell_len(names) - 3, cell_len(title)))} · {names}")
        self._entitle_facts(row)
        entitle(self.query_one("#told"), page_names("output", ("prompt",), "", width))

    def _entitle_facts(self, row: TaskRow) -> None:
        """Set the titles of the failure and the output, with their places where they are scrolled."""
        failure, output = (self.query_one(f"#{name}", TextPane) for name in ("failure", "output"))
        entitle(failure, failure_title(self._tracker.state, row), failure.place())
        whose = row.id if self.screen.has_class("-beside") else ""
        shown = self._shown if self._is_open("output") else ""
        names = page_names("output", _OUTPUTS, shown, output.size.width)
        entitle(output, names, " · ".join(filter(None, (whose, output.place()))))

    def _scrolled(self) -> None:
        if (row := self._row) is not None:
            self._entitle_facts(row)

    @property
    def _shares_room(self) -> bool:
        """True where its panes stand one below the other, in the place of the table."""
        return self.screen.has_class("-stacked") and self.screen.has_class("-opened")

    def _is_open(self, name: str) -> bool:
        """True for the one pane that has the room, and for each where they do not share it."""
        return not self._shares_room or self.has_class(f"-{name}")

    def _output_lines(self, row: TaskRow, width: int, height: int) -> Sequence[Line]:
        """The lines of the output that is shown, and below them what else fits: the other output, the changes."""
        lines = self._lines_of(row, self._shown, self._tail, width)
        self._left = room = height - len(lines)
        if self._beside_kind and room > 0:
            kind, texts = self._beside_kind, self._beside.text.splitlines()
            part = texts[:room] if kind == "prompt" else texts[-room:]  # no more of it can be seen
            more = self._lines_of(row, kind, replace(self._beside, text="\n".join(part)), width)
            title = page_names("output", (kind,), "", width)
            lines = [*lines, *section(title, more, width, room, from_end=kind != "prompt")]
            room = height - len(lines)
        if room > 0 and self._page != "changes" and self._changes.lines:
            changes = unified(self._changes.lines[:room], width)
            title = f"{spoken('page.changes')} changes since {since_words(self._since)}"
            lines = [*lines, *section(title, changes, width, room, from_end=False)]
        return lines

    def _lines_of(self, row: TaskRow, kind: OutputKind, tail: OutputTail, width: int) -> Sequence[Line]:
        if kind == "check":
            return check_lines(tail.text, row.diagnosis, width=width, note=tail.note)
        if kind == "prompt":
            return prompt_lines(tail.text, width=width, note=tail.note)
        if tail.entries is None or self._raw:
            return output_lines(tail.text, width=width, note=tail.note)
        layout = self._transcript if kind == self._shown else self._transcript_beside
        return layout.lines(tail.entries, width=width, unfold=self._unfolded, note=tail.note)

    def _lines(self, row: TaskRow, width: int, height: int) -> Sequence[Line]:
        """The lines of the page that is shown."""
        if self._page == "ladder":
            return self._ladder_lines(row, width)
        if self._page == "changes":
            return self._changes_lines(width)
        moments = self._tracker.history.of(row.id)
        state, now = self._tracker.state, self._tracker.clock.monotonic()
        waits = "" if row.attempts else problem_of(state, row, width)
        lines = timeline_lines(moments, state.attempts, now=now, width=width, held=held_word(state, row), waits=waits)
        more = changed_files_lines(self._changes.lines, since_words(self._since), width)
        if "prompt" not in (self._shown, self._beside_kind) and not self.has_class("-tall"):
            more += task_lines(row.task.prompt, width, height - len(lines) - len(more) - 1)
        lines = [*lines, (), *more] if more and len(lines) + len(more) < height else lines
        if row.attempts and height - len(lines) >= _LEAST_LADDER:
            title = page_names("page", ("ladder",), "", width)
            ladder = self._ladder_lines(row, width)
            return [*lines, *section(title, ladder, width, height - len(lines), from_end=False)]
        return lines

    def _ladder_lines(self, row: TaskRow, width: int) -> Sequence[Line]:
        with_keys = not self._view.is_past
        return ladder_lines(self._tracker.state, row, self._view.rules, with_keys=with_keys, width=width)

    def _changes_lines(self, width: int) -> Sequence[Line]:
        """Kept, because there may be thousands of them, and the page is drawn each second while its agent works."""
        now, kept = self._changes, self._laid_out
        if kept is None or kept[0] is not now or kept[1] != width:
            kept = self._laid_out = (now, width, self._laid_out_anew(now, width))
        return kept[2]

    def _laid_out_anew(self, now: _Changes, width: int) -> Sequence[Line]:
        if not now.since:
            return note_lines(now.note, width)
        more = f"{spoken('page.changes')} again: {since_words(next_since(self._since))}"
        row = self._row
        shared = sharers(self._tracker.state, row) if row is not None else ""
        notes = [*note_lines(more, width)[:1], *(note_lines(shared, width) if shared else ())]
        return [heading(now.since, now.diff, width), *notes, *unified(now.lines, width)]

    def _compare(self) -> None:
        if self._page == "changes":
            self._look()

    def _compare_beside(self) -> None:
        """Look at the changes for the lines that are left beside the attempts, once for each step of the task."""
        row = self._row
        is_hidden = self.screen.has_class("-stacked") and not self.screen.has_class("-opened")
        if row is None or not row.attempts or is_hidden or self._comparing:
            return
        moment = (row.id, row.attempts, row.state, row.status)
        if moment != self._looked_for:
            self._looked_for = moment
            self._look()

    def _look(self) -> None:
        if self._row is not None and not self._comparing and self.display:
            self._comparing, self._is_stale = True, False
            start(self, "changes", self._look_for_changes)

    async def _look_for_changes(self) -> None:
        """Look at the changes, and again where another task or step of it came meanwhile."""
        task, since = self._task_id, self._since
        try:
            found = await self._found_changes(task, since)
        finally:
            self._comparing = False
            self._looked_at = self._tracker.clock.monotonic()
        if (task, since) != (self._task_id, self._since):
            self._compare()
        elif found is not self._changes:
            self._changes = found
            self.draw()
        self._compare_beside()

    async def _found_changes(self, task: str, since: Since) -> _Changes:
        known = self._changes
        try:
            checkpoint, diff = await self._view.changes(task, since)
            if known is self._changes and diff == known.diff and known.since:
                return known  # nothing is to be laid out again
            lines = brief(await asyncio.to_thread(read_diff, diff))
            return _Changes(since_words(since, checkpoint), diff, lines, "nothing to compare with")
        except UnstuckError as error:
            return _Changes(note=str(error))

    def turn_output(self, kind: OutputKind) -> TextPane:
        """Show the output of ``kind``, also of the tasks that are selected from now on."""
        self._chosen = kind
        self._read()
        return self.query_one("#output", TextPane)

    def turn_transcript(self, *, raw: bool) -> TextPane:
        """Show what the agent said and did unfolded, or as it was printed; again: as before."""
        self._chosen = "agent"
        self._raw, self._unfolded = (not self._raw, self._unfolded) if raw else (False, not self._unfolded)
        self.draw()
        self._read()
        return self.query_one("#output", TextPane)

    def _output_due(self, row: TaskRow) -> OutputKind:
        """The output that the person chose; else the agent's while it works, the check's once that has run."""
        if self._chosen:
            return self._chosen
        if is_checking(self._tracker.state, row):
            return "check"
        if not row.attempts and row.state in ("ready", "blocked"):
            return "prompt"
        is_working = row.state == "running" and not needs_person(self._tracker.state, row)
        return "agent" if is_working or row.check is None else "check"

    def _read(self) -> None:
        if not self._reading and self.display and self._row is not None:
            self._reading = True
            start(self, "reading", self._follow)

    async def _follow(self) -> None:
        """Read the output that is due, and draw it where it is another one."""
        try:
            while (row := self._row) is not None:
                kind = self._output_due(row)
                self._take_output(row.id, kind, await self._view.output(row.id, kind))
                await self._read_beside(row, kind)
                if self.has_class("-tall") and self._told_to != (row.id, row.attempt):
                    await self._read_prompt(row.id, row.attempt)
                if (now := self._row) is None or (now.id, self._output_due(now)) == (row.id, kind):
                    return  # else another task or output was chosen meanwhile
        finally:
            self._reading = False

    async def _read_beside(self, row: TaskRow, shown: OutputKind) -> None:
        """Read the other output where lines are left for it."""
        other: OutputKind | None = None
        if shown == "check" and row.attempts:
            other = "agent"
        elif shown == "agent":
            other = "check" if row.check is not None else None if self.has_class("-tall") else "prompt"
        if other is None or self._left <= 0:
            self._beside_kind = None
            return
        found = await self._view.output(row.id, other)
        is_other = (found, other) != (self._beside, self._beside_kind)
        if row.id == self._task_id and is_other and (found.text or self._beside_kind):
            self._beside, self._beside_kind = found, other if found.text else None
            self.draw()

    async def _read_prompt(self, task: str, attempt: str) -> None:
        told = await self._view.output(task, "prompt")
        if task == self._task_id:
            self._told, self._told_to = told, (task, attempt)
            self.draw()

    def _take_output(self, task: str, kind: OutputKind, found: OutputTail) -> None:
        if task != self._task_id or (found, kind) == (self._tail, self._shown):
            return
        is_other = kind != self._shown
        self._tail, self._shown = found, kind
        self._make_room()
        self.draw()
        if is_other:
            self.query_one("#output", TextPane).restart(from_end=kind != "prompt")
