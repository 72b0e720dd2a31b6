"""The question of a stuck task: its report and its gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unstuck.escalation.precedence import AGENT_LINE
from unstuck.escalation.stuck_report import StuckReport, format_stuck_question, stuck_report
from unstuck.eventlog.state import TaskRow
from unstuck.eventlog.storage.text_files import write_text
from unstuck.supervision.checkpointing import changed, said_of
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.gates.gate_types import CHOICES, STUCK_CHOICES
from unstuck.supervision.gates.service import open_gate
from unstuck.supervision.memory.answer_memory import answered_before, remember_answers
from unstuck.supervision.outcome.agent_failure import about_ending, own_failure
from unstuck.supervision.outcome.consequences import consequences, dependents, tokens_by_level
from unstuck.supervision.outcome.failover import agents_tried
from unstuck.supervision.outcome.weakened_checks import weakened_by


async def ask(core: RunContext, row: TaskRow) -> None:
    """Write the stuck report and open the stuck gate."""
    directive = row.directive
    assert directive is not None
    saved = directive.saved if directive.saved != "none" else ""
    report = await reported(core, row, reason=directive.reason, saved=saved)
    name = f"reports/{row.attempt or row.id}.md"
    path = core.folder / name
    try:
        path.parent.mkdir(exist_ok=True, mode=0o700)
        await write_text(path, report.markdown())
    except OSError:  # such as a full disk: the question holds what matters
        name = ""
    if row.diagnosis is not None and row.diagnosis.identity:
        remember_answers(core, row, "failed", about=row.diagnosis.identity)
    context = described(core, row, report) | said_of(saved) | {"baseline": _before(row)}
    choices = CHOICES["stuck"]
    if row.task.verify is None:
        choices, context["refused"] = STUCK_CHOICES, {"check": "the task has no check"}
    open_gate(core, "stuck", task=row.id, key="stuck", context=context, report=name, choices=choices)


async def reported(core: RunContext, row: TaskRow, *, reason: str, saved: str = "") -> StuckReport:
    """Return the facts for a person who is asked about ``row``; ``saved`` is the checkpoint of its files."""
    own = own_failure(row) if row.directive is not None and row.directive.line == AGENT_LINE else ""
    return replace(
        stuck_report(row.id, row.climb, row.diagnosis, reason=reason, checkpoint=saved, own=own),
        touches=dependents(core.head, row.id),
        files=await changed(core, row),
        tokens=tokens_by_level(core.head, row.id),
        consequences=consequences(core.head, row),
        weakened=(await weakened_by(core, row)).lines,
        ending=about_ending(row).get("ending", "").removeprefix("the agent "),
        said=row.check.said if row.check else "",
    )


def described(core: RunContext, row: TaskRow, report: StuckReport) -> dict[str, Any]:
    """The context of the question, but for where the files are safe."""
    signature = row.diagnosis.identity if row.diagnosis else ""
    context: dict[str, Any] = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": report.summary,
        "location": report.location,
        "attempts": report.attempts,
        "analysis": report.analysis,
        "insights": [insight.splitlines()[0] for insight in report.insights if insight],
        "approaches": list(report.approaches),
        "touches": list(report.touches),
        "files": list(report.files),
        **({"weakened": list(report.weakened)} if report.weakened else {}),
        **about_ending(row),
        **agents_tried(core, row),
        "tokens": dict(report.tokens),
        "consequences": list(report.consequences),
        "question": format_stuck_question(report),
        "signature": signature,
        "failure_type": row.diagnosis.failure_type.value if row.diagnosis else "",
        "category": row.diagnosis.category.value if row.diagnosis else "",
    }
    if learnt := answered_before(core, signature):
        context["learnt"] = learnt
    return context


def _before(row: TaskRow) -> str:
    """Return whether what fails failed before the work, too; empty where that is not known. It decides nothing."""
    before = row.baseline_check
    if row.check is None or row.check.result != "failed" or before is None or row.diagnosis is None:
        return ""
    if before.result == "passed":
        return "passed before any work: the failure came with this work"
    if before.result != "failed":
        return ""
    same = before.identity == row.diagnosis.identity
    return f"failed before any work {'in the same way' if same else 'in another way'}"
