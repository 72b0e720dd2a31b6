"""A check that could not run: is it the whole environment, or only this work tree?"""

from __future__ import annotations

from unstuck.errors import WorkspaceError
from unstuck.record.state import TaskRow
from unstuck.supervision.core import Core
from unstuck.supervision.verification import Check
from unstuck.text import Clean, admit

__all__ = ["AVAILABLE_ELSEWHERE", "UNAVAILABLE", "explained"]

UNAVAILABLE = "env_unavailable"
AVAILABLE_ELSEWHERE = "env_disagreement"
_RAN = ("passed", "failed")


async def explained(core: Core, row: TaskRow, done: Check) -> tuple[str, Clean]:
    """The kind of trouble and what to tell a person about it, after a try in the real tree and one on the base."""
    if row.task.isolation != "worktree" or core.worktrees is None:
        return UNAVAILABLE, done.problem
    label = row.attempt or row.id
    real = await core.verifier.check(done.command, tree=core.workdir(core.root), label=f"{label}.real", again=False)
    try:
        async with core.worktrees.baseline() as tree:
            base = await core.verifier.check(done.command, tree=core.workdir(tree), label=f"{label}.base", again=False)
    except WorkspaceError as error:
        base = Check(result="could_not_run", problem=admit(str(error), limit=500))
    ran = [name for name, check in (("your own tree", real), ("the untouched base", base)) if check.result in _RAN]
    if not ran:
        return UNAVAILABLE, admit(f"{done.problem}; nor could it in your own tree or on the untouched base", limit=800)
    advice = "the task's work tree may need a `setup` in the plan"
    return AVAILABLE_ELSEWHERE, admit(f"{done.problem}; it does run in {' and '.join(ran)}: {advice}", limit=800)
