"""Rows in columns below a head, and the colours of printed lines. Pure.

Colours are terminal escapes, which the printer removes where they are not wanted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_GREEN, _RED, _YELLOW, _BOLD = "32", "31", "33", "1"
_SIGNS = {"✓": _GREEN, "✗": _RED, "!": _YELLOW, "?": _YELLOW, "ok": _GREEN, "!!": _RED}
_STATES = {
    "succeeded": _GREEN, "worked": _GREEN, "installed": _GREEN, "incomplete": _RED, "failed": _RED, "halted": _RED,
    "damaged": _RED, "budget": _RED, "paused": _YELLOW, "interrupted": _YELLOW, "outdated": _YELLOW,
}  # fmt: skip
_PAINTED = re.compile(rf"(?<!\S)(?:[✓✗?]|!(?!!)|(?:^|(?<=  ))(?:{'|'.join(_STATES)})(?=  )|^ok(?= )|^!!)(?!\S)")
_HEAD = re.compile(r" *[A-Z]{2,}(?: +[A-Z]{2,})+")


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows in columns below ``head``; no line without rows."""
    table = [head, *rows] if rows else []
    widths = [max(len(row[place]) for row in table) for place in range(len(head))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def paint(line: str) -> str:
    """The line with its signs and states in colour; a head of columns is bold."""
    if _HEAD.fullmatch(line):
        return _in(_BOLD, line)
    return _PAINTED.sub(lambda found: _in({**_SIGNS, **_STATES}[found[0]], found[0]), line)


def _in(colour: str, text: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
