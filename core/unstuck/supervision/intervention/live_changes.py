"""What a person may look at while a run goes on, beside its record."""

from __future__ import annotations

from unstuck.errors import CheckpointUnknown
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit
from unstuck.workspace.checkpoints.manager import CheckpointStore

__all__ = ["changes_in", "changes_of"]


async def changes_of(core: RunContext, task: str) -> tuple[str, Clean]:
    """The checkpoint a task's files are compared with, and the unified diff from there to the files as they are now.

    That is the last one whose check passed, else the one it began with; both are empty where there is none. Raises
    WorkspaceError where the tree cannot be looked at.
    """
    row = core.head.tasks.get(task)
    return await changes_in(row, core.checkpoints(core.tree_of(row))) if row is not None else ("", admit(""))


async def changes_in(row: TaskRow, store: CheckpointStore) -> tuple[str, Clean]:
    """The same of a task whose checkpoints are in ``store``."""
    since = row.good or row.baseline
    if since in ("", "none"):
        return "", admit("")
    try:
        return since, await store.diff(since)
    except CheckpointUnknown:
        return "", admit("")
