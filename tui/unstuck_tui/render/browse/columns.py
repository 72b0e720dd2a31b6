"""Columns of a list: which of them there is room for, and their cells. Pure; widths are terminal cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unstuck.words.labels import Tone
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.format import Cell, fit, fit_middle, named_lines, width_of, wrapped

_MARGIN = 2
_BARS = "▁▂▃▄▅▆▇█"
_NAME = 10
_AROUND, _LEAST_NOTE = 5, 8


@dataclass(frozen=True, slots=True)
class Column:
    """``width`` cells under ``name``; with a ``share`` at least so many, and that part of what is left over.

    It is left out where the line has less than ``least`` cells. ``middle``: its texts differ at their ends.
    """

    name: str
    width: int
    share: int = 0
    least: int = 0
    right: bool = False
    middle: bool = False


def _widths(columns: Sequence[Column], width: int) -> list[tuple[Column, int]]:
    shown = [column for column in columns if width >= column.least]
    spare = max(0, width - _MARGIN - sum(column.width + 1 for column in shown))
    shares = sum(column.share for column in shown) or 1
    return [(column, column.width + spare * column.share // shares) for column in shown]


def heading_cells(columns: Sequence[Column], width: int) -> tuple[Cell, ...]:
    names = "".join(f"{fit(column.name, room, right=column.right)} " for column, room in _widths(columns, width))
    return (Cell(fit(" " * _MARGIN + names, width), "quiet"),)


def row_cells(
    columns: Sequence[Column], texts: Mapping[str, str], width: int, *, tones: Mapping[str, Tone], sign: str = ""
) -> tuple[Cell, ...]:
    """One line: the ``texts`` by their columns' names. Only our own ``sign`` ever stands in the first two cells."""
    cells = [Cell(fit(sign, _MARGIN), "work")]
    room = width - _MARGIN
    for column, own in _widths(columns, width):
        own = min(own, room)
        told = texts.get(column.name, "")
        text = fit_middle(told, own) if column.middle else fit(told, own, right=column.right)
        text += " " * (own < room)
        cells.append(Cell(text, tones.get(column.name, "plain")))
        room -= own + 1
        if room <= 0:
            break
    return tuple(cells)


def field_lines(name: str, text: object, width: int, *, most: int = 3, tone: Tone = "plain") -> list[tuple[Cell, ...]]:
    """A named fact in at most ``most`` lines; none where there is nothing to say."""
    room = max(8, width - _NAME - _MARGIN - 2)
    return named_lines(name, str(text), room, most, before="  ", tone=tone) if text else []


def would_lines(said: str, width: int) -> list[tuple[Cell, ...]]:
    """The contents that an empty list would have."""
    return [(Cell(f"  {line}", "quiet"),) for line in wrapped(said, max(8, width - _MARGIN - 1), 4)]


def spark(times: Sequence[float], begin: float, end: float, width: int) -> str:
    """A sparkline of ``width`` cells from ``begin`` to ``end`` (seconds); the highest cell is full."""
    counts = [0] * width
    span = max(end - begin, 1e-9)
    for time in times:
        counts[min(width - 1, max(0, int((time - begin) / span * width)))] += 1
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] if most else _BARS[0] for count in counts)


def tab_cells(names: Sequence[str], shown: str, note: str, width: int) -> tuple[Cell, ...]:
    """The tabs by their keys, the shown one in brackets and, where there is little room, it alone by its name."""
    cells = []
    room = width
    named = sum(len(name) + _AROUND for name in names)
    is_tight = named + _LEAST_NOTE > width
    is_narrow = named - len(names) + _LEAST_NOTE > width
    for name in names:
        is_shown, key = name == shown, spoken(f"browse.{name}")
        text = (
            f" [{key} {name}]" if is_shown else f"  {key} " if is_narrow else f"  {key} {name}{'' if is_tight else ' '}"
        )
        text = text if width_of(text) <= room else fit(text, room)
        cells.append(Cell(text, "work" if is_shown else "quiet"))
        room -= width_of(text)
    return (*cells, Cell(fit(f"  {note} ", room, right=True), "quiet"))
