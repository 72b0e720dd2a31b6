"""Help for the pane that has the focus."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from unstuck_tui.actions import AREA_NAMES, Area, actions_of, keys_of

__all__ = ["HelpScreen"]


class HelpScreen(ModalScreen[None]):
    """The keys of one pane, then those that work everywhere."""

    BINDINGS = [Binding("escape,question_mark,q,enter", "dismiss", "close")]  # noqa: RUF012
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 100; max-width: 100%; height: auto; max-height: 100%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def __init__(self, area: Area) -> None:
        super().__init__()
        self._area = area

    def compose(self) -> ComposeResult:
        areas: tuple[Area, ...] = tuple(dict.fromkeys((self._area, "main", "app")))
        with VerticalScroll() as box:
            box.border_title = Content("Keys")
            for area in areas:
                rows = keys_of(actions_of(area))
                lines = (Content.assemble((f"  {keys:<18}", "bold"), said) for keys, said in rows)
                yield Static(Content("\n").join([Content.styled(AREA_NAMES[area], "bold underline"), *lines]))
            yield Static(Content("esc closes this"))
