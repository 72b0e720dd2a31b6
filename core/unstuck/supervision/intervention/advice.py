"""Advice on a failure that a live agent reports: the decision rules after an attempt, in words for the agent.

Nothing is restored or started: the agent is at work and follows the advice. Only where no advice is
left, a person is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstuck.contract import Report
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.precedence import BackOff, Decision, Direct, Facts, Halt, decide
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.attempt.preparation import gathered
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.types import Question
from unstuck.supervision.gates.gate_types import STUCK_CHOICES
from unstuck.supervision.memory.answer_memory import told_before
from unstuck.supervision.memory.failure_memory import ways_for
from unstuck.supervision.outcome.stuck_question import described, reported
from unstuck.text import Clean, admit

_LIMIT = 12_000
_WHAT = {
    "retry": "Keep your approach and mend this very problem, then run the same again.",
    "pivot": "Leave this approach and take another one: {approach}.",
    "research": "Do not try again yet. Understand it first: read {targets}; then name a new approach and follow it.",
    "continue": "Your context is full. Call checkpoint, sum up what is done and what is left, and end your turn.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A failure as the agent reports it; ``exit_code`` is None and ``approach`` empty where it does not say."""

    error: Clean
    exit_code: int | None = None
    approach: Clean = Clean("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """``text`` is for the agent; with a ``question`` a person has to be asked first. ``climb`` is where it stands.

    ``identity`` is that of the failure; empty where there is none.
    """

    text: Clean
    climb: Climb
    identity: str = ""
    question: Question | None = None


async def advise(core: RunContext, row: TaskRow, climb: Climb, said: Reported) -> Advice:
    """Return the advice for the agent at work on ``row`` about ``said``; ``climb`` is its level within the attempt."""
    found = diagnose(
        said.error,
        exit_code=said.exit_code,
        root=str(core.tree_of(row)),
        task_id=row.id,
        agent_id=row.task.agent,
        failed=True,
    )
    if found is None:
        return Advice(text=Clean("Exit code 0 is no failure. Go on."), climb=climb)
    row = replace(row, diagnosis=found, climb=climb)
    report = Report(exit_code=said.exit_code or 1, approach=said.approach or None)
    decision = decide(_facts(core, row, report), core.limits)
    match decision:
        case Direct(level="human", climb=climb, reason=reason):
            row = replace(row, climb=climb)
            context = described(core, row, await reported(core, row, reason=reason))
            question = Question(
                type="stuck", key="stuck", context=context, task=row.id, attempt=row.attempt, choices=STUCK_CHOICES
            )
            return Advice(text=_failure(found), climb=climb, identity=found.identity, question=question)
        case Direct(climb=climb) | BackOff(climb=climb):
            row = replace(row, climb=climb)
            return Advice(text=await _told(core, row, found, decision), climb=climb, identity=found.identity)
        case Halt(details=details):
            what = "Nothing is left to try, and nobody may be asked. Stop, and say in your answer what is in the way:"
            return Advice(text=admit(f"{what} {details}", limit=_LIMIT), climb=climb, identity=found.identity)
    return Advice(text=_failure(found), climb=climb, identity=found.identity)


def _facts(core: RunContext, row: TaskRow, report: Report) -> Facts:
    return Facts(
        check="failed",
        report=report,
        diagnosis=row.diagnosis,
        climb=row.climb,
        alternatives=ways_for(core.memory, core.limits, row, core.clock.now()),
        direct=row.mode == "direct",
        may_ask=core.may_ask,
        learnt=told_before(core.memory, row),
    )


async def _told(core: RunContext, row: TaskRow, found: Diagnosis, decision: Decision) -> Clean:
    parts: list[str] = [_failure(found)]
    if isinstance(decision, BackOff):
        parts.append(f"It may pass without a change: wait {decision.delay:g} s, then try the very same again.")
    elif isinstance(decision, Direct):
        parts += await _directed(core, row, decision)
    return admit("\n".join(parts), limit=_LIMIT)


async def _directed(core: RunContext, row: TaskRow, decision: Direct) -> list[str]:
    research = await gathered(core, row) if decision.level == "research" else None
    targets = ", ".join(research.targets) if research is not None else ""
    what = _WHAT[decision.level].format(
        approach=decision.approach.rstrip("."), targets=targets or "the code round the failure"
    )
    parts = [f"{_counted(core, row.climb, decision)}: {what}"]
    if decision.hint:
        parts.append(f"Hint: {decision.hint}")
    if decision.command:
        parts.append(f"The person's settings name a command for it; run it first: {decision.command}")
    if research is not None:
        parts += research.insights
    return parts


def _counted(core: RunContext, climb: Climb, decision: Direct) -> str:
    """Return the escalation level with its use, as shown elsewhere."""
    limits = core.limits
    used = {
        "retry": (climb.retries, limits.max_retries),
        "pivot": (climb.pivots, limits.max_pivots),
        "research": (climb.research, limits.max_research),
    }
    name = decision.level.capitalize()
    if decision.line != 10 or decision.level not in used:
        return name
    count, most = used[decision.level]
    return f"{name} {count}/{most}"


def _failure(found: Diagnosis) -> Clean:
    where = f" ({found.location})" if found.location and found.location not in found.headline else ""
    return admit(f"What failed: {found.headline}{where}", limit=1_000)
