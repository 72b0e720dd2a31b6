"""Row changes shared by all parts of the fold, and the registry of event handlers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import Event
from unstuck.eventlog.state import AttemptRow, State, TaskRow

Row = TypeVar("Row", TaskRow, AttemptRow, Record)
Handler = Callable[[State, Record, Any], None]
Handlers = dict[type[Any], Handler]


def on(handlers: Handlers, event: type[Event]) -> Callable[[Handler], Handler]:
    """Register the decorated function in ``handlers`` as the handler of ``event``."""

    def register(handler: Handler) -> Handler:
        handlers[event] = handler
        return handler

    return register


def changed(row: Row, /, **changes: Any) -> Row:
    """Return a copy of ``row`` with ``changes``: ``replace`` in a third of its time, since no constructor is called."""
    kind: Any = type(row)
    values, slots = _slots(kind)
    copy: Row = object.__new__(kind)
    for put, value in zip(slots.values(), values(row), strict=True):
        put(copy, value)
    for name, value in changes.items():
        slots[name](copy, value)
    return copy


@cache
def _slots(kind: Any) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, Callable[[Any, Any], None]]]:
    """Return how all fields of a row of this kind are read, and how each is set."""
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: getattr(kind, name).__set__ for name in names}


def change_task(state: State, record: Record, /, **changes: Any) -> None:
    """Change the record's task, unless it has ended."""
    row = state.tasks.get(record.task)
    if row is not None and row.state != "ended":
        state.tasks[record.task] = changed(row, changed=record.seq, **changes)


def end_task(state: State, record: Record, /, **changes: Any) -> None:
    """End the record's task and withdraw its questions."""
    change_task(state, record, state="ended", gate="", directive=None, **changes)
    withdraw(state, record, record.task)


def change_attempt(state: State, attempt: str, /, **changes: Any) -> None:
    """Change an attempt, if there is one of this id."""
    row = state.attempts.get(attempt)
    if row is not None:
        state.attempts[attempt] = changed(row, **changes)


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
    return next((row.id for row in state.gates_of(task) if row.status == "open"), "")


def withdraw(state: State, record: Record, task: str) -> None:
    """Withdraw the open gates of the task."""
    for row in state.gates_of(task):
        if row.status == "open":
            state.gates[row.id] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)
