"""Halt of a run that cannot continue without a person: its record and its message."""

from __future__ import annotations

from typing import Any

from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit

UNRECOVERABLE = """WORKFLOW FAILED - {reason}

{details}

State preserved: {state}
Event log: {log}

Review event log for failure history.
Human intervention required to proceed."""
REMEDIATION = """WORKFLOW FAILED - REMEDIATION LIMIT EXCEEDED

Infrastructure could not be restored after {attempts} attempts.

Last issue: {issue}
State preserved: {state}
Event log: {log}

Human intervention required."""
_LIMIT = 2_000


def halt(core: RunContext, row: TaskRow | None, reason: str, details: str) -> None:
    """End the run: no person may be asked and no step is left."""
    said = admit(details, limit=_LIMIT)
    event = e.WorkflowFailed(
        reason=reason,
        details=said,
        last_state=row.state if row else "",
        message=_message(core, UNRECOVERABLE, reason=reason.upper(), details=said),
        context=_about(row) if row else {},
    )
    core.append(event, task=row.id if row else "")


def _about(row: TaskRow) -> dict[str, Any]:
    """Return what led to the halt."""
    failure = row.diagnosis
    return {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "attempts": row.attempts,
        "level": row.level,
        "failure_type": failure.failure_type.value if failure else "",
        "category": failure.category.value if failure else "",
        "signature": failure.identity if failure else "",
    }


def halt_remediation(core: RunContext, attempts: int, issue: str) -> None:
    """End the run: the baseline check still fails after the last attempt to fix it."""
    message = _message(core, REMEDIATION, attempts=attempts, issue=issue)
    event = e.WorkflowFailed(
        reason="remediation_limit_exceeded",
        details=message,
        attempts=attempts,
        last_issue=admit(issue, limit=500),
        last_state="blocked",
        message=message,
        context={"attempts": attempts, "issue": admit(issue, limit=500)},
    )
    core.append(event)


def _message(core: RunContext, template: str, **parts: object) -> Clean:
    """The message with where the state and the log of this run lie."""
    said = template.format(**parts, state=core.folder / "state.json", log=core.journal.path)
    return admit(said, limit=2 * _LIMIT)
