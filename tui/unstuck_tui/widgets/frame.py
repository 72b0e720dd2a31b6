"""The titles in the frame of a pane."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from textual.widget import Widget


_CHOSEN = re.compile(r"\[([^\]]*)\]")


def _marked(text: str) -> Content:
    """``text`` with the tab in brackets stressed."""
    content = Content(text)
    for found in _CHOSEN.finditer(text):
        content = content.stylize("bold $text-primary", found.start(), found.end())
    return content


def place_of(end: int, total: int, height: int, word: str = "") -> str:
    """The place of the line ``end`` among all, such as ``row 7 of 500``; empty where all are in view."""
    return f"{word} {end:,} of {total:,}".lstrip() if total > height > 0 else ""


def entitle(pane: Widget, title: str, subtitle: str = "") -> None:
    """Set the texts in the frame's upper and lower line. Neither is markup; the same ones again draw nothing."""
    for name, text in (("border_title", title), ("border_subtitle", subtitle)):
        content = _marked(text)
        if getattr(pane, name) != content.markup:
            setattr(pane, name, content)
