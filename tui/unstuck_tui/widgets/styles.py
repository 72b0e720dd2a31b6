"""The styles of tones and of the selected line, kept once for the whole app.

Textual works out a component class again for each widget that has it, whenever that widget is styled: nine for every
one that draws lines were most of what styling a screen cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.color import Color

if TYPE_CHECKING:
    from textual.widget import Widget

TONES = ("plain", "quiet", "work", "wait", "ask", "chip", "good", "bad")
CODE = ("keyword", "string", "number", "name")
GROUNDS = ("added", "removed")
_CURSOR, _FOCUSED = "tone--cursor", "tone--cursor-focused"
TONE_CLASSES = {f"tone--{tone}" for tone in (*TONES, *CODE, *GROUNDS)} | {_CURSOR, _FOCUSED}
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
    .tone--keyword { color: $text-accent; }
    .tone--string { color: $text-success; }
    .tone--number { color: $text-warning; }
    .tone--name { color: $text-primary; }
    .tone--added { background: $success 15%; }
    .tone--removed { background: $error 15%; }
    &:ansi .tone--added, &:ansi .tone--removed { background: ansi_default; }
    &:nocolor .tone--added, &:nocolor .tone--removed { background: ansi_default; }
    .tone--cursor { background: $surface-lighten-1; }
    .tone--cursor-focused { background: $primary 30%; }
    &:light .tone--quiet { color: #484848; }
    &:light .tone--wait { color: #6b4000; }
    &:light .tone--good { color: #14532d; }
    &:light .tone--cursor-focused { background: $primary 20%; }
}
"""
"""The app's own default style sheet."""


def style_of(widget: Widget, tone: str) -> Style:
    """The style of ``tone`` on the background of ``widget``."""
    styles = widget.app.get_component_styles(f"tone--{tone}")
    below, colour = widget.background_colors[1] + styles.background, styles.color
    return (
        widget.text_style
        + styles.text_style
        + Style.from_color((below + colour).rich_color, below.rich_color if below.a else None)
    )


def ground_of(widget: Widget, ground: str) -> Style:
    """The style of a changed line of ``widget``, put over that of its text."""
    colour = widget.app.get_component_styles(f"tone--{ground}").background
    below = widget.background_colors[1] + colour
    return Style(bgcolor=below.rich_color) if colour.a else Style()


def cursor_colour(widget: Widget) -> Color:
    """The background of the selected line of ``widget``."""
    styles = widget.app.get_component_styles(_FOCUSED if widget.has_focus else _CURSOR)
    return widget.background_colors[1] + styles.background
