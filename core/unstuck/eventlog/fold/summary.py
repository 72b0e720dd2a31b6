"""Fold of statistics: failures by identity, results of attempts, decisions without a question.

These handlers run after all others and change nothing that a next step depends on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import DECISIONS, decider
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.rows import Handlers, change_attempt, on
from unstuck.eventlog.state import State
from unstuck.eventlog.summary_rows import RUNGS, Decided, Page, SignatureRow

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)
_TEXT = 300
_TASKS = 200


@_on(e.AttemptStarted)
def _attempt_started(state: State, record: Record, event: e.AttemptStarted) -> None:
    row = state.tasks.get(record.task)
    if row is not None:
        told = {"retry": row.climb.told_retries, "pivot": row.climb.told_pivots, "research": row.climb.told_research}
        change_attempt(state, event.guidance.attempt, turn=told.get(event.guidance.level, 0))


@_on(e.CheckFinished)
def _check_finished(state: State, record: Record, event: e.CheckFinished) -> None:
    row = state.tasks.get(record.task)
    if row is None:
        return
    diagnosis = row.diagnosis
    if event.result == "passed":
        change_attempt(state, record.attempt, check="passed")
        if diagnosis is not None:
            _worked(state, record, diagnosis.identity)
    elif diagnosis is None or not event.diagnosis:
        change_attempt(state, record.attempt, check=event.result, headline=event.problem[:_TEXT])
    else:
        headline = diagnosis.headline[:_TEXT]
        change_attempt(state, record.attempt, check=event.result, signature=diagnosis.identity, headline=headline)
        error_type, location = diagnosis.signature.error_type.value, diagnosis.signature.location or ""
        _occurred(
            state,
            record,
            diagnosis.identity,
            headline,
            error_type,
            location,
            failure_type=diagnosis.failure_type.value,
            category=diagnosis.category.value,
        )


@_on(e.StepRecorded)
def _step_recorded(state: State, record: Record, event: e.StepRecorded) -> None:
    if event.kind == "failure" and event.identity:
        headline = event.headline or event.text.strip().partition("\n")[0]
        _occurred(state, record, event.identity, headline[:_TEXT], event.error_type, event.location)


@_on(e.DirectiveIssued)
def _directive_issued(state: State, record: Record, event: e.DirectiveIssued) -> None:
    _reached(state, record, event.level)


@_on(e.OutageWait)
@_on(e.TransientErrorRetry)
def _waits(state: State, record: Record, event: e.Event) -> None:
    _reached(state, record, "waits")


@_on(e.GateOpened)
def _gate_opened(state: State, record: Record, event: e.GateOpened) -> None:
    row = state.gates[event.gate]
    if not record.task:
        holds = tuple(task.id for task in state.tasks.values() if task.state in ("running", "parked"))
    else:
        holds = () if event.standing == "runs_on" else (record.task,)
    state.gates[event.gate] = replace(row, holds=holds)
    identity = str(event.context.get("signature") or event.context.get("error_signature") or "")
    _reached(state, record, "asked", identity)


@_on(e.CheckpointCreated)
def _checkpoint_created(state: State, record: Record, event: e.CheckpointCreated) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.attempt and event.id != "none":
        change_attempt(state, row.attempt, checkpoint=event.id)


@_on(e.NotificationSent)
def _notified(state: State, record: Record, event: e.NotificationSent) -> None:
    state.pages[record.seq] = Page(time=record.time, tasks=event.tasks)


def note_decision(state: State, record: Record) -> None:
    """Keep a decision without a person; the answer of a question stays with its row."""
    if record.name not in DECISIONS or isinstance(record.event, e.GateAnswered):
        return
    by = decider(record)
    if by is not None:
        state.decided[record.seq] = Decided(time=record.time, event=record.name, by=by, task=record.task)


def _occurred(
    state: State,
    record: Record,
    identity: str,
    headline: str,
    error_type: str = "",
    location: str = "",
    *,
    failure_type: str = "",
    category: str = "",
) -> None:
    row = state.signatures.get(identity) or SignatureRow(identity=identity, first=record.time, last=record.time)
    known = len(row.tasks) >= _TASKS or record.task in row.tasks
    state.signatures[identity] = replace(
        row,
        last=record.time,
        count=row.count + 1,
        tasks=row.tasks if known else (*row.tasks, record.task),
        error_type=error_type or row.error_type,
        headline=headline or row.headline,
        location=location or row.location,
        failure_type=failure_type or row.failure_type,
        category=category or row.category,
    )


def _reached(state: State, record: Record, rung: str, identity: str = "") -> None:
    task = state.tasks.get(record.task)
    diagnosis = task.diagnosis if task is not None else None
    row = state.signatures.get(identity or (diagnosis.identity if diagnosis is not None else ""))
    if row is not None and rung in RUNGS and RUNGS.index(rung) > RUNGS.index(row.rung):
        state.signatures[row.identity] = replace(row, rung=rung)


def _worked(state: State, record: Record, identity: str) -> None:
    """Record the guidance of the attempt that passed as the resolution of the failure."""
    row, attempt = state.signatures.get(identity), state.attempts.get(record.attempt)
    if row is None or attempt is None:
        return
    guidance = attempt.guidance
    said = guidance.approach or (attempt.report.approach if attempt.report is not None else None)
    for gate in guidance.answers:
        answer = state.gates[gate].answer if gate in state.gates else None
        said = answer.text if answer is not None and answer.text else said
    word = {"first": "again", "human": "your answer", "continue": "a new session"}.get(guidance.level, guidance.level)
    state.signatures[identity] = replace(row, worked=f"{word}: {said[:_TEXT]}" if said else word)
