"""The screen without colours: what it draws, in the terminal's own text colour on its own background."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_OWN = Style(color=RichColor.default(), bgcolor=RichColor.default())
_STANDS_OUT = 0.32


class Uncoloured(LineFilter):
    """Drops every colour. A background that stands out in a ``dark`` or a light theme is shown reversed instead.

    Textual's own filter for NO_COLOR paints greys, so that a light terminal gets a black screen.
    """

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self._dark = dark

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        return [Segment(text, _uncoloured(style or Style(), self._dark), control) for text, style, control in segments]


UNCOLOURED = {dark: Uncoloured(dark=dark) for dark in (True, False)}
"""The filter of a dark and of a light theme: Textual keeps what a filter made by the filter itself."""


@lru_cache(1024)
def _uncoloured(style: Style, dark: bool) -> Style:
    ground = style.bgcolor
    if ground is None or ground.is_default or style.reverse:
        return style + _OWN
    bright = Color.from_rich_color(ground).brightness
    return style + _OWN + Style(reverse=bright > _STANDS_OUT if dark else bright < 1 - _STANDS_OUT)
