"""The screen of a run that is not open yet: what is known of its tasks, with no class of a run or of its events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size

from unstuck.words.labels import LIVE
from unstuck_tui.keys.actions import Area, bindings_of, spoken
from unstuck_tui.render.attention import attention_cells, empty_text, first_lines, lines_for, watch_lines
from unstuck_tui.render.format import Cell, Line, fit, width_of
from unstuck_tui.render.header import header_line
from unstuck_tui.render.tasks.opening import Opening, known_cells
from unstuck_tui.render.tasks.progress import progress_text
from unstuck_tui.render.tasks.table import columns_for, header_cells
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.lines import Lines, OneLine
from unstuck_tui.widgets.minimum_size import FRAMED, ROOMY, FittingScreen, frame_lines, is_below, table_height


class KnownLines(Lines):
    """Lines that stay as they are; ``lines`` makes them for a width."""

    DEFAULT_CSS = "KnownLines { height: 1fr; }"

    def __init__(
        self, total: int, line: Callable[[int, int], Line], *, empty: str = "", id: str, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._total, self._line_of, self._empty = total, line, empty

    def line_total(self) -> int:
        return self._total

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._line_of(index, width)

    def nothing_here(self) -> str:
        return self._empty

    def keep(self, total: int) -> None:
        """Show so many of the lines."""
        self._total = total
        self.resized()

    def on_mount(self) -> None:
        self.resized()


class KnownTable(KnownLines, can_focus=True):
    """The tasks, with the focus that the table has."""

    AREA: ClassVar[Area] = "table"
    BINDINGS = bindings_of("table")

    def is_cursor(self, index: int) -> bool:
        return index == 0


class OpeningScreen(FittingScreen[None], inherit_bindings=False):
    """Laid out as the main screen that takes its place. Keys wait for that."""

    OWN: ClassVar[tuple[Area, ...]] = ("main",)
    BINDINGS = bindings_of("main")
    AUTO_FOCUS = "#tasks"
    DEFAULT_CSS = "OpeningScreen { layout: vertical; }"

    def __init__(self, opening: Opening, size: Size) -> None:
        # Classes that come later have all widgets styled twice.
        layouts = (("-stacked", ROOMY), ("-bare", FRAMED))
        super().__init__(classes=" ".join(name for name, least in layouts if is_below(size, least)) or None)
        self._opening = opening

    def compose(self) -> ComposeResult:
        opening = self._opening
        yield OneLine(self._header_line, id="header")
        asking = len(opening.questions)
        self._guide = guide = watch_lines({}) if opening.kind == "watch" and not opening.tasks else first_lines()
        classes = "pane -asks" if asking else "pane"
        line = self._question_line if asking else lambda index, width: (Cell(fit(guide[index], width), "quiet"),)
        yield KnownLines(asking or len(guide), line, id="attention", classes=classes)
        with Vertical(id="table", classes="pane"):
            yield OneLine(self._heading_line, id="heading", classes="-heading")
            yield KnownTable(len(opening.tasks), self._task_line, empty=empty_text(opening.kind), id="tasks")
        yield from self.compose_foot()

    def on_mount(self) -> None:
        opening = self._opening
        asking = len(opening.questions)
        entitle(
            self.query_one("#attention"),
            f"! needs you · {asking}" if asking else "nothing needs you",
            f"{spoken('gate.answer')} answer" if asking else "",
        )
        tasks = len(opening.tasks)
        keys = " · ".join(f"{spoken(f'table.{name}')} {name}" for name in ("filter", "sort", "mark")) if tasks else ""
        entitle(self.query_one("#table"), progress_text(opening.counts["done"], tasks, tasks, None), keys)
        self._share_out(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        self._share_out(event.size)

    def _share_out(self, size: Size) -> None:
        """Share the lines out as the main screen does, before the first frame as well."""
        lines = self.query_one("#attention", KnownLines)
        lines.styles.height = lines_for(size.height) + frame_lines(size)
        if not self._opening.questions:
            lines.keep(min(len(self._guide), lines_for(size.height)))
        height, _ = table_height(size, len(self._opening.tasks))
        self.query_one("#table").styles.height = "1fr" if height is None else height

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys that lead nowhere yet."""
        if self.is_small or action in ("back", "hold_later"):
            return False
        opening = self._opening
        first = opening.tasks[0].state if opening.tasks else ""
        if action in ("hold", "decide"):
            return first in LIVE
        if action == "by_hand":
            return first in ("running", "waiting")
        if action in ("filter", "sort", "open", "pager"):
            return bool(first)
        return action not in ("answer", "next_question") or bool(opening.questions)

    def _header_line(self, width: int) -> Line:
        opening = self._opening
        return header_line(opening, opening.counts, elapsed=opening.elapsed, width=width, tasks=len(opening.tasks))

    def _heading_line(self, width: int) -> Line:
        return header_cells(columns_for(width, self._opening.needs))

    def _task_line(self, index: int, width: int) -> Line:
        return known_cells(self._opening.tasks[index], columns_for(width, self._opening.needs))

    def _question_line(self, index: int, width: int) -> Line:
        questions = self._opening.questions
        return attention_cells(questions[index], width, max(width_of(item.task) for item in questions))
