"""One line of the task table: cells of text, each with its tone. Pure; tested without an app."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from unstuck.eventlog.usage import usage_of
from unstuck.text import one_line
from unstuck.text.last_words import last_line
from unstuck.words.amounts import span, spent_of
from unstuck.words.labels import (
    Tone,
    agent_mark,
    asked_about,
    awaited_host,
    collision_words,
    doubts_about,
    failure_of,
    failure_words,
    glyph_of,
    host_of,
    is_checking,
    is_held,
    kind_mark,
    needs_person,
    repeats_of,
    rung_of,
    time_left,
    tone_of,
    word_of,
)
from unstuck_tui.render.format import Cell, bar, clock, fit, fit_middle, fit_place, width_of
from unstuck_tui.render.tasks.progress import sparkline, spinner

if TYPE_CHECKING:
    from unstuck.escalation.ladder_state import Climb
    from unstuck.eventlog.state import State, TaskRow

NARROW = 84
_BAR = 4
_WORDS = 200
_SHORT, _LONG, _READABLE = 7, 40, 12
_STATE, _LEVEL, _COUNTED_LEVEL, _CLOCK, _WIDE_CLOCK = 11, 12, 19, 9, 15
_REPEATS, _ACTIVITY, _USED = 7, 10, 8
_LEAST_FAILURE, _FAILURE, _READ_FAILURE, _MOST = 12, 24, 32, 60
_TRIED, _PIPS, _PLACE = 5, 12, 12
_TOKENS = " tokens"
_COUNT = re.compile(r" \d+( of \d+)?$")


class Columns(NamedTuple):
    """The widths of a table's columns in cells; 0 leaves a column out."""

    task: int
    state: int
    agent: int
    kind: int
    pips: int
    level: int
    activity: int
    time: int
    used: int
    repeats: int
    failure: int


class Needs(NamedTuple):
    """The widths of the longest texts of a table in cells; 0 for a text that there is not."""

    task: int = 0
    agent: int = 0
    kind: int = 0
    pips: int = 0
    failure: int = 0
    repeats: int = 0
    used: int = 0


_NAMES = (
    "TASK", "STATE", "AGENT", "TYPE", "TRIED", "LEVEL", "ACTIVITY", "TIME LEFT", "USED", "REPEATS", "WHAT IS WRONG",
)  # fmt: skip
_STANDING = {"held": "held", "frozen": "suspended", "runs_on": "runs on"}
_SORTED = {"name": "TASK", "state": "STATE", "time": "TIME LEFT"}


@lru_cache(maxsize=64)
def columns_for(width: int, needs: Needs) -> Columns:
    """The columns that fit into ``width`` cells, each as wide as it needs to be as long as there is room.

    Names come before what is good to have. What no column needs is left to the last one.
    """
    is_narrow = width < NARROW
    found = {"task": _SHORT, "state": _STATE, "level": _LEVEL, "time": _CLOCK, "failure": _LEAST_FAILURE}
    room = width - 2 - sum(found.values()) - (len(found) - 1)
    agent, failure = max(_SHORT, needs.agent), max(_LEAST_FAILURE, needs.failure)
    pips = max(needs.pips, _TRIED) if 0 < needs.pips <= _PIPS else 0
    wishes = (
        ("task", min(needs.task, _READABLE if is_narrow else _FAILURE)),
        ("failure", min(failure, _FAILURE)),
        ("agent", 0 if is_narrow else min(agent, _FAILURE)),
        ("pips", 0 if is_narrow else pips),
        ("task", min(needs.task, _LONG)),
        ("failure", min(failure, _READ_FAILURE)),
        ("level", _COUNTED_LEVEL),
        ("agent", 0 if is_narrow else min(agent, _LONG)),
        ("failure", min(failure, _LONG)),
        ("repeats", 0 if is_narrow or not needs.repeats else _REPEATS),
        ("activity", 0 if is_narrow else _ACTIVITY),
        ("used", 0 if is_narrow or not needs.used else _USED),
        ("kind", min(needs.kind, _LONG)),
        ("failure", failure),
        ("time", 0 if is_narrow else _WIDE_CLOCK),
    )
    for name, wished in wishes:
        has = found.get(name, 0)
        cost = wished - has + (0 if has else 1)
        if wished <= has or (cost > room and name not in ("task", "agent", "failure")):
            continue
        if name == "level" and "pips" in found:
            continue  # the pips count already
        more = min(cost, room)
        if has or more == cost or more > _SHORT:
            found[name] = has + more - (0 if has else 1)
            room -= more
    found["failure"] += room
    return Columns(**{name: found.get(name, 0) for name in Columns._fields})


def header_cells(columns: Columns, sorting: str = "plan") -> tuple[Cell, ...]:
    """The table's heading; the column that sorts is marked."""
    by = _SORTED.get(sorting)
    names = (f"{name}▾" if name == by else name for name in _NAMES)
    text = " ".join(fit(name, width) for name, width in zip(names, columns, strict=True) if width)
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
    absent: tuple[str, str] = ("", ""),
) -> tuple[Cell, ...]:
    """The line of one task; ``spent`` is what its attempts or a check that runs have taken, in seconds.

    ``printed`` are the bytes that its agent printed of late, the latest last.

    ``still``: nothing can be recorded for the moment, so no agent goes on. ``absent``: a word in the place of the
    state and its age, where nothing is heard of the task; empty where something is.
    """
    tone: Tone = "wait" if absent[0] else tone_of(state, row, still=still)
    quiet = row.state == "ended"
    word = absent[0] or word_of(state, row, still=still)
    word += f" {spinner(now)}" if tone == "work" and row.state == "running" else ""
    cells = [
        Cell(f"{'?' if absent[0] else glyph_of(state, row, still=still)}{'*' if marked else ' '}", tone),
        Cell(fit_middle(row.id, columns.task), "quiet" if quiet else "plain"),
        *state_cells(word, columns.state, tone),
    ]
    if columns.agent:
        cells.append(Cell(fit_middle(agent_mark(row), columns.agent) + " ", "wait" if row.failovers else "quiet"))
    if columns.kind:
        cells.append(Cell(fit(kind_mark(row), columns.kind) + " ", "quiet"))
    level = rung_of(state, row, limits) if row.attempts else ""
    if columns.pips:
        cells.append(_pips(state, row, columns.pips, limits, has_asked=level == "asked you"))
        level = _COUNT.sub("", level)
    elif columns.level < _COUNTED_LEVEL:
        level = level.removeprefix("new ").replace(" of ", "/") if _COUNT.search(level) else level
    cells.append(Cell(fit(level, columns.level) + " ", "quiet" if quiet else "plain"))
    if columns.activity:
        cells.append(Cell(fit(sparkline(printed) if row.state == "running" else "", columns.activity) + " ", "work"))
    age = fit(f"for {absent[1]}" if absent[1] else "", columns.time, right=True)
    cells.append(Cell(f"{age} ", "wait") if absent[0] else _time(state, row, columns, now, spent, still))
    if columns.used:
        used = spent_of(usage_of(state, row)).removesuffix(_TOKENS)
        cells.append(Cell(fit(used, columns.used, right=True) + " ", "quiet"))
    repeats, room = repeats_of(state, row), columns.failure
    again: Tone = "bad" if repeats >= limits.get("loop", 3) else "wait"
    if columns.repeats:
        cells.append(Cell(fit(f"↻ ×{repeats}" if repeats else "", columns.repeats) + " ", again))
    elif repeats and room > _LEAST_FAILURE:
        cells.append(Cell(f"×{repeats} ", again))
        room -= len(cells[-1].text)
    if row.failovers and not columns.agent:
        name = f"{agent_mark(row)} "
        cells.append(Cell(name if width_of(name) < room - _LEAST_FAILURE else "⇄ ", "wait"))
        room -= len(cells[-1].text)
    doubts = doubts_about(row) if row.diagnosis is None or row.status == "succeeded" else ""
    doubts = collision_words(state, row) or doubts
    if doubts and row.state != "blocked":
        cells.append(Cell(fit(doubts, room), "wait"))
    else:
        cells.append(Cell(fit(problem_of(state, row, room), room), "quiet" if quiet else "plain"))
    return tuple(cells)


def state_cells(word: str, width: int, tone: Tone) -> tuple[Cell, ...]:
    """The state with the blanks around it; one that needs the person is filled."""
    if tone != "ask":
        return (Cell(f" {fit(word, width)} ", "quiet" if tone == "good" else tone),)
    chip = f" {word} "
    return Cell(chip, "chip"), Cell(" " * (width - len(chip) + 2))


def pips_of(climb: Climb, limits: Mapping[str, int]) -> str:
    """The tries of retry, new approach and research in groups, used ones filled: ``●●● ●○○ ○○``."""
    used = {"retry": climb.retries, "pivot": climb.pivots, "research": climb.research}
    tries = ((min(count, limits.get(level, 0)), limits.get(level, 0)) for level, count in used.items())
    return " ".join("●" * count + "○" * (most - count) for count, most in tries if most)


def _pips(state: State, row: TaskRow, width: int, limits: Mapping[str, int], *, has_asked: bool) -> Cell:
    if not row.attempts:
        return Cell(" " * (width + 1))
    climb = row.climb
    is_unused = not (climb.retries or climb.pivots or climb.research)
    tone: Tone = "quiet" if is_unused or row.state == "ended" else "wait" if row.level == "research" else "plain"
    tone = "ask" if needs_person(state, row) and has_asked else tone
    return Cell(fit(pips_of(row.climb, limits), width) + " ", tone)


def _is_done(state: State, need: str) -> bool:
    upstream = state.tasks.get(need)
    return upstream is not None and upstream.status == "succeeded"


def _time(state: State, row: TaskRow, columns: Columns, now: float, spent: float, still: bool) -> Cell:
    width, is_wide = columns.time, columns.time >= _WIDE_CLOCK
    left = None if still else time_left(state, row, now)
    if left is not None:
        seconds, limit = left
        tone: Tone = "bad" if seconds < 0.1 * limit else "wait" if seconds < 0.2 * limit else "work"
        text = f"▕{bar(seconds / limit, _BAR)}▏{clock(seconds):>{_CLOCK}}" if is_wide else clock(seconds)
        return Cell(fit(text, width, right=True) + " ", tone)
    text, tone = "", "quiet"
    if row.state == "backoff":
        until = "quota in" if row.backoff_quota else "outage in" if row.backoff_outage is not None else "retries in"
        text, tone = f"{until if is_wide else '…'} {clock(row.backoff_until - now)}", "wait"
    elif row.state == "running" and needs_person(state, row):
        text, tone = _STANDING.get(state.gates[row.gate].gate.standing, ""), "wait"
    elif is_held(state, row, still=still):
        text, tone = "paused", "wait"
    elif row.state == "undecided":
        text = "next step"
    elif row.state == "running" and not awaited_host(state, row):
        attempt = state.attempts.get(row.attempt)
        text = span(attempt.used(now)) if attempt is not None else ""
    elif is_checking(state, row) and spent:
        text = span(spent)
    elif row.state == "ended" and spent:
        text = f"took {span(spent)}" if is_wide else span(spent)
    return Cell(fit(text, width, right=True) + " ", tone)


def _agent_words(row: TaskRow) -> str:
    """Return the last words of an agent that failed or changed nothing, in one line."""
    return one_line(last_line(row.check.said), _WORDS) if row.check is not None and row.check.ending else ""


def problem_of(state: State, row: TaskRow, width: int) -> str:
    """The last failure of a task, or what it waits for, in ``width`` cells."""
    if row.state == "blocked":
        needs = ", ".join(need for need in row.task.needs if not _is_done(state, need))
        return f"waits for {needs}" if width_of(needs) + 10 <= width else f"for {needs}"
    if awaited := awaited_host(state, row):
        return awaited
    diagnosis = row.diagnosis
    if row.state == "ready" and diagnosis is None and state.run.state == "running":
        waits = "waits for the budget" if state.run.over else "waits for a free place"
        return "before any work" if is_checking(state, row) else waits
    if row.gate and needs_person(state, row):
        gate = state.gates[row.gate].gate
        if diagnosis is None or gate.type != "stuck":
            return asked_about(gate.type, gate.context)
    if diagnosis is None or row.status == "succeeded":
        return row.reason if row.state == "ended" else f"on {host}" if (host := host_of(state, row)) else ""
    if words := _agent_words(row):
        return f"agent: {words} · {diagnosis.headline}" if words not in diagnosis.headline else str(diagnosis.headline)
    name, where = failure_of(diagnosis)
    kind = failure_words(diagnosis.failure_type.value, diagnosis.category.value)
    if not where:
        said = str(diagnosis.headline).removeprefix(f"{name}: ")
        return _with_kind(f"{name}  {said}" if name else said, kind, width)
    room = width - len(name) - 2
    place = fit_place(where, room).rstrip()
    if name and (place.startswith("…") or room < 1):
        place = fit_place(where, room + 1).rstrip()  # one blank less may be all that it needs
        return name if place.startswith("…") and room < _PLACE else f"{name} {place}"
    return _with_kind(f"{name}  {place}".strip(), kind, width)


def problem_width(state: State, row: TaskRow) -> int:
    """The cells that the last failure of a task needs to stand there whole, without its type."""
    if words := collision_words(state, row):
        return min(_MOST, width_of(words))
    if row.state in ("blocked", "ready") or awaited_host(state, row):
        return width_of(problem_of(state, row, _MOST))
    if row.diagnosis is None and row.state != "ended":
        return min(_MOST, width_of(problem_of(state, row, _MOST)))
    if row.diagnosis is None or row.state == "ended":
        return 0
    if _agent_words(row):
        return _MOST
    name, where = failure_of(row.diagnosis)
    repeats = len(f"×{row.climb.repeats} ") if row.climb.repeats > 1 else 0
    return min(_MOST, repeats + len(name) + 2 + width_of(where or row.diagnosis.headline))


def _with_kind(text: str, kind: str, width: int) -> str:
    """``text`` with as much of the failure's type and category as there is room for."""
    fitting = (f"{text}  {part}" for part in (kind, kind.partition(", ")[0]))
    return next((whole for whole in fitting if width_of(whole) <= width), text)
