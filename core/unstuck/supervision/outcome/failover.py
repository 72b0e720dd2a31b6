"""Failover: another agent goes on with a task in place of a question or of a long wait."""

from __future__ import annotations

from typing import Literal

from unstuck.diagnosis.agent_messages.outages import OUTAGE
from unstuck.escalation.precedence import AGENT_LINE, AskQuestion, BackOff, Decision, Direct, Facts, Halt
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.memory.failure_memory import remember_failed
from unstuck.supervision.outcome.agent_failure import failed_itself
from unstuck.text import Clean, one_line

Reason = Literal["agent", "outage", "stuck"]
_STUCK_LINES = (5, AGENT_LINE, 9, 10)
_WHY_LIMIT = 400


def reason_of(decision: Decision, facts: Facts) -> Reason | None:
    """Return why another agent may go on in place of ``decision``; None where it would not help, or a person chose."""
    match decision:
        case _ if facts.over:
            return None
        case BackOff(quota=True) if not failed_itself(facts.report) and not _is_outage(facts):
            return None  # the check waits for a service, as it would with any agent
        case BackOff(quota=True) | BackOff(outage=True) | AskQuestion(key="quota"):
            return "outage"
        case Halt(reason="rate_limit" | "agent_outage"):
            return "outage"
        case AskQuestion(key="agent"):
            return "agent"
        case Halt(reason=reason) if reason.startswith("agent_"):
            return "agent"
        case Direct(level="human", line=line) | Halt(line=line) if line in _STUCK_LINES:
            return "stuck"
    return None


def _is_outage(facts: Facts) -> bool:
    return facts.diagnosis is not None and OUTAGE in facts.diagnosis.signature.metadata


def hand_on(core: RunContext, row: TaskRow, decision: Decision, facts: Facts) -> bool:
    """Record that the next agent goes on, in place of ``decision``; False where that does not apply or none is left."""
    reason = reason_of(decision, facts) if row.failover and core.agent_for is not None else None
    if reason is None:
        return False
    name, skipped = _next_agent(core, row)
    if not name:
        return False
    if reason == "stuck" and isinstance(decision, Direct):
        remember_failed(core, row, decision.climb)
    climb = decision.climb if isinstance(decision, Direct) else row.climb
    event = e.AgentReplaced(
        task_id=row.id,
        before=row.task.agent,
        agent=name,
        agent_type=core.agent_types.get(name, "default"),
        reason=reason,
        climb=climb.handed_on(),
        why=_why(row),
        skipped=tuple(one_line(one, _WHY_LIMIT) for one in skipped),
        restore="passing" if core.settings.failover_files == "passing" else "",
    )
    core.append(event, task=row.id, attempt=row.attempt)
    return True


def agents_tried(core: RunContext, row: TaskRow) -> dict[str, list[str]]:
    """Return the fact of a question about the agents that have tried, and those that cannot be used."""
    if not row.failover:
        return {}
    told = [f"{change.before}: {change.why}" for change in row.failovers]
    told.append(f"{row.task.agent}: {_why(row)}")
    return {"agents": [*told, *(one.replace(": ", ": left out: ", 1) for one in _next_agent(core, row)[1])]}


def _next_agent(core: RunContext, row: TaskRow) -> tuple[str, list[str]]:
    """Return the next agent that has not tried and can be used, and those before it that cannot, with the reason."""
    tried = {row.task.agent, *(change.before for change in row.failovers)}
    skipped: list[str] = []
    for name in row.failover:
        if name in tried:
            continue
        why = core.unfit(name)
        if not why:
            return name, skipped
        skipped.append(f"{name}: {why}")
    return "", skipped


def _why(row: TaskRow) -> Clean:
    said = row.diagnosis.headline if row.diagnosis is not None else ""
    return one_line(said or (row.check.ending if row.check else "") or "it could not go on", _WHY_LIMIT)
