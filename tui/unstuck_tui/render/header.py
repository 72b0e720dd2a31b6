"""The header's one line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from rich.cells import cell_len

from unstuck.words.amounts import Spent, spent_of
from unstuck.words.labels import GROUPS, Tone, counted_group, ended_as
from unstuck_tui.render.format import Cell, clock, fit, flat

_LEAST_NAME = 16
_SPOKEN = ("needs you", "working", "done", "failed")


class HeaderRun(Spent, Protocol):
    """The parts of a run that its header names."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def project(self) -> str: ...
    @property
    def exit_reason(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...


def header_line(
    run: HeaderRun,
    counts: Mapping[str, int],
    *,
    elapsed: float,
    width: int,
    name: str = "",
    muted: str = "",
    tasks: int = 0,
) -> tuple[Cell, ...]:
    """``name`` (else the project's) and run, time gone by, how many tasks are in which state, and what it cost.

    What needs the person is counted with the questions about the whole run.

    ``elapsed`` is in seconds; ``muted`` says of what no notifications go out; ``tasks`` is the number of all tasks.
    """
    spent = spent_of(run)
    cost = (Cell("   "), Cell(spent)) if spent else ()
    over = run.state in ("ended", "parked")
    plain = tuple(_countings(counts, 0 if over else tasks))
    ways = (*((*way, *cost) for way in plain), *(plain[-1:] if cost else ()))
    state, _ = _run_state(run)
    needed = sum(cell_len(part) + 2 for part in (clock(elapsed), state, muted))
    least = max(_LEAST_NAME, min(needed + 3, 2 * width // 5))
    right = next((cells for cells in ways if _length(cells) <= width - least), ways[-1])
    left = _name(run, name or run.project, elapsed, max(0, width - _length(right) - 3), muted)
    blank = Cell(" " * max(2, width - _length(left) - _length(right) - 1))
    return _cut((*left, blank, *right), width)


def _countings(counts: Mapping[str, int], tasks: int) -> Iterator[tuple[Cell, ...]]:
    """Ways to say how many tasks are in which state, the longest first; what needs the person keeps its word."""
    groups = [(word, counts.get(word, 0), *told) for word, told in GROUPS.items() if counts.get(word, 0) > 0]
    for gap, spoken in (
        ("   ", tuple(GROUPS)),
        ("  ", tuple(GROUPS)),
        ("  ", _SPOKEN),
        ("  ", ("needs you",)),
        ("  ", ()),
    ):
        cells: list[Cell] = []
        for word, count, glyph, tone in groups:
            words = f"{count} of {tasks} done" if word == "done" and count < tasks else counted_group(word, count)
            text = f"{glyph} {words}" if word in spoken else f"{glyph} {count}"
            cells += [Cell(gap), Cell(text, tone)]
        yield tuple(cells[1:])


def _length(cells: Iterable[Cell]) -> int:
    return sum(cell_len(cell.text) for cell in cells)


def _name(run: HeaderRun, name: str, elapsed: float, room: int, muted: str) -> tuple[Cell, ...]:
    """The longest way to say which run this is that fits into ``room``."""
    state, tone = _run_state(run)
    project, time = fit(name, min(24, cell_len(flat(name)))), clock(elapsed)
    ways = (
        f" unstuck  {project} · run {run.id} · {time}",
        f" {project} · run {run.id} · {time}",
        f" {project} · {run.id} · {time}",
        f" {project} · {time}",
        f" {time}",
    )
    text = "".join(f"  {part}" for part in (state, muted) if part)
    way = next((way for way in (ways if run.id else ways[3:]) if cell_len(way + text) <= room), ways[-1])
    text = fit(text, min(cell_len(text), max(0, room - cell_len(way))))  # a task's name may be as long as it likes
    return (Cell(way), Cell(text, tone)) if text else (Cell(way),)


def _run_state(run: HeaderRun) -> tuple[str, Tone]:
    if run.state == "ended" or run.state == "parked":
        return ended_as(run.exit_reason), "good" if run.exit_code == 0 else "wait"
    if run.state == "draining":
        return "stopping", "wait"
    if run.state == "blocked":
        return "blocked", "bad"
    return "", "plain"


def _cut(cells: Iterable[Cell], width: int) -> tuple[Cell, ...]:
    kept: list[Cell] = []
    for cell in cells:
        room = width - sum(cell_len(other.text) for other in kept)
        kept.append(Cell(fit(cell.text, min(room, cell_len(cell.text))), cell.tone))
    return tuple(cell for cell in kept if cell.text)
