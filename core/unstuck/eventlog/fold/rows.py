"""Row changes shared by all parts of the fold, and the registry of event handlers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import Event
from unstuck.eventlog.state import State

Handler = Callable[[State, Record, Any], None]
Handlers = dict[type[Any], Handler]


def on(handlers: Handlers, event: type[Event]) -> Callable[[Handler], Handler]:
    """Register the decorated function in ``handlers`` as the handler of ``event``."""

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
    """End the record's task and withdraw its questions."""
    change_task(state, record, state="ended", gate="", directive=None, **changes)
    withdraw(state, record, record.task)


def change_attempt(state: State, attempt: str, /, **changes: Any) -> None:
    """Change an attempt, if there is one of this id."""
    row = state.attempts.get(attempt)
    if row is not None:
        state.attempts[attempt] = replace(row, **changes)


def change_gate(state: State, gate: str, /, **changes: Any) -> None:
    """Change a gate, if there is one of this id; the status of an open one does not change before its answer."""
    row = state.gates.get(gate)
    if row is not None and not ("status" in changes and row.status == "open"):
        state.gates[gate] = replace(row, gate=replace(row.gate, **changes))


def is_current(state: State, record: Record) -> bool:
    """Return whether the record is about the attempt that its task runs now."""
    row = state.tasks.get(record.task)
    return row is not None and row.attempt == record.attempt and row.state == "running"


def open_gate(state: State, task: str) -> str:
    """Return the oldest open gate of the task, empty without one."""
    return next((row.id for row in state.open_gates() if row.gate.task == task), "")


def withdraw(state: State, record: Record, task: str) -> None:
    """Withdraw the open gates of the task."""
    for row in state.open_gates():
        if row.gate.task == task:
            state.gates[row.id] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)
