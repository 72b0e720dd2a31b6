"""What every part of the fold does to rows: change a task, an attempt or a gate, end a task, withdraw its gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import Event
from unstuck.eventlog.state import State

__all__ = [
    "Handler",
    "Handlers",
    "change_attempt",
    "change_gate",
    "change_task",
    "end_task",
    "is_current",
    "on",
    "open_gate",
    "withdraw",
]

Handler = Callable[[State, Record, Any], None]
Handlers = dict[type[Any], Handler]


def on(handlers: Handlers, event: type[Event]) -> Callable[[Handler], Handler]:
    """Enter the decorated function into ``handlers`` as what ``event`` does to the state."""

    def register(handler: Handler) -> Handler:
        handlers[event] = handler
        return handler

    return register


def change_task(state: State, record: Record, /, **changes: Any) -> None:
    """Change the record's task, unless it has ended."""
    row = state.tasks.get(record.task)
    if row is not None and row.state != "ended":
        state.tasks[record.task] = replace(row, changed=record.seq, **changes)


def end_task(state: State, record: Record, /, **changes: Any) -> None:
    """End the record's task; what was still asked about it has lost its cause."""
    change_task(state, record, state="ended", gate="", directive=None, **changes)
    withdraw(state, record, record.task)


def change_attempt(state: State, attempt: str, /, **changes: Any) -> None:
    """Change an attempt, if there is one of this id."""
    row = state.attempts.get(attempt)
    if row is not None:
        state.attempts[attempt] = replace(row, **changes)


def change_gate(state: State, gate: str, /, **changes: Any) -> None:
    """Change a gate, if there is one of this id."""
    row = state.gates.get(gate)
    if row is not None:
        state.gates[gate] = replace(row, gate=replace(row.gate, **changes))


def is_current(state: State, record: Record) -> bool:
    """The record is about the attempt that its task runs at the moment."""
    row = state.tasks.get(record.task)
    return row is not None and row.attempt == record.attempt and row.state == "running"


def open_gate(state: State, task: str) -> str:
    """The oldest gate of the task that is still open; empty where none is."""
    return next((row.id for row in state.open_gates() if row.gate.task == task), "")


def withdraw(state: State, record: Record, task: str) -> None:
    """Close what is still open of the task: its cause is gone."""
    for row in state.open_gates():
        if row.gate.task == task:
            state.gates[row.id] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)
