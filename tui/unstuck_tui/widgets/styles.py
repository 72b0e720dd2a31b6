"""The styles of tones and of the selected line, kept once for the whole app.

Textual works out a component class again for each widget that has it, whenever that widget is styled: nine for every
one that draws lines were most of what styling a screen cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color

if TYPE_CHECKING:
    from textual.widget import Widget

TONES = ("plain", "quiet", "work", "wait", "ask", "chip", "good", "bad")
CODE = ("keyword", "string", "number", "name")
GROUNDS = ("added", "removed")
CURSORS = ("cursor", "cursor-focused")
_WHITE, _BLACK = Color(255, 255, 255), Color(0, 0, 0)
_LEAST, _STEPS = 4.5, 20
TONE_CLASSES = {f"tone--{tone}" for tone in (*TONES, *CODE, *GROUNDS, *CURSORS)}
"""The component classes that the app has to have."""

TONE_CSS = """
BaseApp {
    .tone--plain { color: $foreground; }
    .tone--quiet { color: $foreground-muted; }
    .tone--work { color: $text-primary; }
    .tone--wait { color: $text-warning; }
    .tone--ask { color: $text-error; text-style: bold; }
    .tone--chip { background: $error; color: white; text-style: bold; }
    &:ansi .tone--chip { background: ansi_red; color: ansi_bright_white; }
    &:nocolor .tone--chip { background: ansi_default; color: $text-error; text-style: bold reverse; }
    .tone--good { color: $text-success; }
    .tone--bad { color: $text-error; }
    &:nocolor .tone--ask, &:nocolor .tone--bad { color: $foreground; }
    .tone--keyword { color: $text-accent; }
    .tone--string { color: $text-success; }
    .tone--number { color: $text-warning; }
    .tone--name { color: $text-primary; }
    .tone--added { background: $added; }
    .tone--removed { background: $removed; }
    &:ansi .tone--added, &:ansi .tone--removed { background: ansi_default; }
    &:nocolor .tone--added, &:nocolor .tone--removed { background: ansi_default; }
    .tone--cursor { background: $cursor-blurred; }
    .tone--cursor-focused { background: $cursor; }
    CommandPalette CommandList:nocolor > .option-list--option-highlighted {
        background: $foreground; color: $background;
    }
}
"""
"""The app's own default style sheet."""


def style_of(widget: Widget, tone: str, ground: Color | None = None) -> Style:
    """The style of ``tone`` on the background of ``widget``, or on ``ground``; its text can be read there."""
    styles = widget.app.get_component_styles(f"tone--{tone}")
    below = (ground or widget.background_colors[1]) + styles.background
    colour = readable(below + styles.color, below, is_limited=widget.app.console.color_system == "256")
    look = widget.text_style + styles.text_style
    return look + Style.from_color(colour.rich_color, below.rich_color if below.a else None)


def ground_of(widget: Widget, name: str) -> Color:
    """The background ``cursor``, ``cursor-focused``, ``added`` or ``removed`` on ``widget``."""
    return widget.background_colors[1] + widget.app.get_component_styles(f"tone--{name}").background


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
