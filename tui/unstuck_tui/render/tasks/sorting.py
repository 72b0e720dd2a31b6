"""The filter and the order of a task table. Pure."""

from __future__ import annotations

from typing import Literal, get_args

from unstuck.eventlog.state import State, TaskRow
from unstuck.words.labels import failure_of, needs_person, time_left, word_of

Sorting = Literal["plan", "state", "time", "name"]
_URGENCY = ("interrupted", "running", "judging", "undecided", "preparing", "backoff", "parked", "ready", "blocked")


def next_sorting(sorting: Sorting) -> Sorting:
    """The order after this one, round and round."""
    every: tuple[Sorting, ...] = get_args(Sorting)
    return every[(every.index(sorting) + 1) % len(every)]


def arranged(state: State, words: str, sorting: Sorting, *, now: float) -> list[str]:
    """The ids of the tasks that pass the filter ``words``, in order. ``now`` is monotonic seconds."""
    rows = [row for row in state.tasks.values() if _passes(state, row, words)]
    if sorting == "name":
        rows.sort(key=lambda row: row.id)
    elif sorting == "state":
        rows.sort(key=lambda row: _urgency(state, row))
    elif sorting == "time":
        rows.sort(key=lambda row: (time_left(state, row, now) or (float("inf"), 0.0))[0])
    return [row.id for row in rows]


def matches(words: str, text: str) -> bool:
    """True for a ``text`` with all these words; where they begin with ``!``, for one without them."""
    inverse = words.startswith("!")
    wanted, text = words.removeprefix("!").lower().split(), text.lower()
    return not wanted or all(word in text for word in wanted) != inverse


def _passes(state: State, row: TaskRow, words: str) -> bool:
    if not words:
        return True
    failure = (row.diagnosis.headline, *failure_of(row.diagnosis)) if row.diagnosis else ()
    text = " ".join((row.id, row.task.agent, row.task.agent_type, word_of(state, row), row.level, *failure))
    return matches(words, text)


def _urgency(state: State, row: TaskRow) -> int:
    if needs_person(state, row):
        return -1
    return _URGENCY.index(row.state) if row.state in _URGENCY else len(_URGENCY)
