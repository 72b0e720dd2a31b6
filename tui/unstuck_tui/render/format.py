"""Lines as toned cells, and times, bars and widths as their text. Pure; widths are terminal cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, set_cell_size

from unstuck.text import sanitise
from unstuck.words.labels import Tone

_LEAST_ENDS = 7

Shade = Tone | Literal["keyword", "string", "number", "name"]
"""A tone, or the part of a program that a text is."""
Ground = Literal["", "added", "removed"]
"""The background of a changed line."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of a line, exactly as wide as its text."""

    text: str
    tone: Shade = "plain"
    ground: Ground = ""


Line = tuple[Cell, ...]
"""One line on the screen."""


def clock(seconds: float) -> str:
    """A countdown: ``0:09``, ``12:48``, ``1:02:03``; below zero it is ``0:00``."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def bar(fraction: float, width: int) -> str:
    """The rest of a limit, as a bar of ``width`` cells; ``fraction`` is from 0 to 1."""
    halves = round(min(1.0, max(0.0, fraction)) * width * 2)
    full, half = divmod(halves, 2)
    return ("━" * full + "╸" * half).ljust(width)


def flat(text: str) -> str:
    """``text`` in one line, with nothing in it that acts on a terminal."""
    return text if text.isprintable() else " ".join(sanitise(text).split())


def laid_out(text: str) -> str:
    """A line of ``text`` with its blanks as they stand: tabs go to their stops, and what has no sign is as wide."""
    if text.isprintable():
        return text
    signs = sanitise(text).replace("\n", " ")
    return "".join(sign if sign == "\t" or sign.isprintable() else " " * cell_len(sign) for sign in signs).expandtabs()


def width_of(text: str) -> int:
    """The cells that a ``text`` without control characters takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells, cut with an ellipsis or padded (to the ``right``: from the left)."""
    if width <= 0:
        return ""
    # A cell holds at least a quarter of a character; what is far too long is not worth measuring.
    text = flat(text[: 8 * width + 64])
    length = width_of(text)
    if length > width:
        return set_cell_size(set_cell_size(text, width - 1) + "…", width)
    padding = " " * (width - length)
    return padding + text if right else text + padding


def fit_middle(text: str, width: int) -> str:
    """``text`` in exactly ``width`` cells, cut in its middle: what names of one kind differ in stands at their end."""
    text = flat(text)
    if width_of(text) <= width or width < _LEAST_ENDS:
        return fit(text, width)
    end = text[-(width // 2) :]
    while width_of(end) > width // 2:
        end = end[1:]
    return fit(set_cell_size(text, width - width_of(end) - 1).rstrip() + "…" + end, width)


def fit_place(place: str, width: int) -> str:
    """A file and its line in exactly ``width`` cells, with as many of its folders as there is room for.

    Of a name that is too long the end says more: the line.
    """
    place = flat(place)
    while width_of(place) > width and "/" in place.strip("/"):
        place = place.strip("/").partition("/")[2]
    size = width_of(place)
    return fit(place, width) if size <= width or width < 2 else "…" + fit(place[size - width + 1 :], width - 1)


def pieces(text: str, width: int) -> list[str]:
    """``text`` cut into pieces of at most ``width`` cells, so that nothing of it is left out."""
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)] or [""]
    found, piece, room = [], "", width
    for sign in text:
        size = cell_len(sign)
        if size > room and piece:
            found.append(piece)
            piece, room = "", width
        piece, room = piece + sign, room - size
    return [*found, piece]


def named_lines(
    name: str, text: str, room: int, most: int, *, before: str = " ", label: int = 10, tone: Tone = "plain"
) -> list[Line]:
    """``text`` in at most ``most`` lines of ``room`` cells, with ``name`` in the ``label`` cells beside the first."""
    found = wrapped(text, room, most)
    return [
        (Cell(f"{before}{fit('' if place else name, label)} ", "quiet"), Cell(line, tone))
        for place, line in enumerate(found)
    ]


def wrapped(text: str, width: int, most: int) -> list[str]:
    """``text`` broken between words into at most ``most`` lines of at most ``width`` cells."""
    lines: list[str] = []
    line = ""
    for word in flat(text[: 8 * width * most + 64]).split(" "):
        joined = f"{line} {word}" if line else word
        if not line or cell_len(joined) <= width:
            line = joined
            continue
        lines.append(line)
        line = word
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [fit(line, width).rstrip() for line in lines]
