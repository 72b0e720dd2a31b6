"""The styles of tones and of the selected line, from the variables of the theme.

As classes of a style sheet they would be parsed at each start, and worked out again whenever a widget is styled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.color import ColorSystem
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
_WHITE, _BLACK = Color(255, 255, 255), Color(0, 0, 0)
_LEAST, _STEPS = 4.5, 20
_HINT = "auto 70%"


def style_of(widget: Widget, tone: str, ground: Color | None = None) -> Style:
    """The style of ``tone`` on the background of ``widget``, or on ``ground``; its text can be read there."""
    app = widget.app
    colour, own, look = _tone(app, tone)
    below = (ground or widget.background_colors[1]) + own
    colour = readable(below + colour, below, is_limited=app.console.color_system == "256")
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


def readable_variables(variables: Mapping[str, str], is_limited: bool) -> dict[str, str]:
    """``variables`` of a theme, with hints in fields and keys of the footer that can be read on their ground."""
    found = dict(variables)
    ground = Color.parse(found["footer-background"])
    for name in ("footer-key-foreground", "footer-description-foreground"):
        colour = readable(Color.parse(found[name]), ground, is_limited=is_limited)
        found[name] = found[name] if colour.ansi is not None else colour.hex
    if found["text-disabled"].startswith("auto"):
        found["text-disabled"] = _HINT
    return found


def readable(colour: Color, below: Color, *, is_limited: bool = False) -> Color:
    """``colour``, made lighter or darker until it has a contrast of 4.5 : 1 (WCAG AA) to ``below``.

    Of ``is_limited`` terminals the 256 colours count that they show. Colours of the terminal's own stay as they are.
    """
    if colour.ansi is not None or below.ansi is not None or not below.a:
        return colour
    shown = _limited if is_limited else _exact
    ground = shown(below)
    aim = max(_WHITE, _BLACK, key=lambda end: _contrast(end.rgb, ground))
    steps = (colour.blend(aim, step / _STEPS, 1.0) for step in range(_STEPS))
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
