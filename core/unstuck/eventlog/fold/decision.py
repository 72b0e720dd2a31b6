"""Fold of decisions about a failure and of the actions that follow them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from unstuck.contract import Guidance
from unstuck.escalation.ladder_state import LOADS
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.clock import release
from unstuck.eventlog.fold.rows import Handlers, change_gate, change_task, is_current, on
from unstuck.eventlog.state import DirectiveRow, Failover, Standing, State

FAILURES_KEPT = 8
HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)


@_on(e.DirectiveIssued)
def _directive_issued(state: State, record: Record, event: e.DirectiveIssued) -> None:
    directive = DirectiveRow(
        level=event.level,
        hint=event.hint,
        approach=event.approach,
        fresh=event.fresh,
        restore=event.restore,
        checkpoint=event.checkpoint,
        reason=event.reason,
        line=event.line,
        answer=event.answer,
        answers=event.answers,
        command=event.command,
        approaches=event.approaches,
    )
    change_task(state, record, state="preparing", directive=directive, climb=event.climb, prepared=None, chosen="")
    row = state.tasks.get(record.task)
    if row is not None and event.answers:
        change_task(state, record, paid=row.attempts)
    if row is not None and event.level == "retry" and row.diagnosis is not None:
        change_task(state, record, failures=(*row.failures, row.diagnosis)[-FAILURES_KEPT:])
    elif event.level != "continue":
        # Failures count only for the approach that they occurred with.
        change_task(state, record, failures=())


@_on(e.RungChosen)
def _rung_chosen(state: State, record: Record, event: e.RungChosen) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state == "ended":
        return
    change_task(state, record, chosen=event.level)
    if row.state == "running":
        release(state, row.attempt, record.mono, "stopping")
    elif row.state == "backoff":
        change_task(state, record, state="undecided")


@_on(e.TransientErrorRetry)
def _transient(state: State, record: Record, event: e.TransientErrorRetry) -> None:
    _back_off(state, record, event, quota=event.quota, check=event.check_alone)


@_on(e.OutageWait)
def _outage_wait(state: State, record: Record, event: e.OutageWait) -> None:
    _back_off(state, record, event, outage=event.limit_seconds - event.waited_seconds - event.delay_seconds)


def _back_off(
    state: State,
    record: Record,
    event: e.TransientErrorRetry | e.OutageWait,
    *,
    quota: bool = False,
    check: bool = False,
    outage: float | None = None,
) -> None:
    change_task(
        state,
        record,
        state="backoff",
        climb=event.climb,
        backoff_until=record.mono + event.delay_seconds,
        backoff_delay=event.delay_seconds,
        backoff_quota=quota,
        backoff_check=check,
        backoff_outage=outage,
        backoff_since=record.time,
    )


@_on(e.BackoffOver)
def _backoff_over(state: State, record: Record, event: e.BackoffOver) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.state == "backoff" and row.backoff_check:
        change_task(state, record, state="judging", check=None, prepared=None)
    elif row is not None and row.state == "backoff":
        change_task(
            state, record, state="preparing", directive=DirectiveRow(level="first", reason="transient"), prepared=None
        )


@_on(e.TransientErrorResolved)
def _transient_resolved(state: State, record: Record, event: e.TransientErrorResolved) -> None:
    row = state.tasks.get(record.task)
    if row is not None:
        change_task(state, record, climb=replace(row.climb, waited=0, outage=0.0))


@_on(e.TransientErrorEscalated)
def _transient_escalated(state: State, record: Record, event: e.TransientErrorEscalated) -> None:
    change_task(state, record, state="undecided", climb=event.climb)


@_on(e.AgentFailure)
def _agent_failure(state: State, record: Record, event: e.AgentFailure) -> None:
    directive = DirectiveRow(level="first", reason=event.error_type)
    change_task(state, record, state="preparing", directive=directive, climb=event.climb, prepared=None)


@_on(e.AgentReplaced)
def _agent_replaced(state: State, record: Record, event: e.AgentReplaced) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state == "ended":
        return
    why = event.why or event.reason
    change = Failover(before=event.before, agent=event.agent, reason=event.reason, why=why, attempts=row.attempts)
    directive = DirectiveRow(
        level="continue", fresh=True, checkpoint="progress", restore=event.restore, instead_of=event.before
    )
    change_task(
        state,
        record,
        state="preparing",
        task=replace(row.task, agent=event.agent, agent_type=event.agent_type),
        failovers=(*row.failovers, change),
        directive=directive,
        climb=event.climb,
        prepared=None,
        session=None,
        failures=(),
        chosen="",
    )


def _prepare(state: State, record: Record, /, **changes: Any) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.directive is not None and row.state == "preparing":
        change_task(state, record, directive=replace(row.directive, **changes))


@_on(e.CheckpointCreated)
def _checkpoint_created(state: State, record: Record, event: e.CheckpointCreated) -> None:
    if event.purpose == "baseline":
        change_task(state, record, baseline=event.id, good=event.id, loads="", saved_at=record.seq, baseline_check=None)
        change_task(state, record, files=Standing(checkpoint="" if event.id == "none" else event.id))
    elif event.purpose == "good":
        if event.id != "none":  # a failed save keeps the checkpoint before
            change_task(state, record, good=event.id, loads=event.id)
    elif event.purpose == "question":
        _saved_for_question(state, record, event)
    elif event.purpose == "directive":
        _saved_as_directed(state, record, event)


def _saved_as_directed(state: State, record: Record, event: e.CheckpointCreated) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.directive is not None and event.id != "none" and row.directive.checkpoint == LOADS:
        change_task(state, record, loads=event.id)
    _prepare(state, record, saved=event.id, progress=event.progress)


def _saved_for_question(state: State, record: Record, event: e.CheckpointCreated) -> None:
    """Enter the checkpoint into the questions about a live attempt, or into the task for any other question."""
    if not is_current(state, record):
        change_task(state, record, saved=event.id)
        task = state.tasks.get(record.task)
        if task is not None and task.state == "interrupted":
            change_task(state, record, left=event.progress)
        return
    saved = {"checkpoint": "", "not_saved": event.reason} if event.id == "none" else {"checkpoint": event.id}
    for row in state.gates_of(record.task):
        stands = row.gate.attempt == record.attempt and row.gate.standing in ("held", "frozen")
        if stands and "checkpoint" not in row.gate.context:
            change_gate(state, row.id, context={**row.gate.context, **saved})


@_on(e.RestoreDone)
def _restore_done(state: State, record: Record, event: e.RestoreDone) -> None:
    _prepare(state, record, restored=event.target, restored_note=event.note)
    if event.target:
        change_task(state, record, files=Standing(checkpoint=event.target))


@_on(e.CommandRan)
def _command_ran(state: State, record: Record, event: e.CommandRan) -> None:
    _prepare(state, record, ran=event.note)


@_on(e.ResearchDone)
def _research_done(state: State, record: Record, event: e.ResearchDone) -> None:
    row = state.tasks.get(record.task)
    if row is not None:
        change_task(state, record, climb=replace(row.climb, insights=event.insights))
        _prepare(state, record, insights=event.insights)


@_on(e.DirectivePrepared)
def _directive_prepared(state: State, record: Record, event: e.DirectivePrepared) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state != "preparing":
        return
    guidance = Guidance(
        attempt="",
        number=0,
        level=event.level,
        text=event.text,
        workdir=Path(),
        approach=event.approach,
        session=event.session,
        answers=event.answers,
        ways=event.ways,
    )
    change_task(state, record, state="ready", prepared=guidance, directive=None)
