"""The recap on the screen: what happened while the person was away."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from unstuck_tui.textual_internals import SteadyScreen


class RecapScreen(SteadyScreen[None], ModalScreen[None]):
    """The lines of the recap, over whatever was shown before."""

    BINDINGS = [  # noqa: RUF012
        Binding("escape,q,enter,space", "dismiss", "close"),
        Binding("j", "read('down')", "down"),
        Binding("k", "read('up')", "up"),
    ]
    DEFAULT_CSS = """
    RecapScreen { align: center middle; }
    RecapScreen > VerticalScroll {
        width: 110; max-width: 100%; height: auto; max-height: 100%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = tuple(lines)

    def action_read(self, way: str) -> None:
        """Scroll, as in every pane."""
        getattr(self.query_one(VerticalScroll), f"scroll_{way}")(animate=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title, box.border_subtitle = Content("While you were away"), Content("esc closes this")
            for line in self._lines:
                yield Static(Content(line), markup=False)
