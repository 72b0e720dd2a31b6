"""The titles in the frame of a pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from textual.widget import Widget


def entitle(pane: Widget, title: str, subtitle: str = "") -> None:
    """Set the texts in the frame's upper and lower line. Neither is markup; the same ones again draw nothing."""
    for name, text in (("border_title", title), ("border_subtitle", subtitle)):
        content = Content(text)
        if getattr(pane, name) != content.markup:
            setattr(pane, name, content)
