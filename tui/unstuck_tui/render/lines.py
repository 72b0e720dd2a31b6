"""One readable line per event, for runs without a screen. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unstuck.record import events as e
from unstuck.record.envelope import Record
from unstuck.text import one_line

__all__ = ["line_of"]

_WIDTH = 160
_LIMITS = {"retry": "told_retries", "pivot": "told_pivots", "research": "told_research"}


def line_of(record: Record) -> str | None:
    """The line for ``record``; None for events that only the record needs."""
    text = _text(record)
    if text is None:
        return None
    about = f"{record.task}  " if record.task else ""
    return f"{record.time[11:19]}  {about}{one_line(text, _WIDTH)}"


def _text(record: Record) -> str | None:
    if isinstance(record.event, e.Unknown):
        return f"({record.name}: an event of a later version)"
    writer = _WRITERS.get(type(record.event))
    return writer(record.event, record) if writer is not None else None


def _ended(event: e.AttemptEnded, record: Record) -> str | None:
    report = event.report
    how = {"ended": "", "crashed": "crashed", "timed_out": "timed out", "stopped": "stopped"}.get(
        report.how, report.how
    )
    code = f"exit code {report.exit_code}" if report.exit_code is not None else ""
    return f"  agent ended: {', '.join(part for part in (how, code) if part) or 'done'} ({event.seconds:.0f} s)"


def _check(event: e.CheckFinished, record: Record) -> str | None:
    if event.result == "passed":
        return f"  ✓ {event.command}"
    if event.result == "could_not_run":
        return f"  ! {event.problem}"
    diagnosis = event.diagnosis or {}
    headline = diagnosis.get("headline") or f"exit code {event.exit_code}"
    location = (diagnosis.get("signature") or {}).get("location")
    return f"  ✗ {headline}" + (f"  {location}" if location else "") if event.result == "failed" or diagnosis else None


def _directive(event: e.DirectiveIssued, record: Record) -> str | None:
    climb = event.climb
    match event.level:
        case "retry":
            return f"  → Retry {climb.retries or climb.told_retries + 1}: {event.hint or event.reason}"
        case "pivot":
            return f"  → Pivot {climb.pivots}: {event.approach}"
        case "research":
            return f"  → Research {climb.research}: reading the code round the failure"
        case "continue":
            return "  → New session: the last one ran out of context"
        case "human" if not event.answers:
            return f"  ! stuck: {event.reason}"
    return None


def _gate(event: e.GateOpened, record: Record) -> str | None:
    choices = " | ".join(choice.replace("_", "-") for choice in event.choices)
    context: dict[str, Any] = event.context
    about = context.get("problem") or context.get("question") or context.get("error_signature") or ""
    return f"? {event.type} {event.gate}: {one_line(str(about), 80)}  (unstuck answer {event.gate} {choices})"


def _answered(event: e.GateAnswered, record: Record) -> str | None:
    text = f": {event.text}" if event.text else ""
    return f"  answered {event.gate} by {record.actor}: {event.choice.replace('_', '-')}{text}"


def _task_ended(event: e.TaskEnded, record: Record) -> str | None:
    glyph = {"succeeded": "✓", "unverified": "~", "skipped": "-", "abandoned": "×", "failed": "✗", "cancelled": "-"}
    return f"{glyph[event.status]} {event.status}" + (f": {event.reason}" if event.reason else "")


def _run_started(event: e.RunStarted, record: Record) -> str:
    warnings = "".join(f" ! {warning}" for warning in event.warnings)
    return f"run {record.run} in {event.project}{warnings}"


_Writer = Callable[[Any, Record], str | None]
_WRITERS: dict[type[e.Event], _Writer] = {
    e.RunStarted: _run_started,
    e.RunResumed: lambda event, record: f"run {record.run} goes on",
    e.RunParked: lambda event, record: (
        f"parked: {len(event.gates)} open, go on with: unstuck run --resume {record.run}"
    ),
    e.RunEnded: lambda event, record: f"run {record.run} ended: {event.exit_reason}",
    e.StopRequested: lambda event, record: f"stopping: {event.reason}",
    e.LogRepaired: lambda event, record: f"a torn last record ({event.bytes} bytes) was moved to {event.file}",
    e.WorkflowFailed: lambda event, record: f"WORKFLOW FAILED ({event.reason}): {event.details}",
    e.BaselineChecked: lambda event, record: f"baseline check: {event.result} {event.headline}",
    e.InfrastructureBlocked: lambda event, record: f"blocked: the project's own check is broken: {event.issue}",
    e.RemediationDispatched: lambda event, record: f"remediation {event.attempt}: {event.issue}",
    e.RemediationFailed: lambda event, record: f"remediation {event.attempt} failed: {event.issue}",
    e.InfrastructureRestored: lambda event, record: f"infrastructure restored after {event.attempts_used} attempts",
    e.AttemptStarted: lambda event, record: f"▶ attempt {event.guidance.number} ({event.guidance.level})",
    e.AttemptEnded: _ended,
    e.AttemptInterrupted: lambda event, record: f"  interrupted: {event.reason}",
    e.SetupFinished: lambda event, record: None if event.passed else "  ✗ setup failed",
    e.CheckFinished: _check,
    e.CheckFlaked: lambda event, record: f"  ~ flaky: failed once, then passed: {event.command}",
    e.DirectiveIssued: _directive,
    e.TransientErrorRetry: lambda event, record: (
        f"  … {event.error_type}: again in {event.delay_seconds:g} s ({event.retry})"
    ),
    e.TransientErrorEscalated: lambda event, record: f"  {event.error_type} does not pass: {event.reason}",
    e.AgentFailure: lambda event, record: f"  agent failure {event.attempt} ({event.error_type}), dispatching again",
    e.AgentTimeout: lambda event, record: f"  ◷ time is up after {event.elapsed_ms / 1000:.0f} s",
    e.LoopWarned: lambda event, record: f"  ↻ repeats itself {event.repeats} times: {event.evidence}",
    e.CheckpointCreated: lambda event, record: (
        f"  checkpoint {event.id} ({event.reason})" if event.purpose == "directive" else None
    ),
    e.RestoreDone: lambda event, record: (
        f"  restored {event.target} ({event.changed} files)" if event.target else f"  {event.note}"
    ),
    e.ResearchDone: lambda event, record: f"  → found {len(event.insights)} insights",
    e.GateOpened: _gate,
    e.GateAnswered: _answered,
    e.GateWithdrawn: lambda event, record: f"  {event.gate} withdrawn: {event.reason}",
    e.TaskEnded: _task_ended,
    e.ResultIntegrated: lambda event, record: f"  integrated {event.commit[:10]}",
    e.StopReceipt: lambda event, record: (
        f"  stopped {len(event.ended)} processes" + (f", {len(event.alive)} would not" if event.alive else "")
    ),
}
