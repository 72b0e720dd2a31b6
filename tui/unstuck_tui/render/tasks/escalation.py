"""The escalation of one task: its level, what moved it there, and what comes next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from unstuck.contract import Level
from unstuck.escalation.limits import Limits
from unstuck.eventlog.state import State, TaskRow
from unstuck.words.labels import Tone, counted, needs_person
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.format import Cell, Line, fit, named_lines

if TYPE_CHECKING:
    from unstuck.escalation.forecast import Step


_BEFORE = "   "
_LABEL = 13
_RUNGS: tuple[tuple[Level, str], ...] = (
    ("first", "first try"),
    ("retry", "retry"),
    ("pivot", "new approach"),
    ("research", "research"),
    ("human", "asks you"),
)
_WORDS = {
    "retry": "retry",
    "pivot": "new approach",
    "research": "research",
    "continue": "new session",
    "wait": "wait",
    "again": "again",
    "human": "asks you",
    "halt": "the run is halted",
}


_CHOSEN = {"first": "the same again", "pivot": "a new approach", "research": "research", "human": "the question"}


def ladder_lines(
    state: State, row: TaskRow, limits: Limits, *, may_ask: bool = True, with_keys: bool = True, width: int
) -> list[Line]:
    """The levels with the tries used on each, then what led here and what follows; ``width`` in cells.

    ``with_keys``: and what a person can do about it.
    """
    lines = [_rung(state, row, limits, level, label, width) for level, label in _RUNGS]
    lines.append((Cell(" "),))
    room = max(10, width - 14)
    for name, text in _facts(state, row, limits, may_ask):
        lines += named_lines(name, text, room, 4, before=_BEFORE)
    if row.state != "ended" and with_keys:
        hold, decide = spoken("task.hold"), spoken("task.decide")
        said = f"{hold} holds it · {decide} changes the level, gives time, skips"
        lines += named_lines("from here", said, room, 4, before=_BEFORE)
    return lines


def _rung(state: State, row: TaskRow, limits: Limits, level: Level, label: str, width: int) -> Line:
    climb = row.climb
    used, most = {
        "retry": (climb.retries, limits.max_retries),
        "pivot": (climb.pivots, limits.max_pivots),
        "research": (climb.research, limits.max_research),
    }.get(level, (0, 0))
    here = level == ("human" if needs_person(state, row) else row.level)
    passed = here and used > 0 and row.status == "succeeded"
    marks = f"{'✗' * min(used - passed, 20)}{'✓' * passed}{'○' * min(max(0, most - used), 20)}"
    text = f"{marks}  {used} of {most} used" if most else ""
    if level == "first":
        text = f"{row.attempts} attempt{'' if row.attempts == 1 else 's'} so far" if row.attempts else "not started yet"
    elif level == "human" and needs_person(state, row):
        text = "waits for you"
    way = f"  {climb.approach}" if here and level == "pivot" and climb.approach else ""
    mark = Cell(" ▸ " if here else "   ", "ask" if here and level == "human" else "work")
    room = max(0, width - 3 - _LABEL)
    tone: Tone = "plain" if here else "quiet"
    return mark, Cell(fit(label, _LABEL), tone), Cell(fit(text + way, room).rstrip(), tone)


def _facts(state: State, row: TaskRow, limits: Limits, may_ask: bool) -> Iterable[tuple[str, str]]:
    from unstuck.escalation.forecast import forecast

    climb, diagnosis = row.climb, row.diagnosis
    if row.state == "ended":
        yield "ended", f"{row.status}{f': {row.reason}' if row.reason else ''}"
        return
    if diagnosis is not None and climb.rung != "first":
        again = f", {climb.repeats} times in a row" if climb.repeats > 1 else ""
        yield "because", f"{diagnosis.headline}{again}"
    if row.chosen:
        yield "chosen", f"{_CHOSEN.get(row.chosen, row.chosen)} comes next, as you chose"
    if climb.failed_approaches:
        yield "failed", " · ".join(climb.failed_approaches)
    if needs_person(state, row):
        return
    ahead = forecast(climb, diagnosis, limits, direct=row.mode == "direct", may_ask=may_ask)
    if not ahead:
        yield "next", "nothing has failed yet: the first failure decides the level"
        return
    yield "next", f"{_told(ahead, row)} (if the same failure comes again each time)"
    left = sum(step.kind not in ("human", "halt") for step in ahead)
    if left:
        yield "left", f"{counted(left, 'more attempt')} before {_end(row, ahead)}"


def outlook(state: State, row: TaskRow, limits: Limits, *, may_ask: bool = True) -> str:
    """Summary of what has been tried, what comes next, and when a person is asked; empty before a failure."""
    from unstuck.escalation.forecast import forecast

    climb = row.climb
    if row.state == "ended" or row.diagnosis is None or climb.rung == "first":
        return ""
    used = climb.retries + climb.pivots + climb.research
    most = max(used, limits.max_retries + limits.max_pivots + limits.max_research)
    tried = f"{used} of {counted(most, 'try', 'tries')} used."
    ahead = forecast(climb, row.diagnosis, limits, direct=row.mode == "direct", may_ask=may_ask)
    if not ahead or needs_person(state, row):
        return tried
    left = sum(step.kind not in ("human", "halt") for step in ahead)
    end = _end(row, ahead)
    if not left:
        return f"{tried} If this one fails, {end}."
    return f"{tried} Next: {_told(ahead[:1], row)}. After {counted(left, 'more failure')}, {end}."


def _end(row: TaskRow, ahead: Sequence[Step]) -> str:
    """The end of the steps: another agent where one is left, else the question or the end of the run."""
    if row.agents_left:
        return f"{row.agents_left[0]} goes on"
    return "you are asked" if ahead[-1].kind == "human" else "the run is halted"


def _told(ahead: Iterable[Step], row: TaskRow) -> str:
    """The steps in words, the same ones in a row counted: ``retry ×2 → pivot (use the queue) → asks you``."""
    parts = []
    for (kind, approach), steps in groupby(ahead, key=lambda step: (step.kind, step.approach)):
        count = len(list(steps))
        if kind in ("human", "halt") and row.agents_left:
            parts.append(_end(row, ()))
            continue
        parts.append(_WORDS[kind] + (f" ({approach})" if approach else "") + (f" ×{count}" if count > 1 else ""))
    return " → ".join(parts)
