"""Screens with a least size: below it they show a notice, and with room again all is where it was."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from unstuck_tui.render.attention import lines_for
from unstuck_tui.textual_internals.screens import SteadyScreen
from unstuck_tui.widgets.key_hints import KeyHints

MINIMUM = Size(60, 16)
ROOMY = Size(84, 30)
"""The least size at which panes stand beside each other."""
FRAMED = Size(80, 24)
"""The least size at which panes have frames."""
LEAST_LINES = 3
HEADING, FRAME = 1, 2
_OTHER_LINES, _LEAST_OUTPUT = 3, 5
_TABLE_SHARE = 0.5


def is_below(size: Size, least: Size = MINIMUM) -> bool:
    """True where ``size`` is too narrow or too low."""
    return size.width < least.width or size.height < least.height


def frame_lines(size: Size) -> int:
    """The lines that the frame of a pane takes."""
    return 0 if is_below(size, FRAMED) else FRAME


def table_height(size: Size, tasks: int, *, is_opened: bool = False) -> tuple[int | None, bool]:
    """The height of the pane of the tasks, None for all that is left, and whether a task's output stands below it.

    The table takes as many lines as there are tasks, up to its share; what is left is the detail's. Without a task all
    are the table's.
    """
    if not tasks:
        return None, False
    wanted = max(LEAST_LINES, tasks)
    if not is_below(size, ROOMY):
        return min(wanted, int(size.height * _TABLE_SHARE)) + HEADING + FRAME, False
    frame = frame_lines(size)
    left = size.height - _OTHER_LINES - lines_for(size.height) - frame - wanted - frame
    is_beside = not is_opened and left >= _LEAST_OUTPUT
    return (wanted + HEADING + frame if is_beside else None), is_beside


class SmallNotice(Static):
    """Says which size there is, which is needed, and what the run does meanwhile."""

    DEFAULT_CSS = """
    SmallNotice { width: 100%; height: 100%; content-align: center middle; text-align: center; display: none; }
    """

    _told = ""

    def show_sizes(self, size: Size, needed: Size, meanwhile: str) -> None:
        """Name both sizes; ``meanwhile`` is a sentence. Told the same again, nothing is drawn."""
        told = f"Too small: {size.width}x{size.height}, needs {needed.width}x{needed.height}.\n{meanwhile}"
        if told != self._told:
            self._told = told
            self.update(Content(told))


class FittingScreen(SteadyScreen[ScreenResultType]):
    """Its ``compose`` yields a SmallNotice, the one thing that is shown below the ``LEAST`` size."""

    LEAST: ClassVar[Size] = MINIMUM
    DEFAULT_CSS = """
    FittingScreen {
        .pane { border: round $foreground 25%; border-title-color: $text-muted; border-subtitle-color: $text-muted; }
        .pane:focus, .pane:focus-within {
            border: round $primary;
            border-title-color: $text-primary; border-title-style: bold; border-subtitle-color: $text-primary;
        }
        #attention.-asks {
            border: round $error; border-title-color: $text-error; border-title-style: bold;
            background: $error 8%;
            &:ansi { background: ansi_default; }
        }
    }
    FittingScreen.-bare {
        .list, #table, #attention { border: none; }
        .about { border: none; border-top: round $foreground 25%; }
        .about:focus { border-top: round $primary; }
    }
    FittingScreen.-small > * { display: none !important; }
    FittingScreen.-small > SmallNotice { display: block !important; }
    """
    _focused_before: Widget | None = None

    def compose_foot(self) -> ComposeResult:
        """The key hints, and the notice."""
        yield KeyHints()
        yield SmallNotice(markup=False)

    @property
    def is_whole(self) -> bool:
        """True while its widgets are there: of a screen that is being left they go first."""
        return self.is_attached and self in self.app.screen_stack

    @property
    def is_small(self) -> bool:
        """True while there is room for the notice only."""
        return self.has_class("-small")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Do nothing to what is not seen, and offer only what does something now."""
        if self.is_small or not super().check_action(action, parameters):
            return False
        return None if self.why_not(action) else True

    def why_not(self, action: str) -> str:
        """Return in a line why ``action`` does nothing now, for the key that is pressed anyway; else nothing."""
        return ""

    def on_resize(self, event: events.Resize) -> None:
        """Show the notice or the screen. A hidden widget loses the focus, and has to be given it back."""
        if not self.is_whole:
            return
        small, was_small = is_below(event.size, self.LEAST), self.is_small
        if small and not was_small:
            self._focused_before = self.focused
        self.set_class(small, "-small")
        self.set_class(is_below(event.size, ROOMY), "-stacked")
        self.set_class(is_below(event.size, FRAMED), "-bare")
        if small != was_small:
            self.refresh_bindings()
        self.update_notice()
        if not small and self._focused_before is not None:
            self.call_after_refresh(self._focus_again)

    def update_notice(self) -> None:
        """Update the notice."""
        view = getattr(self.app, "view", None)
        told = ""
        if view is not None:
            from unstuck.runs.view.run_view import meanwhile  # before a run is open, nothing of one is loaded

            told = meanwhile(view)
        self.query_one(SmallNotice).show_sizes(self.app.size, self.LEAST, told)

    def _focus_again(self) -> None:
        before = self._focused_before
        if before is not None and not self.is_small:
            self._focused_before = None
            self.set_focus(before)
