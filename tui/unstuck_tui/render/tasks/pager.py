"""The lines of a text that is read on a screen of its own, and the line above them. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from rich.cells import cell_len

from unstuck_tui.render.format import Cell, Line, Shade, fit, laid_out
from unstuck_tui.render.tasks.detail import page_names

_TROUBLE = re.compile(
    r"\b(?:\w*(?:error|exception)|fail(?:ed|ure|ures|s)?|panic(?:ked)?|fatal|traceback)\b", re.IGNORECASE
)
_NO_TROUBLE = re.compile(r"\b(?:0|no) (?:error|failure)s?\b|\b(?:errors|failures|failed)[:=] ?0\b", re.IGNORECASE)
SET_IN = "  "


def has_trouble(line: str) -> bool:
    """True for a line that tells of an error or a failure, by its words."""
    return bool(_TROUBLE.search(line)) and not _NO_TROUBLE.search(line)


def page_line(text: str, width: int, *, shift: int = 0, marked: bool = False, words: str = "") -> Line:
    """One line from its column ``shift`` on; ``words`` in it are filled, and ``marked`` is a line of the failure."""
    shown = fit(laid_out(text)[shift:], max(1, width - len(SET_IN)))
    tone: Shade = "bad" if marked else "plain"
    return (Cell("▸ " if marked else SET_IN, "bad"), *_filled(shown, tone, words))


def line_with(line: Line, words: str) -> Line:
    """``line`` with ``words`` filled, where they stand in one of its cells."""
    if not words:
        return line
    return tuple(part for cell in line for part in _filled(cell.text, cell.tone, words, cell))


def _filled(text: str, tone: Shade, words: str, like: Cell | None = None) -> tuple[Cell, ...]:
    ground = like.ground if like is not None else ""
    found, at = [], 0
    folded, wanted = text.lower(), words.lower()
    if not wanted or len(folded) != len(text):  # a few signs have another length in lower case
        return (Cell(text, tone, ground),)
    while (place := folded.find(wanted, at)) >= 0:
        found += [Cell(text[at:place], tone, ground), Cell(text[place : place + len(wanted)], "chip")]
        at = place + len(wanted)
    return tuple(cell for cell in (*found, Cell(text[at:], tone, ground)) if cell.text)


def places_of(texts: Sequence[str], words: str) -> list[int]:
    """The lines with ``words``."""
    wanted = words.lower()
    return [place for place, text in enumerate(texts) if wanted in text.lower()] if wanted else []


def place_of(places: Sequence[int], line: int, step: int) -> int | None:
    """The first of ``places`` after ``line``, or before it with a ``step`` of -1; round the end; None without."""
    if not places:
        return None
    at = bisect_right(places, line) if step > 0 else bisect_left(places, line) - 1
    return places[at % len(places)]


def trouble_at(texts: Sequence[str], marks: re.Pattern[str], line: int, step: int) -> int | None:
    """The next line of the failure or of another error after ``line``, or before it; round the end; None without."""
    count = len(texts)
    order = ((line + step * by) % count for by in range(1, count + 1))
    return next((at for at in order if marks.search(texts[at]) or has_trouble(texts[at])), None)


def pager_title(title: str, names: Sequence[str], shown: str, notes: Sequence[str], width: int) -> Line:
    """The name of the text and of all that can be read, as far as there is room, with notes about it at the right."""
    right = "  ".join(note for note in notes if note)
    room = max(0, width - cell_len(right) - 3)
    tabs = page_names("pager", names, shown, room - cell_len(title) - 1)
    left = f"{title} · {tabs}" if tabs else title
    return (Cell(f" {fit(left, room)} "), Cell(fit(right, width - room - 2) + " ", "quiet"))
