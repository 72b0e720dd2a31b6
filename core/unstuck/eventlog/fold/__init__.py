"""The fold: applies a record to the state. Pure and total; it never diagnoses, detects or decides.

A record that does not fit the state (a stale attempt id, an answer to a closed gate) changes nothing.
"""

from __future__ import annotations

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import clock, decision, gate, run, summary, task
from unstuck.eventlog.state import State

__all__ = ["fold"]

_HANDLERS = {**clock.HANDLERS, **decision.HANDLERS, **gate.HANDLERS, **run.HANDLERS, **task.HANDLERS}


def fold(state: State, record: Record) -> None:
    """Apply one record to ``state``."""
    handler = _HANDLERS.get(type(record.event))
    state.seq = record.seq
    if handler is not None:
        handler(state, record, record.event)
    elif isinstance(record.event, e.Unknown):
        state.unknown += 1
    noted = summary.HANDLERS.get(type(record.event))
    if noted is not None:
        noted(state, record, record.event)
    summary.note_decision(state, record)
    state.mono = record.mono
