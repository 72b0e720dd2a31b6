"""A widget that draws lines of toned cells, only those in view: a million lines cost as much as twenty."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from unstuck_tui.render.rows import Cell

__all__ = ["Lines"]

_TONES = ("plain", "quiet", "work", "wait", "ask", "good", "bad")


class Lines(ScrollView, can_focus=False, inherit_bindings=False):
    """Subclasses say how many lines there are and what is in one; this draws and scrolls them."""

    COMPONENT_CLASSES = {f"lines--{tone}" for tone in _TONES} | {"lines--cursor", "lines--cursor-focused"}
    DEFAULT_CSS = """
    Lines {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        overflow-x: hidden;
        .lines--plain { color: $foreground; }
        .lines--quiet { color: $foreground-muted; }
        .lines--work { color: $text-primary; }
        .lines--wait { color: $text-warning; }
        .lines--ask { color: $text-error; text-style: bold; }
        .lines--good { color: $text-success; }
        .lines--bad { color: $text-error; }
        .lines--cursor { background: $surface-lighten-1; text-style: bold; }
        .lines--cursor-focused { background: $primary 30%; text-style: bold; }
        &:light .lines--quiet { color: #484848; }
        &:light .lines--wait { color: #6b4000; }
        &:light .lines--good { color: #14532d; }
        &:light .lines--cursor-focused { background: $primary 20%; }
    }
    """

    def line_total(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        """The cells of line ``index``, at most ``width`` wide."""
        raise NotImplementedError

    def nothing_here(self) -> str:
        """What is said where there are no lines."""
        return ""

    def is_cursor(self, index: int) -> bool:
        """Whether line ``index`` is the selected one."""
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

    def redraw_line(self, index: int) -> None:
        """Draw one line again, if it is in view."""
        if 0 <= index - self.scroll_offset.y < self.size.height:
            self.refresh_line(index)

    def scroll_to_line(self, index: int) -> None:
        """Scroll no further than is needed to see line ``index``."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= index < top + height:
            self.scroll_to(y=index if index < top else index - height + 1, animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        """One line of the view."""
        width = self.scrollable_content_region.width
        index = self.scroll_offset.y + y
        plain = self.get_component_rich_style("lines--plain")
        if index >= self.line_total():
            said = Segment(self.nothing_here() if index == 0 else "", self.get_component_rich_style("lines--quiet"))
            return Strip([said]).adjust_cell_length(width, plain)
        over = self._cursor_style() if self.is_cursor(index) else Style.null()
        segments = [
            Segment(cell.text, self.get_component_rich_style(f"lines--{cell.tone}") + over)
            for cell in self.line_cells(index, width)
            if cell.text
        ]
        return Strip(segments).adjust_cell_length(width, plain + over)

    def _cursor_style(self) -> Style:
        name = "lines--cursor-focused" if self.has_focus else "lines--cursor"
        style = self.get_component_rich_style(name)
        # Without colours the selected line has to differ all the same.
        return Style(bgcolor=style.bgcolor, bold=True, reverse=self.app.no_color and self.has_focus)
