"""Markdown from values of the code."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "prose", "table"]

_CODE = re.compile(r"`([^`]*)`")
_ROLE = re.compile(r":\w+:`([^`]+)`")


def code(text: str) -> str:
    """Inline code; empty text stays empty."""
    return f"`{text}`" if text else ""


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: its roles and double backquotes become inline code."""
    text = inspect.cleandoc(docstring or "").replace("Example::\n", "Example:\n")
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks and bars inside a cell cannot break it."""
    lines = (map(_cell, row) for row in (head, ["---"] * len(head), *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return _CODE.sub(_without_bars, " ".join(text.split()))


def _without_bars(found: re.Match[str]) -> str:
    """Inline code with a bar as HTML: Markdown shows the backslash that would protect it."""
    inside = found[1]
    return f"<code>{html.escape(inside).replace('|', '&#124;')}</code>" if "|" in inside else found[0]
