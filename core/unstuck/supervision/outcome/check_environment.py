"""Environment of a check that could not run: tried in the real tree and on the base."""

from __future__ import annotations

from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checks.check import Check
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit
from unstuck.workspace.git.refs import head

UNAVAILABLE = "env_unavailable"
AVAILABLE_ELSEWHERE = "env_disagreement"
_RAN = ("passed", "failed", "contradicted")
_TELLING = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "GOPATH", "CONDA_PREFIX")


async def explained(core: RunContext, row: TaskRow, done: Check) -> tuple[str, Clean]:
    """The kind of trouble and what to tell a person about it, after a try in the real tree and one on the base."""
    label, tree = row.attempt or row.id, core.workdir(core.tree_of(row))
    tried: dict[str, tuple[Path, Check]] = {}
    if row.task.isolation == "worktree" and core.worktrees is not None:
        real = await core.verifier.check(done.command, tree=core.workdir(core.root), label=f"{label}.real", again=False)
        tried["your own checkout"] = core.workdir(core.root), real
    if (base := await _on_base(core, done.command, label)) is not None:
        tried["the untouched base"] = base
    if not tried:
        return UNAVAILABLE, done.problem
    ran = [name for name, (_, check) in tried.items() if check.result in _RAN]
    if not ran:
        nowhere = " or ".join(f"in {name}" for name in tried)
        return UNAVAILABLE, admit(f"{done.problem}; nor could it {nowhere}", limit=800)
    places = [f"{tree} (this task's)", *(f"{place} ({name}): {check.result}" for name, (place, check) in tried.items())]
    surroundings = [f"{name}={core.environ[name]}" for name in _TELLING if core.environ.get(name)]
    advice = (
        "the task's worktree may need a `setup` in the plan"
        if row.task.isolation == "worktree"
        else "it may need a file that is not committed"
    )
    told = f"{done.problem}; it does run in {' and '.join(ran)}: {advice}. Command: {done.command}. "
    return AVAILABLE_ELSEWHERE, admit(
        f"{told}Directories: {', '.join(places)}. Environment: {', '.join(surroundings)}", limit=3_000
    )


def disagreement(core: RunContext, row: TaskRow, done: Check) -> Clean:
    """Return what to tell about a check that failed here and passed when the agent ran it; empty otherwise."""
    attempt = core.head.attempts.get(row.attempt)
    if done.result != "failed" or attempt is None or attempt.own_check != "passed":
        return Clean("")
    surroundings = ", ".join(f"{name}={core.environ[name]}" for name in _TELLING if core.environ.get(name))
    told = f"the check passed when the agent ran it and fails when unstuck runs `{done.command}` in"
    return admit(f"{told} {core.workdir(core.tree_of(row))}. Environment: {surroundings}", limit=3_000)


async def _on_base(core: RunContext, command: str, label: str) -> tuple[Path, Check] | None:
    """Return the check's result on the baseline, in a worktree of its own that is removed; None without a baseline."""
    if core.worktrees is None or core.repository is None or await head(core.repository) is None:
        return None
    try:
        async with core.worktrees.baseline(core.head.run.base) as tree:
            workdir = core.workdir(tree)
            if core.setup:
                await core.verifier.check(core.setup, tree=workdir, label=f"{label}.base.setup")
            return workdir, await core.verifier.check(command, tree=workdir, label=f"{label}.base", again=False)
    except (WorkspaceError, OSError) as error:
        return core.root, Check(result="could_not_run", problem=admit(str(error), limit=500))
