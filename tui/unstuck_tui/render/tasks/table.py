"""One line of the task table: cells of text, each with its tone. Pure; tested without an app."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache

from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.state import State, TaskRow
from unstuck.text import one_line
from unstuck.text.last_words import last_line
from unstuck.words.amounts import span
from unstuck.words.labels import (
    Tone,
    doubts_about,
    failure_of,
    failure_words,
    glyph_of,
    is_held,
    loop_sign,
    needs_person,
    rung_of,
    time_left,
    tone_of,
    word_of,
)
from unstuck_tui.render.format import Cell, bar, clock, fit, fit_middle
from unstuck_tui.render.tasks.progress import sparkline, spinner

NARROW = 84
_WIDE = 150
_BAR = 4
_PLACE = 12
_WORDS = 200
_SHORT, _LONG = 7, 40
_PIPPED = 104
_PIPS = 12
_FAILURE = 31
_ACTIVITY = 10
_STATE, _KIND, _RUNG, _LEVEL, _CLOCK, _LOOP = 11, 12, 16, 12, 8, 6


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of a table's columns in cells; 0 leaves a column out."""

    task: int
    state: int
    agent: int
    kind: int
    pips: int
    rung: int
    activity: int
    time: int
    loop: int
    failure: int


_NAMES = Columns("TASK", "STATE", "AGENT", "TYPE", "TRIED", "LEVEL", "ACTIVITY", "TIME", "LOOP", "LAST FAILURE")  # type: ignore[arg-type]
_STANDING = {"held": "held", "frozen": "suspended", "runs_on": "runs on"}
_SORTED = {"name": "TASK", "state": "STATE", "time": "TIME"}


@lru_cache(maxsize=64)
def columns_for(width: int, task: int = _LONG, agent: int = _LONG, kind: int = _KIND, pips: int = 0) -> Columns:
    """The columns that fit into ``width`` cells: below 84 no agent, no bar, no activity and no loop column.

    ``task``, ``agent`` and ``kind`` are the widths of the longest names: what they do not need is the last column's.
    ``pips`` is the width of all tries.
    """
    narrow, wide = width < NARROW, width >= _WIDE
    kind = min(kind, 2 * _KIND) if wide else 0
    pips = max(pips, len(_NAMES.pips)) if 0 < pips <= _PIPS and width >= _PIPPED else 0  # type: ignore[arg-type]
    rung = _LEVEL if pips else _RUNG
    fixed = [_STATE, rung, _CLOCK] if narrow else [_STATE, rung, _BAR + 2 + _CLOCK, _LOOP]
    fixed += [size for size in (kind, pips) if size]
    room = width - 2 - sum(fixed) - len(fixed)
    task = max(_SHORT, min(task, _LONG, room // 2 if narrow else room // 3))
    agent = 0 if narrow else max(_SHORT, min(agent, _LONG // 2, room - task - _FAILURE))
    left = room - task - 1 - (agent + 1 if agent else 0)
    activity = 0 if narrow or left <= _FAILURE + _ACTIVITY else _ACTIVITY
    return Columns(
        task=task,
        state=_STATE,
        agent=agent,
        kind=kind,
        pips=pips,
        rung=rung,
        activity=activity,
        time=_CLOCK if narrow else _BAR + 2 + _CLOCK,
        loop=0 if narrow else _LOOP,
        failure=max(0, left - (activity + 1 if activity else 0)),
    )


def header_cells(columns: Columns, sorting: str = "plan") -> tuple[Cell, ...]:
    """The table's heading; the column that sorts is marked."""
    by = _SORTED.get(sorting)
    names = (f"{name}▾" if name == by else name for name in astuple(_NAMES))
    text = " ".join(fit(name, width) for name, width in zip(names, astuple(columns), strict=True) if width)
    return (Cell(f"  {text}", "quiet"),)


def task_cells(
    state: State,
    row: TaskRow,
    columns: Columns,
    *,
    now: float,
    limits: Mapping[str, int],
    spent: float = 0.0,
    marked: bool = False,
    still: bool = False,
    printed: Sequence[float] = (),
) -> tuple[Cell, ...]:
    """The line of one task; ``spent`` is what its attempts or a check that runs have taken, in seconds.

    ``printed`` are the bytes that its agent printed of late, the latest last.

    ``still``: nothing can be recorded for the moment, so no agent goes on.
    """
    tone = tone_of(state, row, still=still)
    quiet = row.state == "ended"
    word = word_of(state, row, still=still)
    word += f" {spinner(now)}" if tone == "work" and row.state == "running" else ""
    cells = [
        Cell(f"{glyph_of(state, row, still=still)}{'*' if marked else ' '}", tone),
        Cell(fit_middle(row.id, columns.task) + " ", "quiet" if quiet else "plain"),
        *_state(word, columns.state, tone),
    ]
    if columns.agent:
        cells.append(Cell(fit(row.task.agent or row.task.agent_type, columns.agent) + " ", "quiet"))
    if columns.kind:
        kind = row.task.agent_type if row.task.agent_type != row.task.agent else ""
        cells.append(Cell(fit(kind, columns.kind) + " ", "quiet"))
    level = rung_of(state, row, limits) if row.attempts else ""
    if columns.pips:
        cells.append(_pips(state, row, columns.pips, limits))
        level = re.sub(r" \d+/\d+$", "", level)
    cells.append(Cell(fit(level, columns.rung) + " ", "quiet" if quiet else "plain"))
    if columns.activity:
        cells.append(Cell(fit(sparkline(printed) if row.state == "running" else "", columns.activity) + " ", "work"))
    cells.append(_time(state, row, columns, now, spent, still))
    if columns.loop:
        cells.append(Cell(fit(loop_sign(state, row, limits.get("loop", 3)), columns.loop) + " ", "wait"))
    doubts = doubts_about(row) if row.diagnosis is None or row.status == "succeeded" else ""
    if doubts and row.state != "blocked":
        cells.append(Cell(fit(doubts, columns.failure), "wait"))
    else:
        cells.append(Cell(fit(_failure(state, row, columns.failure), columns.failure), "quiet" if quiet else "plain"))
    return tuple(cells)


def _state(word: str, width: int, tone: Tone) -> tuple[Cell, ...]:
    """The state; one that needs the person is filled."""
    if tone != "ask":
        return (Cell(fit(word, width + 1), "quiet" if tone == "good" else tone),)
    chip = f" {word} "
    return Cell(chip, "chip"), Cell(" " * (width - len(chip) + 1))


def pips_of(climb: Climb, limits: Mapping[str, int]) -> str:
    """The tries of retry, new approach and research in groups, used ones filled: ``●●● ●○○ ○○``."""
    used = {"retry": climb.retries, "pivot": climb.pivots, "research": climb.research}
    tries = ((min(count, limits.get(level, 0)), limits.get(level, 0)) for level, count in used.items())
    return " ".join("●" * count + "○" * (most - count) for count, most in tries if most)


def _pips(state: State, row: TaskRow, width: int, limits: Mapping[str, int]) -> Cell:
    if not row.attempts:
        return Cell(" " * (width + 1))
    tone: Tone = "quiet" if row.state == "ended" else "wait" if row.level == "research" else "plain"
    tone = "ask" if needs_person(state, row) and row.level == "human" else tone
    return Cell(fit(pips_of(row.climb, limits), width) + " ", tone)


def _is_done(state: State, need: str) -> bool:
    upstream = state.tasks.get(need)
    return upstream is not None and upstream.status == "succeeded"


def _time(state: State, row: TaskRow, columns: Columns, now: float, spent: float, still: bool) -> Cell:
    width = columns.time
    left = None if still else time_left(state, row, now)
    if left is not None:
        seconds, limit = left
        tone: Tone = "bad" if seconds < 0.1 * limit else "wait" if seconds < 0.2 * limit else "work"
        text = clock(seconds) if width <= _CLOCK else f"▕{bar(seconds / limit, _BAR)}▏{clock(seconds):>{_CLOCK}}"
        return Cell(fit(text, width, right=True) + " ", tone)
    text, tone = "", "quiet"
    if row.state == "backoff":
        again = clock(row.backoff_until - now)
        until = "quota" if row.backoff_quota else "outage" if row.backoff_outage is not None else "again"
        text, tone = (again if width <= _CLOCK else f"{until} in {again}"), "wait"
    elif row.state == "running" and needs_person(state, row):
        text, tone = _STANDING.get(state.gates[row.gate].gate.standing, ""), "wait"
    elif is_held(state, row, still=still):
        text, tone = "paused", "wait"
    elif row.state == "running":
        attempt = state.attempts.get(row.attempt)
        text = span(attempt.used(now)) if attempt is not None else ""
    elif (row.state == "ended" or row.state == "judging") and spent:
        text = span(spent)
    return Cell(fit(text, width, right=True) + " ", tone)


def _agent_words(row: TaskRow) -> str:
    """Return the last words of an agent that failed or changed nothing, in one line."""
    return one_line(last_line(row.check.said), _WORDS) if row.check is not None and row.check.ending else ""


def _failure(state: State, row: TaskRow, width: int) -> str:
    if row.state == "blocked":
        return "needs " + ", ".join(need for need in row.task.needs if not _is_done(state, need))
    diagnosis = row.diagnosis
    if diagnosis is None or row.status == "succeeded":
        return row.reason if row.state == "ended" else ""
    if words := _agent_words(row):
        return f"agent: {words} · {diagnosis.headline}" if words not in diagnosis.headline else str(diagnosis.headline)
    name, where = failure_of(diagnosis)
    kind = failure_words(diagnosis.failure_type.value, diagnosis.category.value)
    if not where:
        return _with_kind(f"{name}  {diagnosis.headline}" if name else str(diagnosis.headline), kind, width)
    room = width - len(name) - 2
    if name and room < _PLACE:
        return name
    # Of a place that is too long the end says more: the file and its line.
    return _with_kind(f"{name}  {where if len(where) <= room else '…' + where[-(room - 1) :]}".strip(), kind, width)


def _with_kind(text: str, kind: str, width: int) -> str:
    """``text`` with as much of the failure's type and category as there is room for."""
    fitting = (f"{text}  {part}" for part in (kind, kind.partition(", ")[0]))
    return next((whole for whole in fitting if len(whole) <= width), text)
