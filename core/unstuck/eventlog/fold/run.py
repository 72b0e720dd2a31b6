"""Fold of events about the run as a whole."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold.clock import stop_run_clock
from unstuck.eventlog.fold.rows import Handlers, change_attempt, change_gate, change_task, end_task, on
from unstuck.eventlog.state import State

HANDLERS: Handlers = {}
_on = partial(on, HANDLERS)


def _limits(budget: object) -> dict[str, float]:
    """Return the limits in recorded settings, without values that are not numbers."""
    known = budget.items() if isinstance(budget, dict) else ()
    return {str(name): limit for name, limit in known if isinstance(limit, int | float)}


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
        branch=event.branch,
        pid=event.pid,
        limits=_limits(event.settings.get("budget")),
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
        ended="",
        pid=event.pid,
        worked=state.run.used("time", state.mono),
        since=record.mono,
    )
    for row in state.open_gates():
        change_gate(state, row.id, acts_at=None)


@_on(e.RunParked)
def _run_parked(state: State, record: Record, event: e.RunParked) -> None:
    unwatched = tuple(dict.fromkeys((*state.run.unwatched, *event.unwatched)))
    state.run = replace(state.run, state="parked", exit_reason="needs_person", exit_code=3, unwatched=unwatched)
    stop_run_clock(state, record)


@_on(e.RunEnded)
def _run_ended(state: State, record: Record, event: e.RunEnded) -> None:
    state.run = replace(state.run, state="ended", exit_reason=event.exit_reason, exit_code=event.exit_code)
    unwatched = tuple(dict.fromkeys((*state.run.unwatched, *event.unwatched)))
    state.run = replace(state.run, ended=record.time, unwatched=unwatched)
    stop_run_clock(state, record)


@_on(e.StopRequested)
def _stop_requested(state: State, record: Record, event: e.StopRequested) -> None:
    if event.attempt_id:
        change_attempt(state, event.attempt_id, state="stopping")
    else:
        state.run = replace(state.run, state="draining", stopping=event.reason)


@_on(e.WorkflowFailed)
def _workflow_failed(state: State, record: Record, event: e.WorkflowFailed) -> None:
    state.run = replace(state.run, state="draining", stopping="workflow_failed", failed=event.reason)
    if record.task:
        end_task(state, record, status="failed", reason=event.details)


@_on(e.ResultsDelivered)
def _results_delivered(state: State, record: Record, event: e.ResultsDelivered) -> None:
    state.run = replace(state.run, delivered=event.tip)


@_on(e.BaselineChecked)
def _baseline_checked(state: State, record: Record, event: e.BaselineChecked) -> None:
    state.run = replace(
        state.run, baseline=event.result, baseline_identity=event.identity, baseline_extent=event.extent
    )


@_on(e.InfrastructureBlocked)
def _blocked(state: State, record: Record, event: e.InfrastructureBlocked) -> None:
    # The next task that meets the failing baseline gives remediation no new attempts.
    if state.run.state != "blocked":
        state.run = replace(state.run, state="blocked", blocked=event.issue, remediation=0, remediation_failed=0)
    change_task(state, record, state="parked")


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
