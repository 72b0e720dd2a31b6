"""What a run's record comes to now: its snapshot, and the records that came after it.

A run that has come to an end is all in its snapshot, so whoever only looks at it needs no events at all.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from unstuck import __version__
from unstuck.errors import RecordDamaged
from unstuck.eventlog.log.log_format import START, Line, Position, holds, read_lines
from unstuck.eventlog.log.snapshot import load as load_snapshot
from unstuck.eventlog.state import FOLD, State, load

__all__ = ["BY_US", "CHECKED", "LOG_NAME", "SNAPSHOT_NAME", "Restored", "current_state", "restored"]

LOG_NAME = "events.jsonl"
SNAPSHOT_NAME = "state.json"
CHECKED = 16 * 1024 * 1024
"""Bytes of a log that are checked by their checksums even where a snapshot stands for them; `verify` checks all."""
BY_US = b'{"version":"%b","fold":%d,"state":' % (__version__.encode(), FOLD)
"""How the state in a snapshot begins. Another version folds the same records into other rows: its own are not used."""


class Restored(NamedTuple):
    """What a snapshot gives: the ``state`` at a ``position`` of its log, and the number of a record that was synced."""

    state: State
    position: Position
    safe: int


def restored(snapshot: Path, log: Path) -> Restored:
    """What the snapshot beside a log gives; where it cannot be trusted the state at the log's beginning.

    A snapshot is only made of what was synced, so even one that does not fit its log any more tells how far that went.
    """
    found = load_snapshot(snapshot)
    if found is None:
        return Restored(State(), START, 0)
    ours = log.exists() and holds(log, found.position) and found.state.startswith(BY_US)
    state = load(found.state[len(BY_US) : -1]) if ours else None
    if state is None or state.seq != found.seq:
        return Restored(State(), START, found.seq)
    return Restored(state, found.position, found.seq)


def current_state(folder: Path, *, whole: bool = False) -> tuple[State, RecordDamaged | None]:
    """Return the state of the run in ``folder`` and the damage of its log, if any; the state stops at the damage.

    In a log longer than ``CHECKED`` bytes, records that the snapshot covers are only checked with ``whole``. Raises
    RecordError where the log cannot be read.
    """
    path = folder / LOG_NAME
    state, place, safe = restored(folder / SNAPSHOT_NAME, path)
    begin = place if place.offset > CHECKED and not whole else START
    try:
        for line in read_lines(path, start=begin, safe=safe):
            if line.seq > place.seq:
                _fold(state, path, line)
    except RecordDamaged as damage:
        return (state if damage.line > place.seq else _up_to(path, damage.line)), damage
    return state, None


def _up_to(path: Path, damaged: int) -> State:
    """The state before record ``damaged``, from the log alone."""
    state = State()
    with suppress(RecordDamaged):
        for line in read_lines(path):
            if line.seq >= damaged:
                break
            _fold(state, path, line)
    return state


def _fold(state: State, path: Path, line: Line) -> None:
    from unstuck.eventlog.fold import fold  # brings all the events
    from unstuck.eventlog.log.records import decoded

    fold(state, decoded(path, line))
