"""The question of a task that is stuck: its report and its gate."""

from __future__ import annotations

import aiofiles

from unstuck.escalation.report import format_stuck_question, stuck_report
from unstuck.record.state import TaskRow
from unstuck.supervision.asking import open_gate
from unstuck.supervision.core import Core
from unstuck.supervision.learning import answered_before, remember_answers
from unstuck.supervision.saving import changed, said_of
from unstuck.supervision.touching import consequences, dependents, used_by_rung

__all__ = ["ask"]


async def ask(core: Core, row: TaskRow) -> None:
    """Write the stuck report and open the stuck gate."""
    directive = row.directive
    assert directive is not None
    touches = dependents(core.head, row.id)
    saved = directive.saved if directive.saved != "none" else ""
    before = await _before(core, row)
    report = stuck_report(
        row.id,
        row.climb,
        row.diagnosis,
        reason=directive.reason,
        checkpoint=saved,
        touches=touches,
        files=await changed(core, row),
        tokens=used_by_rung(core.head, row.id),
        consequences=consequences(core.head, row),
    )
    name = f"reports/{row.attempt or row.id}.md"
    path = core.folder / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    async with aiofiles.open(path, "w", encoding="utf-8") as file:
        await file.write(report.markdown())
    signature = row.diagnosis.identity if row.diagnosis else ""
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": report.summary,
        "location": report.location,
        "attempts": report.attempts,
        "analysis": report.analysis,
        "insights": [insight.splitlines()[0] for insight in report.insights if insight],
        "approaches": list(report.approaches),
        **said_of(saved),
        "touches": list(touches),
        "files": list(report.files),
        "tokens": dict(report.tokens),
        "consequences": list(report.consequences),
        "question": format_stuck_question(report),
        "signature": signature,
        "baseline": before,
    }
    if signature:
        remember_answers(core, row, "failed", about=signature)
    if learnt := answered_before(core, signature):
        context["learnt"] = learnt
    open_gate(core, "stuck", task=row.id, key="stuck", context=context, report=name)


async def _before(core: Core, row: TaskRow) -> str:
    """Whether what fails failed before the agent came, for the one task of a command; empty where nobody can say.

    Its check is its goal and may fail beforehand, so this decides nothing: it is for the person who is asked.
    """
    failed = row.check is not None and row.check.result == "failed"
    if core.head.run.kind != "command" or not failed or core.baseline_check is None:
        return ""
    if not core.head.run.baseline:
        await core.baseline_check()
    run = core.head.run
    if run.baseline == "passed":
        return "passes on the last commit: it came with this work, or with changes that are not committed"
    if run.baseline != "failed" or row.diagnosis is None:
        return ""
    same = run.baseline_identity == row.diagnosis.identity
    return f"fails on the last commit {'in the same way' if same else 'in another way'}: it did before this work"
