"""Cleanup of finished worktrees: those without unmerged work are removed, the others stay with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.storage.run_store import ended
from unstuck.supervision.context.context import RunContext
from unstuck.text import admit
from unstuck.workspace.worktrees.unmerged_work import Cleaned, Kept

__all__ = ["clean_old", "clean_own"]


async def clean_own(core: RunContext) -> None:
    """Clean the worktrees of the run at its end."""
    if core.worktrees is None or all(row.task.isolation != "worktree" for row in core.head.tasks.values()):
        return
    try:
        _say(core, await core.worktrees.clean())
    except (WorkspaceError, OSError) as error:
        _say(core, Cleaned((), (Kept(core.worktrees.branch, str(error)),)))


async def clean_old(core: RunContext, runs: Path, removed: Iterable[str]) -> None:
    """At the beginning of a run those of earlier ones: of such as have ended, and of ``removed``, whose record is gone.

    What cannot be cleaned now is cleaned another time.
    """
    trees, gone = core.worktrees, frozenset(removed)
    if trees is None:
        return
    for run in sorted({*trees.runs(), *gone} - {core.run}):
        if run not in gone and not await asyncio.to_thread(ended, runs, run):
            continue
        try:
            cleaned = await trees.of(run).clean()
            if run in gone:
                await trees.of(run).forget()
        except (WorkspaceError, OSError):
            continue
        if cleaned.removed:
            _say(core, cleaned, of=run)


def _say(core: RunContext, cleaned: Cleaned, *, of: str = "") -> None:
    kept = tuple(admit(f"{kept.place}: {kept.reason}", limit=500) for kept in cleaned.kept[:MAX_PATHS_IN_EVENT])
    if cleaned.removed or kept:
        core.append(e.TreesCleaned(removed=cleaned.removed, kept=kept, of=of))
