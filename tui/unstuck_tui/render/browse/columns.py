"""Columns of a list: which of them there is room for, and their cells. Pure; widths are terminal cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from unstuck.words.labels import Tone
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.format import Cell, fit, fit_middle, fit_place, named_lines, width_of, wrapped

_MARGIN = 2
_BARS = "▁▂▃▄▅▆▇█"
_LABELS = {"signatures": "failures"}
"""Names of tabs that are not those of their keys in the settings."""
_NAME = 10
_AROUND, _LEAST_NOTE = 5, 8


@dataclass(frozen=True, slots=True)
class Column:
    """``width`` cells under ``name``; with a ``share`` at least so many, and that part of what is left over.

    It is left out where the line has less than ``least`` cells. ``middle``: its texts differ at their ends. ``place``:
    they are files and lines.
    """

    name: str
    width: int
    share: int = 0
    least: int = 0
    right: bool = False
    middle: bool = False
    place: bool = False


@dataclass(frozen=True, slots=True)
class RowTexts:
    """One line of a list: its texts and their tones by the names of their columns, and our own sign before them."""

    texts: Mapping[str, str]
    tones: Mapping[str, Tone] = field(default_factory=dict)
    sign: str = ""


def needs_of(columns: Sequence[Column], rows: Iterable[RowTexts]) -> tuple[int, ...]:
    """The cells of the longest text in each column."""
    needs = [width_of(column.name) for column in columns]
    for row in rows:
        needs = [max(most, width_of(row.texts.get(one.name, ""))) for most, one in zip(needs, columns, strict=True)]
    return tuple(needs)


@lru_cache(maxsize=64)
def _widths(columns: tuple[Column, ...], width: int, needs: tuple[int, ...]) -> tuple[tuple[Column, int], ...]:
    """The columns that there is room for, and their cells: none is cut as long as another has more than it needs."""
    wanted = dict(zip(columns, needs, strict=True)) if needs else {}
    shown = [column for column in columns if width >= column.least]
    rooms = {
        column: min(column.width, wanted.get(column, column.width)) if column.share else column.width
        for column in shown
    }
    spare = max(0, width - _MARGIN - sum(room + 1 for room in rooms.values()))
    while spare > 0 and (short := [one for one in shown if one.share and rooms[one] < wanted.get(one, width)]):
        shares = sum(one.share for one in short)
        for column in short:
            more = min(spare, max(1, spare * column.share // shares), wanted.get(column, width) - rooms[column])
            rooms[column] += more
            spare -= more
    between = int(spare >= len(rooms))
    return tuple((column, room + between) for column, room in rooms.items())


def heading_cells(columns: Sequence[Column], width: int, needs: tuple[int, ...] = ()) -> tuple[Cell, ...]:
    rooms = _widths(tuple(columns), width, needs)
    names = "".join(f"{fit(column.name, room, right=column.right)} " for column, room in rooms)
    return (Cell(fit(" " * _MARGIN + names, width), "quiet"),)


def row_cells(columns: Sequence[Column], row: RowTexts, width: int, needs: tuple[int, ...] = ()) -> tuple[Cell, ...]:
    """One line: its texts by their columns' names. Only our own sign ever stands in the first two cells."""
    cells = [Cell(fit(row.sign, _MARGIN), "work")]
    room = width - _MARGIN
    for column, own in _widths(tuple(columns), width, needs):
        own = min(own, room)
        told = row.texts.get(column.name, "")
        fitted = fit_place if column.place else fit_middle if column.middle else fit
        text = fit(told, own, right=True) if column.right else fitted(told, own)
        text += " " * (own < room)
        cells.append(Cell(text, row.tones.get(column.name, "plain")))
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
    """The tabs by their keys, the shown one in brackets; where there is little room, the last ones without names."""
    keys = [spoken(f"browse.{name}") for name in names]
    wanted = [len(_LABELS.get(name, name)) + _AROUND for name in names]
    tight = sum(wanted) + _LEAST_NOTE > width
    wanted = [want - tight for want in wanted]
    bare = [len(key) + 2 for key in keys]
    left = width - min(width_of(note) + 3, _LEAST_NOTE) - sum(bare)
    order = sorted(range(len(names)), key=lambda place: (names[place] != shown, place))
    named = set()
    for place in order:
        left -= wanted[place] - bare[place]
        if left < 0 and place != order[0]:
            break
        named.add(place)
    cells = []
    room = width
    for place, (name, key) in enumerate(zip(names, keys, strict=True)):
        is_shown, name = name == shown, _LABELS.get(name, name)
        text = f" [{key} {name}]" if is_shown else f"  {key} {name}{'' if tight else ' '}"
        text = text if place in named else f" {key}"
        text = text if width_of(text) <= room else fit(text, room)
        cells.append(Cell(text, "work" if is_shown else "quiet"))
        room -= width_of(text)
    return (*cells, Cell(fit(f"  {note} ", room, right=True), "quiet"))
