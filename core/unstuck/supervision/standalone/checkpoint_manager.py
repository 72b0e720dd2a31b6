"""The checkpoint manager: a tree's checkpoints for callers of the library."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Self

from unstuck.arguments import checked
from unstuck.clock import Clock, SystemClock
from unstuck.errors import ArgumentError
from unstuck.text import Clean
from unstuck.workspace.checkpoints.manager import Bounds, Checkpoint, CheckpointStore, Plan, Restored
from unstuck.workspace.git.repository import find_repository, project_home

if TYPE_CHECKING:
    from unstuck.settings.models import Settings


def bounds_of(settings: Settings) -> Bounds:
    """Retention of checkpoints, set by the user."""
    return Bounds(
        count=settings.keep_checkpoints,
        days=settings.keep_checkpoint_days,
        size=settings.keep_checkpoint_bytes,
        file_limit=settings.checkpoint_file_limit,
    )


class CheckpointManager:
    """Saves and restores the files of a worktree. Use :meth:`open`; methods raise WorkspaceError.

    Example::

        manager = await CheckpointManager.open("path/to/project")
        saved = await manager.create("before the migration")
        await manager.restore(saved.id)
    """

    def __init__(self, store: CheckpointStore, run: str) -> None:
        self._store, self._run = store, run

    @classmethod
    @checked
    async def open(
        cls, tree: Path | str, *, run: str = "manual", clock: Clock | None = None, bounds: Bounds | None = None
    ) -> Self:
        """Return the manager of the repository around ``tree``; without git, of the directory itself.

        Raises RecordError where the directory for what Unstuck keeps is a link.
        """
        if "\0" in str(tree):
            raise ArgumentError(f"CheckpointManager.open: tree must be a path, not {str(tree)!r}")
        tree = Path(tree).resolve()
        repository = await find_repository(tree)
        root = repository.root if repository is not None else tree
        home = project_home(root, repository)
        return cls(CheckpointStore(root, home, repository, clock=clock or SystemClock(), bounds=bounds), run)

    @checked
    async def create(
        self, reason: str = "on request", *, task_id: str = "", yes: bool = False, task: str = ""
    ) -> Checkpoint:
        """Save the files and return the checkpoint; without a change, the last one. Raises TreeTooLarge without a yes.

        ``task`` is the old name of ``task_id``.
        """
        return await self._store.create(reason, run=self._run, task=task_id or task, yes=yes)

    async def list(self) -> tuple[Checkpoint, ...]:
        """All checkpoints of this directory, oldest first."""
        return await self._store.list()

    @checked
    async def diff(self, a: str, b: str | None = None, *, paths: Collection[str] = ()) -> Clean:
        """The unified diff from ``a`` to ``b``, or to the files as they are. Raises CheckpointUnknown."""
        return await self._store.diff(a, b, paths=paths)

    @checked
    async def plan(self, id: str, *, paths: Collection[str] = ()) -> Plan:
        """Return the changes that :meth:`restore` would make. Raises CheckpointUnknown."""
        return await self._store.plan(id, paths=paths)

    @checked
    async def restore(self, id: str, *, paths: Collection[str] = ()) -> Restored:
        """Save the files as they are, then restore all of them, or only ``paths``. Raises CheckpointUnknown."""
        return await self._store.restore(id, run=self._run, paths=paths)

    async def undo(self) -> Restored:
        """Take the last restore back. Raises WorkspaceError where there was none."""
        return await self._store.undo(run=self._run)
