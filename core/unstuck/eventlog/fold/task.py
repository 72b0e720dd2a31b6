"""Fold of events about a task and its attempts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

from unstuck.contract import Guidance
from unstuck.diagnosis.extent import Extent
from unstuck.diagnosis.model import Diagnosis
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.clock import WARN_SHARE
from unstuck.eventlog.fold.rows import Handlers, change_attempt, change_gate, change_task, end_task, is_current, on
from unstuck.eventlog.state import (
    AttemptRow,
    CheckRow,
    Collision,
    DirectiveRow,
    Proof,
    Standing,
    State,
    TaskBaseline,
    TaskRow,
)
from unstuck.text import Clean

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)


@_on(e.TaskAdded)
def _task_added(state: State, record: Record, event: e.TaskAdded) -> None:
    state.tasks.setdefault(
        event.work.id,
        TaskRow(
            task=event.work,
            after_skip=event.after_skip,
            mode=event.mode,
            shared_verify=event.shared_verify,
            failover=event.failover,
            state="blocked" if event.work.needs else "ready",
            changed=record.seq,
        ),
    )


@_on(e.TaskUnblocked)
def _task_unblocked(state: State, record: Record, event: e.TaskUnblocked) -> None:
    change_task(state, record, state="ready")


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
    end_task(state, record, status=event.status, reason=event.reason)


@_on(e.ResultIntegrated)
def _integrated(state: State, record: Record, event: e.ResultIntegrated) -> None:
    change_task(state, record, integrated=event.commit)


@_on(e.SetupFinished)
def _setup_finished(state: State, record: Record, event: e.SetupFinished) -> None:
    change_task(state, record, set_up=event.passed)


@_on(e.TaskBaselineChecked)
def _baseline_checked(state: State, record: Record, event: e.TaskBaselineChecked) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.baseline != event.checkpoint:
        return
    found = TaskBaseline(
        command=event.command,
        result=event.result,
        identity=event.identity,
        headline=event.headline,
        extent=Extent(stage="run") if event.result == "passed" else event.extent,
    )
    change_task(state, record, baseline_check=found)


@_on(e.AttemptStarted)
def _attempt_started(state: State, record: Record, event: e.AttemptStarted) -> None:
    guidance: Guidance = event.guidance
    state.attempts[guidance.attempt] = AttemptRow(
        id=guidance.attempt,
        task=record.task,
        guidance=guidance,
        started=record.mono,
        begun=record.time,
        started_seq=record.seq,
        limit=event.limit_s,
        deadline=record.mono + event.limit_s if event.limit_s else None,
        warn_at=record.mono + WARN_SHARE * event.limit_s if event.limit_s else None,
        note=event.note,
    )
    change_task(
        state,
        record,
        state="running",
        attempts=guidance.number,
        attempt=guidance.attempt,
        level=guidance.level,
        report=None,
        check=None,
        directive=None,
        prepared=replace(guidance, text=Clean(guidance.text.removesuffix(event.note))),
    )
    if guidance.ways:
        change_task(state, record, session=None)  # each approach has one of its own
    if (row := state.tasks.get(record.task)) is not None and row.chosen == "check":
        change_task(state, record, chosen="")
    for gate in guidance.answers:
        change_gate(state, gate, status="sent")


@_on(e.AgentSpawned)
def _agent_spawned(state: State, record: Record, event: e.AgentSpawned) -> None:
    if is_current(state, record):
        # A question may have been opened before the process existed: it is held from its start.
        row = state.attempts[record.attempt]
        now: Literal["held", "live"] = "held" if row.state == "held" else "live"
        change_attempt(state, record.attempt, state=now, pid=event.pid, spawned=event.start)
        if row.guidance.ways:
            change_attempt(state, record.attempt, spawns=(*row.spawns, (event.pid, event.start)))


@_on(e.ApproachEnded)
def _approach_ended(state: State, record: Record, event: e.ApproachEnded) -> None:
    row, task = state.attempts.get(record.attempt), state.tasks.get(record.task)
    if row is None or task is None:
        return
    change_attempt(state, row.id, ways=(*row.ways, (event.slot, event.result)))
    climb = task.climb
    if event.result == "passed":
        climb = replace(climb, approach=event.approach)
    elif event.result == "failed" and event.approach not in climb.failed_approaches:
        climb = replace(climb, failed_approaches=(*climb.failed_approaches, event.approach))
    change_task(state, record, climb=climb)


@_on(e.TerminalAsked)
def _terminal_asked(state: State, record: Record, event: e.TerminalAsked) -> None:
    _change_asks(state, record, event.text)


@_on(e.TerminalAnswered)
def _terminal_answered(state: State, record: Record, event: e.TerminalAnswered) -> None:
    _change_asks(state, record, "")


def _change_asks(state: State, record: Record, text: str) -> None:
    change_attempt(state, record.attempt, asks=text)
    change_task(state, record)


@_on(e.HostAwaited)
def _host_awaited(state: State, record: Record, event: e.HostAwaited) -> None:
    change_attempt(state, record.attempt, awaits=event.reason, host=event.host)
    change_task(state, record)


@_on(e.SessionNamed)
def _session_named(state: State, record: Record, event: e.SessionNamed) -> None:
    change_attempt(state, record.attempt, session=event.session)
    if is_current(state, record):
        change_task(state, record, session=event.session)


@_on(e.StepRecorded)
def _step_recorded(state: State, record: Record, event: e.StepRecorded) -> None:
    row = state.attempts.get(record.attempt)
    if row is not None and row.state in ("starting", "live", "held"):
        now = "held" if row.state == "held" else "live"
        own = _own_check(state, row, event)
        change_attempt(state, record.attempt, steps=row.steps + 1, repeats=event.repeats, state=now, own_check=own)
        if event.role == "user" and (task := state.tasks.get(row.task)) is not None:
            # A message of a person to the agent resets the escalation.
            change_task(state, record, climb=task.climb.answered(), failures=())


def _own_check(state: State, row: AttemptRow, event: e.StepRecorded) -> Literal["", "asked", "passed", "failed"]:
    """Return the result of the check as the agent itself runs it; any other call makes it stale."""
    task = state.tasks.get(row.task)
    command = task.task.verify if task is not None else None
    if event.kind == "action":
        return "asked" if command and command in event.text else ""
    if row.own_check == "asked" and event.kind in ("success", "failure"):
        return "passed" if event.kind == "success" else "failed"
    return row.own_check


@_on(e.AttemptEnded)
def _attempt_ended(state: State, record: Record, event: e.AttemptEnded) -> None:
    current = is_current(state, record)
    attempt = state.attempts.get(record.attempt)
    if attempt is not None and attempt.is_live:
        change_attempt(state, record.attempt, state="ended", report=event.report, seconds=event.seconds)
    if not current:
        return
    row = state.tasks[record.task]
    asked = row.gate and state.gates[row.gate].status == "open"
    change_task(
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
        change_gate(state, gate, status="delivered")


@_on(e.AttemptInterrupted)
def _attempt_interrupted(state: State, record: Record, event: e.AttemptInterrupted) -> None:
    current = is_current(state, record)
    attempt = state.attempts.get(record.attempt)
    if attempt is not None and attempt.is_live:
        change_attempt(state, record.attempt, state="interrupted")
    if not current:
        return
    change_task(state, record, state="interrupted", used=event.used_s, saved="", left=())
    for gate in state.attempts[record.attempt].guidance.answers:
        change_gate(state, gate, status="answered")


@_on(e.RecoveryDecided)
def _recovery_decided(state: State, record: Record, event: e.RecoveryDecided) -> None:
    row = state.tasks.get(record.task)
    if row is None or row.state != "interrupted":
        return
    if event.gate:
        change_gate(state, event.gate, status="delivered")
    if event.choice == "continue":
        change_task(state, record, state="ready")
    elif event.choice == "retry":
        guidance = row.prepared
        answers = guidance.answers if guidance else ()
        directive = DirectiveRow(
            level=row.level, restore="baseline", fresh=True, checkpoint="recovery", answers=answers
        )
        change_task(state, record, state="preparing", directive=directive, prepared=None, used=0.0)
    elif event.choice == "done":
        change_task(state, record, state="judging", report=row.report, check=None, prepared=None)
    else:
        status = "skipped" if event.choice == "skip" else "abandoned"
        end_task(state, record, status=status)


@_on(e.RecoveryProposed)
def _recovery_proposed(state: State, record: Record, event: e.RecoveryProposed) -> None:
    """Add the proposal to the open recovery question of the task."""
    proposal = {"choice": event.choice, "reason": event.reason, "evaluator": event.evaluator}
    for row in state.open_gates():
        if (row.gate.type, row.gate.task) == ("recovery", record.task):
            change_gate(state, row.id, context={**row.gate.context, "proposal": proposal})


def _diagnosis(event: e.CheckFinished) -> Diagnosis | None:
    """Return the recorded diagnosis of a check, None if it cannot be read."""
    try:
        return Diagnosis.from_dict(event.diagnosis) if event.diagnosis else None
    except (AttributeError, TypeError, ValueError):
        return None


@_on(e.CheckFlaked)
def _check_flaked(state: State, record: Record, event: e.CheckFlaked) -> None:
    change_task(state, record, flaky=event.test or event.command)


@_on(e.FilesCollide)
def _files_collide(state: State, record: Record, event: e.FilesCollide) -> None:
    for task, other, is_later in ((record.task, event.other, True), (event.other, record.task, False)):
        if (row := state.tasks.get(task)) is not None:
            found = [one for one in row.collisions if one.other != other]
            found += [Collision(other=other, paths=event.paths, is_later=is_later)] if event.paths else []
            state.tasks[task] = replace(row, changed=record.seq, collisions=tuple(found))


@_on(e.ProofStarted)
def _proof_started(state: State, record: Record, event: e.ProofStarted) -> None:
    change_task(state, record, proving=(event.checkpoint, event.paths), proof=None)


@_on(e.CheckProved)
def _check_proved(state: State, record: Record, event: e.CheckProved) -> None:
    is_cut_off = event == e.CheckProved()
    proof = Proof(without_work=event.without_work, old_tests=event.old_tests, problem=event.problem, note=event.note)
    change_task(state, record, proving=None, proof=None if is_cut_off else proof)


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
        output=event.output,
        circular=event.circular,
        weakened=event.weakened,
        protected=event.protected,
        ending=event.ending,
        said=event.said,
        untouched=event.untouched,
        approach=event.approach,
        size=event.size,
    )
    diagnosis = _diagnosis(event)
    done = event.result == "passed"
    change_task(
        state,
        record,
        state="judging" if done else "undecided",
        check=check,
        saved="",
        diagnosis=diagnosis if diagnosis or not done else row.diagnosis,
        before=row.files,
        files=Standing(extent=Extent(stage="run") if done else event.extent),
        files_hash=event.files,
    )
