"""Colours that can be read: whatever the theme, text has the contrast that WCAG 2 asks for."""

from __future__ import annotations

import re
from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.filter import ANSIToTruecolor

_WHITE, _BLACK = Color(255, 255, 255), Color(0, 0, 0)
_LEAST, _STEPS = 4.5, 20
_MOST_STYLES = 1024
_READ = re.compile(r"[^\s\u2500-\u259f]")
"""Anything but blanks, frames and bars, which only lie beside what is read."""


class ReadableColours(ANSIToTruecolor):
    """Makes text lighter or darker where it could not be read on its background.

    Here, as the last step of a drawing, it holds for every widget, for Textual's own, and for colours of the person's.
    """

    def __init__(self, theme: TerminalTheme, is_limited: bool) -> None:
        super().__init__(theme)
        self._is_limited = is_limited
        self._made: dict[RichColor, dict[Style, tuple[Style, Style]]] = {}

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in colours that can be read."""
        ground = background.rich_color
        made = self._made.get(ground)
        if made is None or len(made) > _MOST_STYLES:
            made = self._made[ground] = {}
        found = []
        for segment in segments:
            text, style, _ = segment
            if style is not None:
                styles = made.get(style)
                if styles is None:
                    styles = made[style] = self._styled(style, ground)
                wanted = styles[styles[0] is not styles[1] and _READ.search(text) is not None]
                if wanted is not style:
                    segment = Segment(text, wanted)
            found.append(segment)
        return found

    def _styled(self, style: Style, ground: RichColor) -> tuple[Style, Style]:
        """``style`` with colours of its own, and as it can be read."""
        style = self.truecolor_style(style, ground)
        if style.color is None:
            return style, style
        colour, below = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor or ground)
        shade = readable(colour, below, is_limited=self._is_limited)
        return style, style if shade is colour else style + Style(color=shade.rich_color)


@lru_cache(8)
def readable_colours(theme: TerminalTheme, is_limited: bool) -> ReadableColours:
    """The filter for terminals of 256 colours or all: Textual keeps what a filter made by the filter itself."""
    return ReadableColours(theme, is_limited)


def readable(colour: Color, below: Color, *, is_limited: bool = False) -> Color:
    """``colour``, made lighter or darker until it has a contrast of 4.5 : 1 (WCAG AA) to ``below``.

    Of ``is_limited`` terminals the 256 colours count that they show.
    """
    shown = _limited if is_limited else _exact
    ground = shown(below)
    aim = max(_WHITE, _BLACK, key=lambda end: _contrast(end.rgb, ground))
    if _contrast(shown(colour), ground) >= _LEAST:
        return colour
    steps = (colour.blend(aim, step / _STEPS, 1.0) for step in range(1, _STEPS))
    return next((step for step in steps if _contrast(shown(step), ground) >= _LEAST), aim)


def _exact(colour: Color) -> tuple[int, int, int]:
    return colour.rgb


def _limited(colour: Color) -> tuple[int, int, int]:
    return colour.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()


def _contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(rgb: tuple[int, int, int]) -> float:
    """The relative luminance of WCAG 2."""
    parts = [part / 255 for part in rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
