"""Texts to read over whatever is shown: the keys of the pane that has the focus, and the recap after an absence."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from unstuck_tui.keys.actions import AREA_NAMES, Area, actions_of, keys_of, taken_of
from unstuck_tui.textual_internals import SteadyScreen


class ReadingScreen(SteadyScreen[None], ModalScreen[None]):
    """A box to scroll through, in the middle of the screen."""

    BINDINGS = [  # noqa: RUF012
        Binding("escape,q,enter", "dismiss", "close"),
        Binding("j", "read('down')", "down"),
        Binding("k", "read('up')", "up"),
    ]
    DEFAULT_CSS = """
    ReadingScreen { align: center middle; }
    ReadingScreen > VerticalScroll {
        width: 110; max-width: 100%; height: auto; max-height: 100%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def action_read(self, way: str) -> None:
        getattr(self.query_one(VerticalScroll), f"scroll_{way}")(animate=False)


class HelpScreen(ReadingScreen):
    """The keys of these areas, one after the other."""

    BINDINGS = [  # noqa: RUF012
        Binding("question_mark,f1", "dismiss", "close"),
        Binding("ctrl+d,space", "read('page_down')", "page down"),
        Binding("ctrl+u", "read('page_up')", "page up"),
        Binding("g", "read('home')", "top"),
        Binding("G", "read('end')", "end"),
    ]
    DEFAULT_CSS = "HelpScreen > VerticalScroll { width: 100; }"

    def __init__(self, *areas: Area) -> None:
        super().__init__()
        self._areas = tuple(dict.fromkeys(areas))

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            # On the border, so that they stay in view however long the list is.
            box.border_title, box.border_subtitle = Content("Keys"), Content("esc closes this")
            taken = taken_of(actions_of(*self._areas))
            told = {area: keys_of(actions_of(area), taken=taken) for area in self._areas}
            width = max(cell_len(keys) for rows in told.values() for keys, _ in rows)
            for area, rows in told.items():
                yield Static(Content.styled(AREA_NAMES[area], "bold underline"))
                table = Table.grid(padding=(0, 2, 0, 0))
                table.add_column(width=width + 1)
                table.add_column()
                for keys, text in rows:
                    table.add_row(Text(f" {keys}", style="bold"), Text(text))
                yield Static(table)


class RecapScreen(ReadingScreen):
    """The lines of the recap: what happened while the person was away."""

    BINDINGS = [Binding("space", "dismiss", "close")]  # noqa: RUF012

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title, box.border_subtitle = Content("While you were away"), Content("esc closes this")
            for line in self._lines:
                yield Static(Content(line), markup=False)
