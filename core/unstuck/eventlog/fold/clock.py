"""Time and what is used up: clocks, timers of gates, budgets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.rows import Handlers, change_attempt, change_gate, on
from unstuck.eventlog.state import AttemptState, State

__all__ = ["HANDLERS", "WARN_SHARE", "budget_answered", "close_time", "extend", "hold", "let_go", "not_counted"]

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)
WARN_SHARE = 0.8


def hold(state: State, attempt: str, mono: float) -> None:
    """Its clocks stand from now on."""
    row = state.attempts.get(attempt)
    if row is not None and row.is_live:
        state.attempts[attempt] = replace(
            row, state="held", held_since=mono if row.held_since is None else row.held_since
        )


def let_go(state: State, attempt: str, mono: float, into: AttemptState = "live") -> None:
    """Its clocks go on: the time that it was held does not count."""
    row = state.attempts.get(attempt)
    if row is None or not row.is_live:
        return
    held = 0.0 if row.held_since is None else max(0.0, mono - row.held_since)
    state.attempts[attempt] = replace(
        row,
        state=into,
        held_since=None,
        held=row.held + held,
        deadline=None if row.deadline is None else row.deadline + held,
        warn_at=None if row.warn_at is None else row.warn_at + held,
    )


def not_counted(state: State, attempt: str, since: float, mono: float) -> None:
    """Its clocks stood from ``since`` to ``mono``, whether or not a question held it for a part of that time."""
    row = state.attempts[attempt]
    end = mono if row.held_since is None else min(mono, row.held_since)
    stood = max(0.0, end - max(since, row.started))
    state.attempts[attempt] = replace(
        row,
        held=row.held + stood,
        deadline=None if row.deadline is None else row.deadline + stood,
        warn_at=None if row.warn_at is None else row.warn_at + stood,
    )


def extend(state: State, attempt: str, mono: float, seconds: float | None) -> None:
    """More time from now on, or from when nothing holds it any more; without ``seconds`` it has no limit."""
    row = state.attempts.get(attempt)
    if row is None:
        return
    held = 0.0 if row.held_since is None else max(0.0, mono - row.held_since)
    row = replace(row, held=row.held + held, held_since=None if row.held_since is None else mono)
    if seconds:
        limit = row.limit + seconds
        row = replace(row, limit=limit, deadline=mono + seconds, warn_at=mono + WARN_SHARE * seconds)
    else:
        row = replace(row, deadline=None, warn_at=None)
    state.attempts[attempt] = row


@_on(e.AgentTimeout)
def _agent_timeout(state: State, record: Record, event: e.AgentTimeout) -> None:
    change_attempt(state, record.attempt, timed_out=event.clock)


@_on(e.TimeoutWarned)
def _timeout_warned(state: State, record: Record, event: e.TimeoutWarned) -> None:
    if event.clock == "wall":
        change_attempt(state, record.attempt, warn_at=None)


@_on(e.UsageCounted)
def _usage_counted(state: State, record: Record, event: e.UsageCounted) -> None:
    run = state.run
    state.run = replace(run, tokens=run.tokens + event.tokens, cost=_added(run.cost, event.cost))
    row = state.attempts.get(record.attempt)
    if row is not None:
        change_attempt(state, row.id, tokens=row.tokens + event.tokens, cost=_added(row.cost, event.cost))


def _added(cost: float | None, more: float | None) -> float | None:
    return cost if more is None else (cost or 0.0) + more


@_on(e.BudgetSet)
def _budget_set(state: State, record: Record, event: e.BudgetSet) -> None:
    warned = tuple(kind for kind in state.run.warned if kind not in event.limits)
    state.run = replace(state.run, limits={**state.run.limits, **event.limits}, warned=warned, over="")
    _let_all_go(state, record)


@_on(e.BudgetWarned)
def _budget_warned(state: State, record: Record, event: e.BudgetWarned) -> None:
    state.run = replace(state.run, warned=(*state.run.warned, event.kind))


@_on(e.BudgetReached)
def _budget_reached(state: State, record: Record, event: e.BudgetReached) -> None:
    state.run = replace(state.run, over=event.kind)
    for row in list(state.attempts.values()):
        if row.state in ("starting", "live"):
            hold(state, row.id, record.mono)


def _let_all_go(state: State, record: Record) -> None:
    """What only the budget has held goes on."""
    for row in list(state.attempts.values()):
        task = state.tasks.get(row.task)
        if row.state == "held" and not (task is not None and task.gate):
            let_go(state, row.id, record.mono)


def budget_answered(state: State, record: Record, event: e.GateAnswered, kind: str) -> None:
    """More of the budget ``kind`` (tokens, cost, time), or the run stops."""
    run = state.run
    change_gate(state, event.gate, status="delivered")
    if event.effect == "stop":
        state.run = replace(run, state="draining", stopping="budget")
    elif event.number:
        more = max(run.limits.get(kind, 0.0), run.used(kind, record.mono)) + event.number
        warned = tuple(other for other in run.warned if other != kind)
        state.run = replace(run, limits={**run.limits, kind: more}, warned=warned, over="")
        _let_all_go(state, record)


@_on(e.TimerStarted)
def _timer_started(state: State, record: Record, event: e.TimerStarted) -> None:
    change_gate(state, event.gate, acts_at=record.mono + event.seconds)


@_on(e.TimerCancelled)
def _timer_cancelled(state: State, record: Record, event: e.TimerCancelled) -> None:
    change_gate(state, event.gate, acts_at=None)


def close_time(state: State, record: Record) -> None:
    """The run's own clock stands from now on."""
    state.run = replace(state.run, worked=state.run.used("time", record.mono), since=None)
