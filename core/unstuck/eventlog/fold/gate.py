"""Fold of questions and answers into their task and attempt."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from unstuck.contract import (
    ACCEPT_CHANGES,
    AGENT,
    BELIEVE_CHECK,
    CONTRADICTED,
    DENIED,
    DISTRUST_CHECK,
    EDIT_CHECK,
    HELD,
    IN_WAIT,
    OUTAGE_LASTS,
    QUOTA,
    WEAKENED,
    Answer,
    Gate,
)
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.clock import budget_answered, exclude, extend, hold, release
from unstuck.eventlog.fold.rows import Handlers, change_attempt, change_gate, change_task, on, open_gate, withdraw
from unstuck.eventlog.state import DirectiveRow, GateRow, Standing, State, TaskRow

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)


@_on(e.GateOpened)
def _gate_opened(state: State, record: Record, event: e.GateOpened) -> None:
    gate = Gate(
        id=event.gate,
        type=event.type,
        task=record.task,
        key=event.key,
        context=event.context,
        choices=event.choices,
        attempt=event.attempt_id or None,
        standing=event.standing,
    )
    state.gates[event.gate] = GateRow(gate=gate, opened=record.time, since=record.mono, report=event.report)
    row = state.tasks.get(record.task)
    if row is None:
        return
    if row.state == "running":
        hold(state, row.attempt, record.mono - event.stood_s)
        change_task(state, record, gate=event.gate)
    elif row.state == "interrupted" and event.type == "recovery":
        change_task(state, record, gate=event.gate)
    elif row.state in ("undecided", "preparing", "judging", "parked", "backoff") or _keeps_from_starting(row, event):
        change_task(state, record, state="waiting", gate=event.gate, directive=row.directive)


def _keeps_from_starting(row: TaskRow, event: e.GateOpened) -> bool:
    """Return whether the question blocks the next attempt: no disk space, or a person holds the task."""
    return (row.state == "ready" and event.type == "disk") or (
        row.state in ("ready", "blocked") and (event.type, event.key) == ("question", HELD)
    )


@_on(e.GateAnswered)
def _gate_answered(state: State, record: Record, event: e.GateAnswered) -> None:
    row = state.gates.get(event.gate)
    if row is None or row.status != "open":
        return
    _exclude_disk_wait(state, record, row)
    answer = Answer(choice=event.choice, text=event.text, number=event.number, scope=event.scope)  # type: ignore[arg-type]
    gate = replace(row.gate, status="answered", answer=answer, by=record.actor, acts_at=None)
    state.gates[event.gate] = replace(
        row, gate=gate, closed=record.time, effect=event.effect, rule=event.rule, via=event.via
    )
    if row.gate.type == "budget":
        budget_answered(state, record, event, row.gate.key)
    if event.choice == "choose" and row.gate.context.get("error_type") == CONTRADICTED:
        _settle_check(state, record, event, str(row.gate.context.get("check", "")))
    task = state.tasks.get(row.gate.task)
    if task is not None and event.choice == "choose" and row.gate.context.get("error_type") == WEAKENED:
        paths = tuple(map(str, row.gate.context.get("paths") or ()))
        accepts = event.number == ACCEPT_CHANGES
        task = replace(task, accepted=(*task.accepted, *paths) if accepts else task.accepted, refused=not accepts)
        state.tasks[task.id] = task
    if task is not None and task.state != "ended" and task.gate:
        state.tasks[task.id] = _after_answer(state, task, record, event)
    if row.gate.type == "timeout" and row.gate.key == "wall" and event.effect == "go_on" and row.gate.attempt:
        extend(state, row.gate.attempt, record.mono, event.number)


def _settle_check(state: State, record: Record, event: e.GateAnswered, command: str) -> None:
    """Apply the answer about a contradicted check to every task with this check."""
    run = state.run
    if event.number in (DISTRUST_CHECK, BELIEVE_CHECK):
        rule: Literal["failed", "passed"] = "failed" if event.number == DISTRUST_CHECK else "passed"
        state.run = replace(run, check_rules={**run.check_rules, command: rule})
    elif event.number == EDIT_CHECK:
        state.run = replace(run, check_edits={**run.check_edits, command: event.text})
        for key, task in state.tasks.items():
            if task.task.verify == command and task.state != "ended":
                state.tasks[key] = replace(task, task=replace(task.task, verify=event.text), changed=record.seq)


def _after_answer(state: State, task: TaskRow, record: Record, event: e.GateAnswered) -> TaskRow:
    if event.effect in ("skipped", "abandoned"):
        if task.state == "running":
            change_attempt(state, task.attempt, state="stopping")
        withdraw(state, record, task.id)
        return replace(
            task, changed=record.seq, state="ended", status=event.effect, reason=event.text, gate="", directive=None
        )
    if task.state in ("running", "interrupted"):
        left = open_gate(state, task.id)
        if task.state == "running" and event.effect == "stop":
            release(state, task.attempt, record.mono, "stopping")
        elif task.state == "running" and not left and not state.run.over:
            release(state, task.attempt, record.mono)
        return replace(task, changed=record.seq, gate=left)
    # A waiting task continues with the first answer; its other questions are withdrawn.
    withdraw(state, record, task.id)
    task = replace(task, changed=record.seq, gate="")
    if event.effect in ("prepare", "tell", "stop"):
        directive = DirectiveRow(
            level="human",
            answer=event.text,
            approach=event.text if event.choice == "retry" else "",
            answers=(event.gate,),
            fresh=event.choice == "retry",
        )
        climb = event.climb or task.climb
        paid = task.attempts
        return replace(task, state="preparing", directive=directive, climb=climb, prepared=None, failures=(), paid=paid)
    gate = state.gates[event.gate].gate
    if event.effect == "go_on" and gate.key == HELD and not gate.context.get(IN_WAIT):
        # The task was held before its start: its needs decide when it starts.
        change_gate(state, event.gate, status="delivered")
        return replace(task, state="blocked")
    again = gate.key in (QUOTA, AGENT, DENIED, HELD)
    if event.effect == "go_on" and (again or (task.report is not None and task.report.how == "stopped")):
        # After a quota wait, the agent's own failure or a stop there is no result to check yet.
        change_gate(state, event.gate, status="delivered")
        climb = task.climb
        if gate.context.get("error_type") == OUTAGE_LASTS:
            climb = replace(climb, transient=0, transient_over=False, waited=0, outage=0.0)
        first = DirectiveRow(level="first", reason="go_on")
        return replace(task, state="preparing", directive=first, prepared=None, climb=climb)
    if task.directive is not None and gate.type == "permission":
        # The step that asked is repeated with the answer.
        change_gate(state, event.gate, status="delivered")
        return replace(task, state="preparing")
    change_gate(state, event.gate, status="delivered")
    if event.choice == "check":
        # No agent has worked since: if the check fails again, the person is asked again.
        return replace(task, state="judging", check=None, directive=None, chosen="check")
    # A result with a conflict is checked again, because it has changed since.
    return replace(task, state="judging", check=None, directive=None)


@_on(e.GateWithdrawn)
def _gate_withdrawn(state: State, record: Record, event: e.GateWithdrawn) -> None:
    row = state.gates.get(event.gate)
    if row is None or row.status != "open":
        return
    _exclude_disk_wait(state, record, row)
    state.gates[event.gate] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)
    task = state.tasks.get(row.gate.task)
    if task is None or task.gate != event.gate:
        return
    left = open_gate(state, task.id)
    task = replace(task, gate=left, changed=record.seq)
    if task.state == "running" and not left and not state.run.over:
        release(state, task.attempt, record.mono)
    if task.state == "waiting" and not left:
        # Without a question the check decides again.
        task = replace(task, state="judging", check=None, directive=None)
    state.tasks[task.id] = task


def _exclude_disk_wait(state: State, record: Record, row: GateRow) -> None:
    """Exclude the time without disk space for the log from the clocks of all live attempts."""
    if row.gate.type != "disk" or row.gate.task:
        return
    for attempt in [attempt.id for attempt in state.attempts.values() if attempt.is_live]:
        exclude(state, attempt, row.since, record.mono)


@_on(e.PermissionRevoked)
def _permission_revoked(state: State, record: Record, event: e.PermissionRevoked) -> None:
    for row in list(state.gates.values()):
        rules = row.gate.context.get("rules")
        if row.answer is not None and isinstance(rules, list) and event.rule in rules:
            left = [rule for rule in rules if rule != event.rule]
            change_gate(state, row.id, context={**row.gate.context, "rules": left})


@_on(e.HandedOver)
def _handed_over(state: State, record: Record, event: e.HandedOver) -> None:
    row = state.gates.get(event.gate)
    if row is not None and not row.handed:
        state.gates[event.gate] = replace(row, handed=event.checkpoint)
    change_task(state, record, files=Standing())


@_on(e.AnswerSent)
def _answer_sent(state: State, record: Record, event: e.AnswerSent) -> None:
    change_gate(state, event.gate, status="sent")


@_on(e.AnswerDelivered)
def _answer_delivered(state: State, record: Record, event: e.AnswerDelivered) -> None:
    change_gate(state, event.gate, status="delivered")
