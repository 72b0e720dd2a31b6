"""The check of a task before its work: whether it can fail, and how far it comes with the first files."""

from __future__ import annotations

from pathlib import Path

from unstuck.diagnosis.extent import UNKNOWN_EXTENT
from unstuck.diagnosis.failure_counts import extent_of
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checkpointing import renew_baseline
from unstuck.supervision.checks.check import Check, settled
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean


async def check_baseline(core: RunContext, row: TaskRow, workdir: Path) -> None:
    """Run the check of ``row`` once on the files that its first attempt starts from, and record the result.

    Tasks that start with the same files share one result. A watched run has none: its agents are already at work.
    """
    command, within = row.task.verify, core.settings.check_policy.baseline
    is_due = row.attempts == 0 and row.baseline not in ("", "none") and row.baseline_check is None
    if not (command and within and is_due) or core.head.run.kind == "watch":
        return
    try:
        files = (await core.checkpoints(core.tree_of(row)).get(row.baseline)).tree
    except WorkspaceError:
        return
    shared = core.baselines[command, files]
    async with shared.lock:
        found = shared.check
        if found is None:
            label = f"{row.id}.baseline"
            found = await core.verifier.check(command, tree=workdir, label=label, again=False, within=within)
            # What the check itself writes is no work of the agent.
            await renew_baseline(core, row)
            shared.check = found
    if core.row(row.id).attempts == row.attempts:
        core.append(_event(core, core.row(row.id), found), task=row.id)


def _event(core: RunContext, row: TaskRow, found: Check) -> e.TaskBaselineChecked:
    check = settled(found, core.head.run.check_rules.get(found.command, "failed"))
    failure = None
    if check.result == "failed":
        failure = diagnose(check.text, exit_code=check.exit_code or 1, root=str(core.tree_of(row)), phase="test")
    return e.TaskBaselineChecked(
        result=check.result,
        checkpoint=row.baseline,
        command=check.command,
        exit_code=check.exit_code,
        seconds=round(check.seconds, 3),
        output=check.output,
        problem=check.problem,
        headline=failure.headline if failure else Clean(""),
        identity=failure.identity if failure else "",
        extent=extent_of(check.text, failure) if failure else UNKNOWN_EXTENT,
    )
