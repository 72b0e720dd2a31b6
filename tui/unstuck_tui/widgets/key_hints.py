"""The footer's key hints: one line. With a widget for each of a dozen keys they were a tenth of what a screen costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from unstuck_tui.keys.actions import RANKS

_KEY = "bold $footer-key-foreground on $footer-key-background"
_LABEL = "$footer-description-foreground on $footer-description-background"
_HOVERED = "on $block-hover-background"


class Hint(NamedTuple):
    """A key as Textual calls it, as people write it, and what it does."""

    key: str
    shown: str
    label: str
    tooltip: str
    rank: int = 1

    @property
    def width(self) -> int:
        """The cells that it takes."""
        return cell_len(self.shown) + cell_len(self.label) + 3

    def content(self, *, hovered: bool) -> Content:
        text = Content.styled(f" {self.shown} ", _KEY) + Content.styled(f"{self.label} ", _LABEL)
        return text.stylize_before(_HOVERED) if hovered else text


class KeyHints(Widget, can_focus=False):
    """The keys that mean something where the cursor is, and on the right the one of the palette.

    A click presses the key. Where there is no room for all of them the first in rank are shown, and the wheel leads on
    to the others.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyHints { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._hints: Sequence[Hint] = ()
        self._palette: Hint | None = None
        self._fitted: tuple[Sequence[Hint], int, Sequence[Hint]] | None = None
        self._first = 0
        self._hovered: Hint | None = None

    @property
    def hints(self) -> Sequence[Hint]:
        """The hints that there is room for but that of the palette, from left to right."""
        room = self._room
        if self._fitted is None or self._fitted[:2] != (self._hints, room):
            self._fitted = (self._hints, room, self._fitting(room))
        return self._fitted[2]

    def _fitting(self, room: int) -> tuple[Hint, ...]:
        chosen = set()
        for hint in sorted(self._hints, key=lambda hint: hint.rank):
            if hint.width <= room:
                room -= hint.width
                chosen.add(hint)
        return tuple(hint for hint in self._hints if hint in chosen)

    @property
    def _in_turn(self) -> Sequence[Hint]:
        """All hints from the one on the left, those that there is no room for at the end."""
        shown = self.hints
        return [*shown, *(hint for hint in self._hints if hint not in shown)][self._first :]

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._look)
        self.app.screen_change_signal.subscribe(self, self._look)

    def _look(self, changed: Screen[object]) -> None:
        """Look up the keys, as after every change of focus; not when only the terminal has lost its own.

        Under a dialog they are not known.
        """
        left = self._hints and not self.app.app_focus and self.screen.focused is None
        if self.app.screen is not self.screen or left:
            return
        first: dict[str, Hint] = {}
        palette = None
        for key, (_, binding, enabled, tooltip) in self.screen.active_bindings.items():
            shown = self.app.get_key_display(binding)
            hint = Hint(binding.key, shown, binding.description, tooltip, RANKS.get(binding.id or "", 1))
            if binding.show and enabled:
                first.setdefault(binding.action, hint)
            if key == self.app.COMMAND_PALETTE_BINDING:
                palette = hint._replace(tooltip=binding.tooltip)
        hints = tuple(first.values())
        if (hints, palette) != (self._hints, self._palette):
            self._hints, self._palette = hints, palette
            self._first, self._hovered = 0, None
            self.refresh()

    # --- what is shown -----------------------------------------------------------------------------------------------

    def render(self) -> Content:
        room, width = self._room, self.size.width
        whole = (hint for _, hint in self._places() if hint.key and hint is not self._palette)
        keys = Content("").join(hint.content(hovered=hint is self._hovered) for hint in whole)
        if self._palette is None:
            return keys.truncate(width)
        palette = self._palette.content(hovered=self._palette is self._hovered)
        return keys.truncate(room, pad=True) + Content.styled("│", "$foreground 20%") + palette[1:]

    @property
    def _room(self) -> int:
        """The cells for the keys beside that of the palette, before which an edge takes the place of the blank."""
        taken = self._palette.width if self._palette is not None else 0
        return max(0, self.size.width - taken)

    def _places(self) -> Iterator[tuple[int, Hint]]:
        """The ends of the hints that are in view, each as a whole."""
        end = 0
        for hint in self._in_turn:
            end += hint.width
            if end > self._room:
                break
            yield end, hint
        if self._palette is not None:
            yield self._room, Hint("", "", "", "")  # what is left between them
            yield self.size.width, self._palette

    # --- the mouse ---------------------------------------------------------------------------------------------------

    def _at(self, x: int) -> Hint | None:
        found = next((hint for end, hint in self._places() if x < end), None)
        return found if found is not None and found.key else None

    def _hover(self, hint: Hint | None) -> None:
        if hint is not self._hovered:
            self._hovered = hint
            self.tooltip = hint.tooltip if hint is not None else None
            self.styles.pointer = "pointer" if hint is not None else "default"
            self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover(self._at(event.x))

    def on_leave(self) -> None:
        self._hover(None)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        hint = self._at(event.x)
        if hint is not None:
            self.app.simulate_key(hint.key)

    def on_mouse_scroll_down(self) -> None:
        if sum(hint.width for hint in self._in_turn) > self._room:
            self._first += 1
            self.refresh()

    def on_mouse_scroll_up(self) -> None:
        self._first = max(0, self._first - 1)
        self.refresh()
