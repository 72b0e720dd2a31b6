"""The line under a replay: where in the run it stands, and where there was trouble. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from rich.cells import cell_len

from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.format import Cell, fit

_LEVELS = "▁▂▃▄▅▆▇█"
_LEAST = 12


class Track(Protocol):
    """The data of the strip: see ``LogIndex``."""

    failures: list[int]
    gates: list[int]

    def __len__(self) -> int: ...

    def at(self, share: float) -> int: ...

    def share(self, seq: int) -> float: ...


def scrubber_cells(
    track: Track, seq: int, *, time: str, speed: int, plays: bool, width: int
) -> tuple[tuple[Cell, ...], int, int]:
    """The line, exactly ``width`` wide, and where its strip begins and how wide that is."""
    head = f" {'▶' if plays else '‖'} "
    told = f" {time}  {seq}/{len(track)}  ×{speed} "
    hints = next(
        (hint for hint in _hints() if width - cell_len(head + told) - cell_len(hint) - 1 >= _LEAST or not hint), ""
    )
    room = max(0, width - cell_len(head) - cell_len(told) - (cell_len(hints) + 1 if hints else 0))
    cells = (Cell(head, "work" if plays else "wait"), *_strip(track, seq, room), Cell(told))
    hint = (Cell(f"{hints} ", "quiet"),) if hints else ()
    whole = (*cells, *hint)
    length = sum(cell_len(cell.text) for cell in whole)
    if length > width:
        return (Cell(fit("".join(cell.text for cell in whole), width)),), cell_len(head), room
    return whole, cell_len(head), room


def _hints() -> tuple[str, ...]:
    """The key hints, the longest first."""
    failure, gate, play, faster, slower = (
        spoken(f"replay.{name}") for name in ("failure", "gate", "play", "faster", "slower")
    )
    short = f"{failure} next failure  {gate} next question"
    return f"{short}  {play} play  {faster}/{slower} speed", short, ""


def place_at(x: int, begin: int, width: int) -> float | None:
    """The share of the strip that column ``x`` stands for; None beside the strip."""
    return (x - begin + 0.5) / width if width and begin <= x < begin + width else None


def _strip(track: Track, seq: int, width: int) -> list[Cell]:
    """One sign for each part of the time: a question, a failure, or how much happened; where it stands is marked."""
    edges = [track.at(place / width) for place in range(width)] + [len(track) + 1]
    counts = [max(0, after - before) for before, after in pairwise(edges)]
    most = max(counts, default=0) or 1
    here = min(width - 1, int(track.share(seq) * width)) if width else -1
    cells = []
    for place, count in enumerate(counts):
        span = edges[place], edges[place + 1]
        if place == here:
            cells.append(Cell("┃", "work"))
        elif _any(track.gates, *span):
            cells.append(Cell("!", "ask"))
        elif _any(track.failures, *span):
            cells.append(Cell("✗", "bad"))
        else:
            cells.append(Cell(_LEVELS[min(7, count * 8 // (most + 1))], "quiet"))
    return cells


def _any(places: Sequence[int], begin: int, end: int) -> bool:
    """True where one of the sorted ``places`` lies from ``begin`` up to before ``end``."""
    return bisect_right(places, end - 1) > bisect_right(places, begin - 1)
