"""The styles of tones and of the selected line, from the variables of the theme.

As classes of a style sheet they would be parsed at each start, and worked out again whenever a widget is styled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.color import Color

if TYPE_CHECKING:
    from textual.app import App
    from textual.widget import Widget

_TEXT = {
    "plain": "foreground",
    "quiet": "foreground-muted",
    "work": "text-primary",
    "wait": "text-warning",
    "ask": "text-error",
    "good": "text-success",
    "bad": "text-error",
    "keyword": "text-accent",
    "string": "text-success",
    "number": "text-warning",
    "name": "text-primary",
}
"""The variable of the theme with the colour of each tone."""
CODE = ("keyword", "string", "number", "name")
TONES = (*(tone for tone in _TEXT if tone not in CODE), "chip")
GROUNDS = ("added", "removed")
_GROUND_OF = {"added": "added", "removed": "removed", "cursor": "cursor-blurred", "cursor-focused": "cursor"}
_BOLD = Style(bold=True)
_CLEAR = Color(0, 0, 0, 0)
CURSORS = ("cursor", "cursor-focused")
_WHITE = Color(255, 255, 255)


def style_of(widget: Widget, tone: str, ground: Color | None = None) -> Style:
    """The style of ``tone`` on the background of ``widget``, or on ``ground``."""
    colour, own, look = _tone(widget.app, tone)
    below = (ground or widget.background_colors[1]) + own
    colour = below + colour
    return widget.text_style + look + Style.from_color(colour.rich_color, below.rich_color if below.a else None)


def _tone(app: App[object], tone: str) -> tuple[Color, Color, Style]:
    """The colour of a tone, the background that it brings, and how its text stands out."""
    if tone == "chip":
        if app.no_color:
            return _variable(app, "text-error"), Color.parse("ansi_default"), _BOLD + Style(reverse=True)
        if app.native_ansi_color:
            return Color.parse("ansi_bright_white"), Color.parse("ansi_red"), _BOLD
        return _WHITE, _variable(app, "error"), _BOLD
    if app.no_color and tone in ("ask", "bad"):
        colour = _variable(app, "foreground")
    else:
        colour = _variable(app, _TEXT[tone])
    return colour, _CLEAR, _BOLD if tone == "ask" else Style()


def ground_of(widget: Widget, name: str) -> Color:
    """The background ``cursor``, ``cursor-focused``, ``added`` or ``removed`` on ``widget``."""
    app = widget.app
    if name not in CURSORS and (app.no_color or app.native_ansi_color):
        return widget.background_colors[1] + Color.parse("ansi_default")
    return widget.background_colors[1] + _variable(app, _GROUND_OF[name])


def _variable(app: App[object], name: str) -> Color:
    """The colour that the theme gives a variable, with the part of it that shows."""
    colour, _, part = app.theme_variables[name].partition(" ")
    found = Color.parse(colour)
    return found.multiply_alpha(float(part.rstrip("%")) / 100) if part else found
