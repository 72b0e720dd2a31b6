"""The footer's key hints, made anew only where they have changed."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

__all__ = ["KeyHints"]


class KeyHints(Footer):
    """A footer that stays as it is while its keys do: making a dozen widgets anew costs more than most frames."""

    _shown: object = None

    def compose(self) -> ComposeResult:
        """The keys as they are to be: Textual makes each compact first, then not, and styles it anew both times."""
        for each in super().compose():
            # The one of the palette, on the right, stays as it is made.
            if isinstance(each, FooterKey) and not each.has_class("-command-palette"):
                each.set_reactive(FooterKey.compact, self.compact)
            yield each

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Somebody has looked at the keys again, as after every change of focus."""
        shown = [(key, hint.binding, hint.enabled, hint.tooltip) for key, hint in screen.active_bindings.items()]
        if shown != self._shown and screen.app.app_focus:
            self._shown = shown
            super().bindings_changed(screen)
