"""The fold: a record changes the state. Pure and total; it never diagnoses, detects or decides.

A record that does not fit the state (a stale attempt id, an answer to a closed gate) changes nothing.
"""

from __future__ import annotations

from unstuck.record import events as e
from unstuck.record.envelope import Record
from unstuck.record.fold import clock, decision, gate, run, seen, task
from unstuck.record.state import State

__all__ = ["fold"]

_HANDLERS = {**clock.HANDLERS, **decision.HANDLERS, **gate.HANDLERS, **run.HANDLERS, **task.HANDLERS}


def fold(state: State, record: Record) -> None:
    """Change ``state`` by one record."""
    handler = _HANDLERS.get(type(record.event))
    state.seq = record.seq
    if handler is not None:
        handler(state, record, record.event)
    elif isinstance(record.event, e.Unknown):
        state.unknown += 1
    noted = seen.HANDLERS.get(type(record.event))
    if noted is not None:
        noted(state, record, record.event)
    state.mono = record.mono
