"""The worktree of an attempt, created and set up."""

from __future__ import annotations

from pathlib import Path

from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checkpointing import checkpoint, leave, take_up
from unstuck.supervision.checks.check import Check
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit, one_line

_FILES_NAMED, _COMMITS_NAMED = 30, 10


async def tree_ready(core: RunContext, row: TaskRow) -> Path:
    """Create the task's worktree, save it as the baseline, and return the agent's directory in it.

    Newer results on the run's branch are merged before the task's first attempt, and again after a repair of the
    baseline. The repair is not the task's work: in a worktree the baseline stays the one from before that work.
    """
    is_first = row.attempts == 0
    is_stale = is_first or row.saved_at < core.head.run.restored
    if row.task.isolation == "worktree" and core.worktrees is not None:
        tree = await core.worktrees.create(row.id)
        if is_stale:
            await leave(core, row, tree)
            await core.worktrees.refresh(row.id, f"{row.id}: so far")
        is_new = is_first
    else:
        tree, is_new = core.root, is_stale
    if is_new:
        await checkpoint(core, row, "baseline", purpose="baseline")
    else:
        await take_up(core, row, tree)
    workdir = core.workdir(tree)
    workdir.mkdir(parents=True, exist_ok=True)
    return workdir


async def merge_begun(core: RunContext, row: TaskRow) -> str:
    """Begin the merge that a person gave to the task's agent and return the note about it; empty without one."""
    given = any((gate.gate.type, gate.effect) == ("integration", "prepare") for gate in core.head.gates_of(row.id))
    if not given or row.integrated or core.worktrees is None:
        return ""
    conflict = await core.worktrees.begin_merge(row.id, f"{row.id}: so far")
    if conflict is None:
        return ""
    files = "\n".join(f"- {one_line(path, 200)}" for path in conflict.paths[:_FILES_NAMED])
    mine = "\n".join(f"- {subject}" for subject in conflict.mine[:_COMMITS_NAMED])
    theirs = "\n".join(f"- {subject}" for subject in conflict.theirs[:_COMMITS_NAMED])
    return (
        f"\n\nYour task is done, but its result conflicts with those of other tasks. The merge of "
        f"{core.worktrees.branch} has begun in this worktree, and these files have conflict markers:\n{files}\n"
        f"Between `<<<<<<<` and `=======` is your side:\n{mine}\n"
        f"Between `=======` and `>>>>>>>` is the side of the other results:\n{theirs}\n"
        "Keep what both sides want and remove every marker. Do not abort the merge. The check runs on the result."
    )


async def set_up(core: RunContext, row: TaskRow, workdir: Path) -> Clean:
    """Run the plan's ``setup`` once in a new worktree; return the reason why the attempt cannot start, or nothing.

    A setup that also fails on the untouched base is no fault of the task: it blocks the run until that is repaired.
    """
    trees = core.worktrees
    if not core.setup or row.task.isolation != "worktree" or trees is None or trees.is_set_up(row.id):
        return Clean("")
    done = await core.verifier.check(core.setup, tree=workdir, label=f"{row.id}.{row.attempts + 1}.setup")
    passed = done.exit_code == 0
    if passed:
        # Every attempt starts from the files after the setup.
        await checkpoint(core, row, "baseline", purpose="baseline")
        trees.mark_set_up(row.id)
    core.append(
        e.SetupFinished(
            passed=passed,
            seconds=round(done.seconds, 3),
            command=core.setup,
            exit_code=done.exit_code,
            output=done.output,
            evidence=Clean("") if passed else done.evidence,
        ),
        task=row.id,
    )
    if passed:
        return Clean("")
    if core.setup_fails is not None and await core.setup_fails():
        if core.row(row.id).state == "ready":
            event = e.InfrastructureBlocked(issue=setup_problem(core.setup, done), reported_by=row.id)
            core.append(event, task=row.id)
        return Clean("")
    return admit(f"{setup_problem(core.setup, done)}\n{done.evidence}", limit=4_000)


def setup_problem(setup: str, done: Check) -> Clean:
    """Return one line about a ``setup`` that failed."""
    said = next((line for line in reversed(done.text.splitlines()) if line.strip()), done.problem or "it said nothing")
    code = "" if done.exit_code is None else f" (exit {done.exit_code})"
    return admit(f"setup failed{code}: {one_line(setup)[:150]}: {one_line(said)}", limit=500)
