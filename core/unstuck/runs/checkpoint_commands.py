"""Checkpoints of a project for commands and screens: listed and restored in all of its trees, beside a live run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.clock import SystemClock
from unstuck.errors import CheckpointUnknown, ProjectError, ProjectLocked, WorkspaceError
from unstuck.eventlog.storage.lock import RUN_LOCK, WATCH_LOCK, ProjectLock, read_holder
from unstuck.supervision.standalone.checkpoint_manager import bounds_of
from unstuck.text import one_line
from unstuck.workspace.checkpoints.manager import Change, Checkpoint, CheckpointStore, belongs, find_checkpoints
from unstuck.workspace.git.repository import project_home
from unstuck.workspace.project import Project

if TYPE_CHECKING:
    from unstuck.settings.models import Settings

_BECAME = {"change": "changed", "return": "added", "disappear": "deleted"}


def store_of(place: Project, root: Path, settings: Settings, *, gone: bool = False) -> CheckpointStore:
    """Return the checkpoints of the tree ``root``. Raises WorkspaceError where it is gone or not the project's.

    ``gone`` allows a missing tree, for reading its checkpoints only.
    """
    is_there = root.is_dir()
    if not is_there and not gone:
        raise WorkspaceError(f"the worktree {root} is gone")
    if is_there and not belongs(root, place.home, place.repository):
        raise WorkspaceError(f"{root} is not a worktree of {place.root}: its checkpoints belong to another project")
    home = project_home(place.root, place.repository)
    return CheckpointStore(root, home, place.repository, clock=SystemClock(), bounds=bounds_of(settings))


async def saved_as(place: Project, id: str) -> Checkpoint:
    """Return the checkpoint ``id`` of any tree of the project. Raises CheckpointUnknown."""
    for checkpoint in await find_checkpoints(place.home, place.repository):
        if checkpoint.id == id:
            return checkpoint
    raise CheckpointUnknown(f"no checkpoint {one_line(id)}: `unstuck checkpoints list` shows them")


@contextmanager
def nobody_at_work(place: Project, tree: Path) -> Iterator[None]:
    """Keep runs from starting; beside a live run the agents in ``tree`` must have ended or be suspended.

    Raises ProjectError with the task that works there.
    """
    project_home(place.root, place.repository)
    with ExitStack() as locks:
        for name in (RUN_LOCK, WATCH_LOCK):
            lock = ProjectLock(place.home / name, run="restore")
            try:
                locks.enter_context(lock)
            except ProjectLocked:
                _require_rest(place, tree, lock)
        yield


def _require_rest(place: Project, tree: Path, lock: ProjectLock) -> None:
    """Raise ProjectError where the holder of ``lock`` is no run, or has an agent at work in ``tree``."""
    from unstuck.runs.queries.run_list import task_at  # brings the record

    holder = read_holder(lock.path)
    if holder is None or not (place.runs / holder.run).is_dir():
        raise ProjectLocked(lock.path, holder.pid if holder else 0)
    if task := task_at(tree, place, holder.run):
        raise ProjectError(f"{task} of run {holder.run} works in {tree}: stop it, or wait for it, first")


@asynccontextmanager
async def kept_free(place: Project, tree: Path) -> AsyncIterator[None]:
    """Hold :func:`nobody_at_work` without blocking the event loop. Raises ProjectError."""
    free = nobody_at_work(place, tree)
    await asyncio.to_thread(free.__enter__)
    try:
        yield
    finally:
        free.__exit__(None, None, None)


def checkpoint_row(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return a checkpoint as a row: sizes in bytes, ``ignored`` as a count."""
    return {
        "id": checkpoint.id,
        "created": datetime.fromtimestamp(checkpoint.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "reason": checkpoint.reason,
        "run": checkpoint.run,
        "task": checkpoint.task,
        "tree": one_line(str(checkpoint.root)),
        "files": checkpoint.files,
        "not_covered": [{"path": one_line(entry.path), "why": entry.why} for entry in checkpoint.left_out],
        "ignored": checkpoint.ignored_count,
        "size": checkpoint.size,
    }


def full_row(checkpoint: Checkpoint, changes: tuple[Change, ...]) -> dict[str, Any]:
    """Return the row with the names of ignored files, and the changes since the checkpoint before."""
    names = [one_line(path) for path in checkpoint.ignored]
    return checkpoint_row(checkpoint) | {
        "ignored_names": names,
        "changes": [change_row(change) for change in changes],
    }


def change_row(change: Change, words: dict[str, str] = _BECAME) -> dict[str, Any]:
    """Return the change of one file, with its sizes in bytes before and after."""
    return {
        "path": one_line(change.path),
        "status": words[change.status],
        "before": change.before,
        "after": change.after,
    }
