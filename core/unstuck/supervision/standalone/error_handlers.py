"""Responses to an error by its category, one function each, for programs without a run.

An error is an object or a mapping with ``type``, ``details``, ``options`` and ``context``; a missing one counts as
empty. Nothing waits and nothing is printed: the dictionaries say what to do. ``log_event`` gets the name of each event
and its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence
from typing import Any

from unstuck.arguments import checked
from unstuck.escalation.limits import Limits

LogEvent = Callable[..., object]
LIMITS = Limits()


def _ignore(name: str, **fields: Any) -> None:
    """Log nothing."""


@checked
def handle_transient_error(error: Any, context: Mapping[str, Any], *, log_event: LogEvent = _ignore) -> dict[str, Any]:
    """Return ``retry`` with a delay of 1, 2 or 4 seconds; after three retries the response to a failed agent.

    ``context`` holds ``retry_count``, and ``task_id`` and ``agent_type`` where they are known.
    """
    retry = int(context.get("retry_count", 0))
    if retry >= LIMITS.transient_retries:
        reason = f"still there after {retry} retries"
        log_event("transient_error_escalated", error_type=_type(error), reason=reason)
        task, agent_type = str(context.get("task_id", "")), str(context.get("agent_type", ""))
        return handle_agent_failure(error, task, agent_type, log_event=log_event)
    log_event("transient_error_retry", error_type=_type(error), retry=retry + 1, delay_seconds=2**retry)
    return {"action": "retry", "retry_count": retry + 1, "delay_seconds": 2**retry}


@checked
def handle_agent_failure(
    error: Any,
    task_id: str,
    agent_type: str,
    *,
    failed_attempts: MutableMapping[str, int] | None = None,
    available_tasks: MutableSequence[str] | None = None,
    limit: int = LIMITS.task_failure_limit,
    log_event: LogEvent = _ignore,
) -> dict[str, Any]:
    """Return ``redispatch`` with the task, which returns to ``available_tasks``; ``halt`` at the ``limit``.

    ``failed_attempts`` counts the failures of each task, this one included; without it this is the first.
    """
    failures = (failed_attempts or {}).get(task_id, 0) + 1
    if failed_attempts is not None:
        failed_attempts[task_id] = failures
    if failures >= limit:
        stated = {"type": "task_limit_exceeded", "details": f"Task {task_id} failed {failures} times"}
        return handle_unrecoverable_error(stated, {"task_id": task_id}, log_event=log_event)
    log_event("agent_failure", task_id=task_id, agent_type=agent_type, error_type=_type(error), attempt=failures)
    if available_tasks is not None:
        available_tasks.append(task_id)
    return {"action": "redispatch", "task_id": task_id}


@checked
def handle_infrastructure_error(error: Any, reported_by: str, *, log_event: LogEvent = _ignore) -> dict[str, Any]:
    """Return ``remediate`` with the issue: no task starts until it is gone."""
    issue = _field(error, "details", "")
    log_event("infrastructure_blocked", issue=issue, reported_by=reported_by)
    return {"action": "remediate", "issue": issue}


@checked
def handle_configuration_error(error: Any, task_id: str, *, log_event: LogEvent = _ignore) -> dict[str, Any]:
    """Return ``ask`` with the question for a person, its options and its context."""
    log_event("configuration_error", task_id=task_id, error_type=_type(error))
    return {
        "action": "ask",
        "task_id": task_id,
        "question": _field(error, "details", "") or f"{_type(error)}: what should be done?",
        "options": list(_field(error, "options", ())),
        "context": _field(error, "context", ""),
    }


@checked
def handle_unrecoverable_error(
    error: Any, context: Mapping[str, Any], *, log_event: LogEvent = _ignore
) -> dict[str, Any]:
    """Return ``halt`` with the reason."""
    log_event("workflow_failed", reason=_type(error), details=_field(error, "details", ""), context=context)
    return {"action": "halt", "reason": _type(error)}


def _type(error: Any) -> str:
    return str(_field(error, "type", ""))


def _field(error: Any, name: str, otherwise: Any) -> Any:
    """Return a field of an object or of a mapping; ``otherwise`` where it is missing or None."""
    found = error.get(name) if isinstance(error, Mapping) else getattr(error, name, None)
    return otherwise if found is None else found
