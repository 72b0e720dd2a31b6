"""The fold: a record changes the state. Pure and total; it never diagnoses, detects or decides.

A record that does not fit the state (a stale attempt id, an answer to a closed gate) changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unstuck.contract import Answer, Gate, Guidance
from unstuck.diagnosis import Diagnosis
from unstuck.record import events as e
from unstuck.record.clocks import HANDLERS, WARN_SHARE, budget_answered, close_time, extend, hold, let_go, not_counted
from unstuck.record.envelope import Record
from unstuck.record.state import AttemptRow, CheckRow, DirectiveRow, GateRow, State, TaskRow

__all__ = ["fold"]

_Handler = Callable[[State, Record, Any], None]
_HANDLERS: dict[type[Any], _Handler] = dict(HANDLERS)


def fold(state: State, record: Record) -> None:
    """Change ``state`` by one record."""
    handler = _HANDLERS.get(type(record.event))
    state.seq = record.seq
    if handler is not None:
        handler(state, record, record.event)
    elif isinstance(record.event, e.Unknown):
        state.unknown += 1
    state.mono = record.mono


def _on(event: type[e.Event]) -> Callable[[_Handler], _Handler]:
    def register(handler: _Handler) -> _Handler:
        _HANDLERS[event] = handler
        return handler

    return register


def _task(state: State, record: Record, /, **changes: Any) -> None:
    """Change the record's task, unless it has ended."""
    row = state.tasks.get(record.task)
    if row is not None and row.state != "ended":
        state.tasks[record.task] = replace(row, changed=record.seq, **changes)


def _end(state: State, record: Record, /, **changes: Any) -> None:
    """End the record's task; what was still asked about it has lost its cause."""
    _task(state, record, state="ended", gate="", directive=None, **changes)
    _withdraw(state, record, record.task)


def _attempt(state: State, attempt: str, /, **changes: Any) -> None:
    row = state.attempts.get(attempt)
    if row is not None:
        state.attempts[attempt] = replace(row, **changes)


def _is_current(state: State, record: Record) -> bool:
    row = state.tasks.get(record.task)
    return row is not None and row.attempt == record.attempt and row.state == "running"


# --- the run ---------------------------------------------------------------------------------------------------------


@_on(e.RunStarted)
def _run_started(state: State, record: Record, event: e.RunStarted) -> None:
    state.run = replace(
        state.run,
        id=record.run,
        state="running",
        kind=event.kind,
        project=event.project,
        started=record.time,
        settings=event.settings,
        plan=event.plan,
        base=event.base,
        pid=event.pid,
        limits={name: limit for name, limit in (event.settings.get("budget") or {}).items() if limit is not None},
        since=record.mono,
    )


@_on(e.RunResumed)
def _run_resumed(state: State, record: Record, event: e.RunResumed) -> None:
    state.run = replace(
        state.run,
        state="blocked" if state.run.blocked else "running",
        remediation=0 if state.run.failed else state.run.remediation,
        remediation_failed=0 if state.run.failed else state.run.remediation_failed,
        stopping="",
        failed="",
        exit_reason="",
        exit_code=None,
        pid=event.pid,
        worked=state.run.used("time", state.mono),
        since=record.mono,
    )
    for row in state.open_gates():
        _gate(state, row.id, acts_at=None)


@_on(e.RunParked)
def _run_parked(state: State, record: Record, event: e.RunParked) -> None:
    state.run = replace(state.run, state="parked", exit_reason="needs_person", exit_code=3)
    close_time(state, record)


@_on(e.RunEnded)
def _run_ended(state: State, record: Record, event: e.RunEnded) -> None:
    state.run = replace(state.run, state="ended", exit_reason=event.exit_reason, exit_code=event.exit_code)
    close_time(state, record)


@_on(e.StopRequested)
def _stop_requested(state: State, record: Record, event: e.StopRequested) -> None:
    if event.attempt_id:
        _attempt(state, event.attempt_id, state="stopping")
    else:
        state.run = replace(state.run, state="draining", stopping=event.reason)


@_on(e.WorkflowFailed)
def _workflow_failed(state: State, record: Record, event: e.WorkflowFailed) -> None:
    state.run = replace(state.run, state="draining", stopping="workflow_failed", failed=event.reason)
    if record.task:
        _end(state, record, status="failed", reason=event.details)


@_on(e.BaselineChecked)
def _baseline_checked(state: State, record: Record, event: e.BaselineChecked) -> None:
    state.run = replace(state.run, baseline=event.result, baseline_identity=event.identity)


@_on(e.InfrastructureBlocked)
def _blocked(state: State, record: Record, event: e.InfrastructureBlocked) -> None:
    # The next task that finds the ground broken does not give remediation new attempts.
    if state.run.state != "blocked":
        state.run = replace(state.run, state="blocked", blocked=event.issue, remediation=0, remediation_failed=0)
    _task(state, record, state="parked")


@_on(e.RemediationDispatched)
def _remediation_dispatched(state: State, record: Record, event: e.RemediationDispatched) -> None:
    state.run = replace(state.run, remediation=event.attempt)


@_on(e.RemediationFailed)
def _remediation_failed(state: State, record: Record, event: e.RemediationFailed) -> None:
    state.run = replace(state.run, remediation_failed=event.attempt)


@_on(e.InfrastructureRestored)
def _restored(state: State, record: Record, event: e.InfrastructureRestored) -> None:
    state.run = replace(
        state.run,
        state="running",
        blocked="",
        remediation=0,
        remediation_failed=0,
        baseline="restored",
        restored=record.seq,
    )
    for key, row in state.tasks.items():
        if row.state == "parked":
            state.tasks[key] = replace(row, state="ready", changed=record.seq)


# --- a task ----------------------------------------------------------------------------------------------------------


@_on(e.TaskAdded)
def _task_added(state: State, record: Record, event: e.TaskAdded) -> None:
    state.tasks.setdefault(
        event.work.id,
        TaskRow(
            task=event.work,
            after_skip=event.after_skip,
            mode=event.mode,
            shared_verify=event.shared_verify,
            state="blocked" if event.work.needs else "ready",
            changed=record.seq,
        ),
    )


@_on(e.TaskUnblocked)
def _task_unblocked(state: State, record: Record, event: e.TaskUnblocked) -> None:
    _task(state, record, state="ready")


@_on(e.TaskReopened)
def _task_reopened(state: State, record: Record, event: e.TaskReopened) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state != "ended":
        return
    state.tasks[row.id] = replace(
        row,
        changed=record.seq,
        state="blocked" if row.task.needs else "ready",
        status=None,
        reason="",
        prepared=None,
        climb=row.climb.answered(),
    )


@_on(e.TaskEnded)
def _task_ended(state: State, record: Record, event: e.TaskEnded) -> None:
    _end(state, record, status=event.status, reason=event.reason)


@_on(e.ResultIntegrated)
def _integrated(state: State, record: Record, event: e.ResultIntegrated) -> None:
    _task(state, record, integrated=event.commit)


@_on(e.SetupFinished)
def _setup_finished(state: State, record: Record, event: e.SetupFinished) -> None:
    _task(state, record, set_up=event.passed)


@_on(e.AttemptStarted)
def _attempt_started(state: State, record: Record, event: e.AttemptStarted) -> None:
    guidance: Guidance = event.guidance
    state.attempts[guidance.attempt] = AttemptRow(
        id=guidance.attempt,
        task=record.task,
        guidance=guidance,
        started=record.mono,
        started_seq=record.seq,
        limit=event.limit_s,
        deadline=record.mono + event.limit_s if event.limit_s else None,
        warn_at=record.mono + WARN_SHARE * event.limit_s if event.limit_s else None,
    )
    _task(
        state,
        record,
        state="running",
        attempts=guidance.number,
        attempt=guidance.attempt,
        level=guidance.level,
        report=None,
        check=None,
        directive=None,
        prepared=guidance,
    )
    for gate in guidance.answers:
        _gate(state, gate, status="sent")


@_on(e.AgentSpawned)
def _agent_spawned(state: State, record: Record, event: e.AgentSpawned) -> None:
    if _is_current(state, record):
        # A question may have been opened before the process was there: it stands still from its first moment on.
        held = state.attempts[record.attempt].state == "held"
        _attempt(state, record.attempt, state="held" if held else "live", pid=event.pid, spawned=event.start)


@_on(e.StepRecorded)
def _step_recorded(state: State, record: Record, event: e.StepRecorded) -> None:
    row = state.attempts.get(record.attempt)
    if row is not None and row.state in ("starting", "live", "held"):
        now = "held" if row.state == "held" else "live"
        _attempt(state, record.attempt, steps=row.steps + 1, repeats=event.repeats, state=now)
        if event.role == "user" and (task := state.tasks.get(row.task)) is not None:
            # What the person says to the agent itself begins a new climb.
            _task(state, record, climb=task.climb.answered())


@_on(e.AttemptEnded)
def _attempt_ended(state: State, record: Record, event: e.AttemptEnded) -> None:
    current = _is_current(state, record)
    attempt = state.attempts.get(record.attempt)
    if attempt is not None and attempt.is_live:
        _attempt(state, record.attempt, state="ended", report=event.report)
    if not current:
        return
    row = state.tasks[record.task]
    asked = row.gate and state.gates[row.gate].status == "open"
    _task(
        state,
        record,
        state="waiting" if asked else "judging",
        report=event.report,
        check=None,
        session=event.report.session or row.session,
        prepared=None,
        used=0.0,
    )
    for gate in state.attempts[record.attempt].guidance.answers:
        _gate(state, gate, status="delivered")


@_on(e.AttemptInterrupted)
def _attempt_interrupted(state: State, record: Record, event: e.AttemptInterrupted) -> None:
    current = _is_current(state, record)
    attempt = state.attempts.get(record.attempt)
    if attempt is not None and attempt.is_live:
        _attempt(state, record.attempt, state="interrupted")
    if not current:
        return
    _task(state, record, state="interrupted", used=event.used_s)
    for gate in state.attempts[record.attempt].guidance.answers:
        _gate(state, gate, status="answered")


@_on(e.RecoveryDecided)
def _recovery_decided(state: State, record: Record, event: e.RecoveryDecided) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state != "interrupted":
        return
    if event.choice == "continue":
        _task(state, record, state="ready")
    elif event.choice == "retry":
        guidance = row.prepared
        answers = guidance.answers if guidance else ()
        directive = DirectiveRow(
            level=row.level, restore="baseline", fresh=True, checkpoint="recovery", answers=answers
        )
        _task(state, record, state="preparing", directive=directive, prepared=None, used=0.0)
    elif event.choice == "done":
        _task(state, record, state="judging", report=row.report, check=None, prepared=None)
    else:
        status = "skipped" if event.choice == "skip" else "abandoned"
        _end(state, record, status=status)


@_on(e.CheckFinished)
def _check_finished(state: State, record: Record, event: e.CheckFinished) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state != "judging":
        return
    check = CheckRow(
        result=event.result,
        command=event.command,
        exit_code=event.exit_code,
        problem=event.problem,
        trouble=event.trouble,
        evidence=event.evidence,
        circular=event.circular,
    )
    diagnosis = Diagnosis.from_dict(event.diagnosis) if event.diagnosis else None
    done = event.result == "passed"
    _task(
        state,
        record,
        state="judging" if done else "undecided",
        check=check,
        diagnosis=diagnosis if diagnosis or not done else row.diagnosis,
    )


# --- decisions -------------------------------------------------------------------------------------------------------


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
    )
    _task(state, record, state="preparing", directive=directive, climb=event.climb, prepared=None)


@_on(e.TransientErrorRetry)
def _transient(state: State, record: Record, event: e.TransientErrorRetry) -> None:
    _task(
        state,
        record,
        state="backoff",
        climb=event.climb,
        backoff_until=record.mono + event.delay_seconds,
        backoff_delay=event.delay_seconds,
    )


@_on(e.BackoffOver)
def _backoff_over(state: State, record: Record, event: e.BackoffOver) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.state == "backoff":
        _task(
            state, record, state="preparing", directive=DirectiveRow(level="first", reason="transient"), prepared=None
        )


@_on(e.TransientErrorEscalated)
def _transient_escalated(state: State, record: Record, event: e.TransientErrorEscalated) -> None:
    _task(state, record, state="undecided", climb=event.climb)


@_on(e.AgentFailure)
def _agent_failure(state: State, record: Record, event: e.AgentFailure) -> None:
    directive = DirectiveRow(level="first", reason=event.error_type)
    _task(state, record, state="preparing", directive=directive, climb=event.climb, prepared=None)


def _prepare(state: State, record: Record, /, **changes: Any) -> None:
    row = state.tasks.get(record.task)
    if row is not None and row.directive is not None and row.state == "preparing":
        _task(state, record, directive=replace(row.directive, **changes))


@_on(e.CheckpointCreated)
def _checkpoint_created(state: State, record: Record, event: e.CheckpointCreated) -> None:
    if event.purpose == "baseline":
        _task(state, record, baseline=event.id, good=event.id, saved_at=record.seq)
    elif event.purpose == "good":
        _task(state, record, good=event.id)
    else:
        _prepare(state, record, saved=event.id, progress=event.progress)


@_on(e.RestoreDone)
def _restore_done(state: State, record: Record, event: e.RestoreDone) -> None:
    _prepare(state, record, restored=event.target, restored_note=event.note)


@_on(e.ResearchDone)
def _research_done(state: State, record: Record, event: e.ResearchDone) -> None:
    row = state.tasks.get(record.task)
    if row is not None:
        _task(state, record, climb=replace(row.climb, insights=event.insights))
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
    )
    _task(state, record, state="ready", prepared=guidance, directive=None)


# --- gates -----------------------------------------------------------------------------------------------------------


def _gate(state: State, gate: str, /, **changes: Any) -> None:
    row = state.gates.get(gate)
    if row is not None:
        state.gates[gate] = replace(row, gate=replace(row.gate, **changes))


def _open_gate(state: State, task: str) -> str:
    """The oldest gate of the task that is still open; empty where none is."""
    return next((row.id for row in state.open_gates() if row.gate.task == task), "")


def _withdraw(state: State, record: Record, task: str) -> None:
    """Close what is still open of the task: its cause is gone."""
    for row in state.open_gates():
        if row.gate.task == task:
            state.gates[row.id] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)


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
        hold(state, row.attempt, record.mono)
        _task(state, record, gate=event.gate)
    elif row.state in ("undecided", "preparing", "judging", "parked"):
        _task(state, record, state="waiting", gate=event.gate, directive=row.directive)


@_on(e.GateAnswered)
def _gate_answered(state: State, record: Record, event: e.GateAnswered) -> None:
    row = state.gates.get(event.gate)
    if row is None or row.status != "open":
        return
    _stood_still(state, record, row)
    answer = Answer(choice=event.choice, text=event.text, number=event.number, scope=event.scope)  # type: ignore[arg-type]
    gate = replace(row.gate, status="answered", answer=answer, by=record.actor, acts_at=None)
    state.gates[event.gate] = replace(row, gate=gate, closed=record.time, effect=event.effect, rule=event.rule)
    if row.gate.type == "budget":
        budget_answered(state, record, event, row.gate.key)
    task = state.tasks.get(row.gate.task)
    if task is not None and task.state != "ended" and task.gate:
        state.tasks[task.id] = _after_answer(state, task, record, event)
    if row.gate.type == "timeout" and row.gate.key == "wall" and event.effect == "go_on" and row.gate.attempt:
        extend(state, row.gate.attempt, record.mono, event.number)


def _after_answer(state: State, task: TaskRow, record: Record, event: e.GateAnswered) -> TaskRow:
    if event.effect in ("skipped", "abandoned"):
        if task.state == "running":
            _attempt(state, task.attempt, state="stopping")
        _withdraw(state, record, task.id)
        return replace(
            task, changed=record.seq, state="ended", status=event.effect, reason=event.text, gate="", directive=None
        )
    if task.state in ("running", "interrupted"):
        left = _open_gate(state, task.id)
        if task.state == "running" and event.effect == "stop":
            let_go(state, task.attempt, record.mono, "stopping")
        elif task.state == "running" and not left and not state.run.over:
            let_go(state, task.attempt, record.mono)
        return replace(task, changed=record.seq, gate=left)
    # A task that waits goes on with the first answer; nobody needs to answer the same again.
    _withdraw(state, record, task.id)
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
        return replace(task, state="preparing", directive=directive, climb=climb, prepared=None)
    if event.effect == "go_on" and task.report is not None and task.report.how == "stopped":
        # It was stopped because nobody answered in time: there is nothing to judge yet.
        _gate(state, event.gate, status="delivered")
        return replace(task, state="preparing", directive=DirectiveRow(level="first", reason="go_on"), prepared=None)
    # Also a result that did not fit is checked again: somebody has changed it since.
    _gate(state, event.gate, status="delivered")
    return replace(task, state="judging", check=None, directive=None)


@_on(e.GateWithdrawn)
def _gate_withdrawn(state: State, record: Record, event: e.GateWithdrawn) -> None:
    row = state.gates.get(event.gate)
    if row is None or row.status != "open":
        return
    _stood_still(state, record, row)
    state.gates[event.gate] = replace(row, gate=replace(row.gate, status="withdrawn"), closed=record.time)
    task = state.tasks.get(row.gate.task)
    if task is None or task.gate != event.gate:
        return
    left = _open_gate(state, task.id)
    task = replace(task, gate=left, changed=record.seq)
    if task.state == "running" and not left and not state.run.over:
        let_go(state, task.attempt, record.mono)
    if task.state == "waiting" and not left:
        # Nothing is asked any more, so the work speaks for itself again.
        task = replace(task, state="judging", check=None, directive=None)
    state.tasks[task.id] = task


def _stood_still(state: State, record: Record, row: GateRow) -> None:
    """While the record had no room every agent stood still, and so did its clock."""
    if row.gate.type != "disk" or row.gate.task:
        return
    for attempt in [attempt.id for attempt in state.attempts.values() if attempt.is_live]:
        not_counted(state, attempt, row.since, record.mono)


@_on(e.AnswerSent)
def _answer_sent(state: State, record: Record, event: e.AnswerSent) -> None:
    _gate(state, event.gate, status="sent")


@_on(e.AnswerDelivered)
def _answer_delivered(state: State, record: Record, event: e.AnswerDelivered) -> None:
    _gate(state, event.gate, status="delivered")
