"""A widget that draws lines of toned cells, only those in view: a million lines cost as much as twenty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from unstuck_tui.keys.actions import Area, bindings_of
from unstuck_tui.render.format import Cell, width_of
from unstuck_tui.widgets.styles import CURSORS, ground_of, style_of


class _Look(NamedTuple):
    """The look that lines of one drawing share: the first line in view, and their width."""

    top: int
    width: int


class Lines(ScrollView, can_focus=False, inherit_bindings=False):
    """Subclasses say how many lines there are and what is in one; this draws and scrolls them."""

    DEFAULT_CSS = """
    Lines {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        overflow-x: hidden;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._look: _Look | None = None
        self._styles_of_tones: dict[tuple[str, str], Style] = {}
        self._below: tuple[Color, Color] | None = None

    def line_total(self) -> int:
        """The number of lines."""
        raise NotImplementedError

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        """The cells of line ``index``, at most ``width`` wide."""
        raise NotImplementedError

    def nothing_here(self) -> str:
        """The text in place of lines that are not there."""
        return ""

    def is_cursor(self, index: int) -> bool:
        """True for the selected line."""
        return False

    def resized(self) -> None:
        """The number of lines has changed."""
        size = Size(0, self.line_total())
        fits = size.height <= self.container_size.height
        if self.styles.is_auto_height or fits == self.show_vertical_scrollbar:
            self.virtual_size = size
            return
        # A new layout of the whole screen is needed only where a height or a scrollbar comes of it.
        self.set_reactive(ScrollView.virtual_size, size)
        if not fits:
            self.vertical_scrollbar.window_virtual_size = size.height
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def redraw(self, indices: Iterable[int]) -> None:
        """Draw those of these lines again that are in view: what is not costs nothing."""
        top, size = self.scroll_offset.y, self.size
        places = [index - top for index in indices if 0 <= index - top < size.height]
        if places:
            # One block is drawn faster than the same lines one by one.
            first = min(places)
            self.refresh(Region(0, first, size.width, max(places) - first + 1))

    def scroll_to_line(self, index: int) -> None:
        """Scroll no further than is needed to see line ``index``."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= index < top + height:
            self.scroll_to(y=index if index < top else index - height + 1, animate=False, immediate=True)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_of_tones.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of the view. What is the same for all of them is looked up once."""
        self._look = self._looked_up()
        try:
            return super().render_lines(crop)
        finally:
            self._look = None

    def render_line(self, y: int) -> Strip:
        look = self._look or self._looked_up()
        index, width = look.top + y, look.width
        plain = self._styles("", "plain")
        if index >= self.line_total():
            if index:
                return Strip.blank(width, plain)
            message = Segment(self.nothing_here(), self._styles("", "quiet"))
            return Strip([message]).adjust_cell_length(width, plain)
        cursor = CURSORS[self.has_focus] if self.is_cursor(index) else ""
        cells = [cell for cell in self.line_cells(index, width) if cell.text]
        segments = [Segment(cell.text, self._styles(cursor or cell.ground, cell.tone)) for cell in cells]
        strip = Strip(segments, sum(width_of(cell.text) for cell in cells))
        return strip.adjust_cell_length(width, self._styles(cursor, "plain"))

    def _styles(self, ground: str, tone: str) -> Style:
        """The style of ``tone`` on ``ground``, which is worked out once."""
        style = self._styles_of_tones.get((ground, tone))
        if style is None:
            style = self._style_of(ground, tone)
            self._styles_of_tones[ground, tone] = style
        return style

    def _style_of(self, ground: str, tone: str) -> Style:
        app = self.app
        if ground not in CURSORS:
            return style_of(self, tone, ground_of(self, ground) if ground else None)
        if app.native_ansi_color or app.no_color:
            # The terminal's sixteen are no shades: one of them below another may be the same.
            focused = ground == CURSORS[1]
            return Style(color="default", bgcolor="default", bold=True, reverse=focused, underline=not focused)
        return style_of(self, tone, ground_of(self, ground)) + Style(bold=True)

    def _looked_up(self) -> _Look:
        if self._below != (below := self.background_colors):
            self._below = below
            self._styles_of_tones.clear()
        return _Look(self.scroll_offset.y, self.scrollable_content_region.width)


class OneLine(Lines):
    """A single line; ``cells`` makes it as wide as it is asked to."""

    DEFAULT_CSS = """
    OneLine { height: 1; background: $panel; overflow: hidden; }
    OneLine.-heading { background: $boost; }
    """

    def __init__(
        self, cells: Callable[[int], Sequence[Cell]], *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._cells = cells

    def line_total(self) -> int:
        return 1

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._cells(width)


class CursorLines(Lines, can_focus=True):
    """A list with a cursor on one of its lines, moved by keys and by the mouse."""

    AREA: ClassVar[Area] = "rows"
    BINDINGS = bindings_of("rows")
    DEFAULT_CSS = """
    CursorLines { height: 1fr; }
    """

    class Selected(Message):
        """Another line is under the cursor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._cursor = 0

    @property
    def cursor(self) -> int:
        """The line that is under the cursor."""
        return self._cursor

    @cursor.setter
    def cursor(self, index: int) -> None:
        self._cursor = index

    def is_cursor(self, index: int) -> bool:
        return index == self.cursor

    def move_to(self, index: int) -> None:
        """Put the cursor on line ``index``, or on the nearest one that there is."""
        before, self.cursor = self.cursor, max(0, min(self.line_total() - 1, index))
        self.scroll_to_line(self.cursor)
        self.redraw((before, self.cursor))
        self.post_message(self.Selected())

    def action_cursor(self, by: int) -> None:
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.action_cursor(by * max(1, self.size.height - 1))

    def on_click(self, event: events.Click) -> None:
        place = self.scroll_offset.y + event.y
        if place < self.line_total():
            self.action_cursor(place - self.cursor)
