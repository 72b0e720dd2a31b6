"""Fold of clocks, countdowns of questions, usage and budgets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.rows import Handlers, change_attempt, change_gate, on
from unstuck.eventlog.state import AttemptRow, AttemptState, State

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)
WARN_SHARE = 0.8


def hold(state: State, attempt: str, mono: float) -> None:
    """Pause the clocks of an attempt."""
    row = state.attempts.get(attempt)
    if row is not None and row.is_live:
        state.attempts[attempt] = replace(
            row, state="held", held_since=mono if row.held_since is None else row.held_since
        )


def release(state: State, attempt: str, mono: float, into: AttemptState = "live") -> None:
    """Continue the clocks of an attempt. The time it was held does not count."""
    row = state.attempts.get(attempt)
    if row is None or not row.is_live:
        return
    held = 0.0 if row.held_since is None else max(0.0, mono - row.held_since)
    state.attempts[attempt] = replace(_shifted(row, held), state=into, held_since=None)


def exclude(state: State, attempt: str, since: float, mono: float) -> None:
    """Exclude the time from ``since`` to ``mono`` from the clocks of an attempt, also if a question held it."""
    row = state.attempts[attempt]
    end = mono if row.held_since is None else min(mono, row.held_since)
    excluded = max(0.0, end - max(since, row.started))
    state.attempts[attempt] = _shifted(row, excluded)


def _shifted(row: AttemptRow, held: float) -> AttemptRow:
    """Return the attempt with its time limit ``held`` seconds later."""
    return replace(
        row,
        held=row.held + held,
        deadline=None if row.deadline is None else row.deadline + held,
        warn_at=None if row.warn_at is None else row.warn_at + held,
    )


def extend(state: State, attempt: str, mono: float, seconds: float | None) -> None:
    """Give an attempt ``seconds`` from now, or from its release if held; no ``seconds`` removes the limit."""
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
        tokens, written = row.tokens + event.tokens, row.written + event.written
        change_attempt(state, row.id, tokens=tokens, written=written, cost=_added(row.cost, event.cost))


def _added(cost: float | None, more: float | None) -> float | None:
    return cost if more is None else (cost or 0.0) + more


@_on(e.BudgetSet)
def _budget_set(state: State, record: Record, event: e.BudgetSet) -> None:
    warned = tuple(kind for kind in state.run.warned if kind not in event.limits)
    state.run = replace(state.run, limits={**state.run.limits, **event.limits}, warned=warned, over="")
    _release_all(state, record)


@_on(e.BudgetWarned)
def _budget_warned(state: State, record: Record, event: e.BudgetWarned) -> None:
    state.run = replace(state.run, warned=(*state.run.warned, event.kind))


@_on(e.BudgetReached)
def _budget_reached(state: State, record: Record, event: e.BudgetReached) -> None:
    state.run = replace(state.run, over=event.kind)
    for row in list(state.attempts.values()):
        if row.state in ("starting", "live"):
            hold(state, row.id, record.mono)


def _release_all(state: State, record: Record) -> None:
    """Release the attempts that only the budget held."""
    for row in list(state.attempts.values()):
        task = state.tasks.get(row.task)
        if row.state == "held" and not (task is not None and task.gate):
            release(state, row.id, record.mono)


def budget_answered(state: State, record: Record, event: e.GateAnswered, kind: str) -> None:
    """Raise the budget ``kind`` (tokens, cost, time), or stop the run."""
    run = state.run
    change_gate(state, event.gate, status="delivered")
    if event.effect == "stop":
        state.run = replace(run, state="draining", stopping="budget")
    elif event.number:
        more = max(run.limits.get(kind, 0.0), run.used(kind, record.mono)) + event.number
        warned = tuple(other for other in run.warned if other != kind)
        state.run = replace(run, limits={**run.limits, kind: more}, warned=warned, over="")
        _release_all(state, record)


@_on(e.TimerStarted)
def _timer_started(state: State, record: Record, event: e.TimerStarted) -> None:
    change_gate(state, event.gate, acts_at=record.mono + event.seconds)


@_on(e.TimerCancelled)
def _timer_cancelled(state: State, record: Record, event: e.TimerCancelled) -> None:
    change_gate(state, event.gate, acts_at=None)


def stop_run_clock(state: State, record: Record) -> None:
    """Pause the clock of the run."""
    state.run = replace(state.run, worked=state.run.used("time", record.mono), since=None)
