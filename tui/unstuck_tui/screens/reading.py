"""Texts to read over whatever is shown: the keys of the pane that has the focus, and the recap after an absence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from unstuck.words.signs import signs
from unstuck_tui.keys.actions import AREA_NAMES, Area, actions_of, keys_of, taken_of
from unstuck_tui.textual_internals.screens import SteadyScreen


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
    """The keys that do something now, area by area, and on a second page the signs and words of the screen.

    ``offered`` are the ids of the actions that do.
    """

    BINDINGS = [  # noqa: RUF012
        Binding("question_mark,f1", "dismiss", "close"),
        Binding("tab,shift+tab,right,left", "turn", "other page"),
        Binding("ctrl+d,space", "read('page_down')", "page down"),
        Binding("ctrl+u", "read('page_up')", "page up"),
        Binding("g", "read('home')", "top"),
        Binding("G", "read('end')", "end"),
    ]
    DEFAULT_CSS = """
    HelpScreen > VerticalScroll { width: 100; }
    HelpScreen .signs { display: none; }
    HelpScreen.-signs .signs { display: block; }
    HelpScreen.-signs .keys { display: none; }
    """

    def __init__(self, *areas: Area, offered: Collection[str]) -> None:
        super().__init__()
        self._areas, self._offered = tuple(dict.fromkeys(areas)), offered

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            # On the border, so that they stay in view however long the list is.
            box.border_title = Content("[Keys]  Signs and words")
            box.border_subtitle = Content("tab turns the page, esc closes this")
            taken = taken_of(actions_of(*self._areas))
            for area in self._areas:
                actions = [action for action in actions_of(area) if action.id in self._offered]
                if not (rows := keys_of(actions, taken=taken)):
                    continue
                yield Static(Content.styled(AREA_NAMES[area], "bold underline"), classes="keys")
                yield Static(_columns([f" {keys}", text] for keys, text in rows), classes="keys")
            yield Static(_columns([f" {sign}", word, text] for sign, word, text in signs()), classes="signs")

    def action_turn(self) -> None:
        """Show the keys, or the signs and words."""
        self.toggle_class("-signs")
        box = self.query_one(VerticalScroll)
        is_signs = self.has_class("-signs")
        box.border_title = Content(" Keys  [Signs and words]" if is_signs else "[Keys]  Signs and words")
        box.scroll_home(animate=False)


def _columns(rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines; all of its columns but the last are bold, and as wide as they have to be."""
    told = list(rows)
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in range(len(told[0]) - 1):
        table.add_column(width=max(cell_len(row[column]) for row in told) + 1)
    table.add_column()
    for row in told:
        table.add_row(*(Text(text, style="bold") for text in row[:-1]), Text(row[-1]))
    return table


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
