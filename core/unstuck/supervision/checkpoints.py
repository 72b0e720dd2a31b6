"""The checkpoint manager: a tree's checkpoints for callers of the library."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from unstuck.clock import Clock, SystemClock
from unstuck.workspace.checkpoints import Change, Checkpoint, CheckpointStore, Restored
from unstuck.workspace.git import find_repository, project_home

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Saves and restores one work tree. Use :meth:`open`; methods raise WorkspaceError."""

    def __init__(self, store: CheckpointStore, run: str) -> None:
        self._store, self._run = store, run

    @classmethod
    async def open(cls, tree: Path, *, run: str = "manual", clock: Clock | None = None) -> Self:
        """The manager of the tree round ``tree``: its repository's, or the directory's own without git."""
        tree = tree.resolve()
        repository = await find_repository(tree)
        root = repository.root if repository is not None else tree
        store = CheckpointStore(root, project_home(root, repository), repository, clock=clock or SystemClock())
        return cls(store, run)

    async def create(self, reason: str = "on request", *, task: str = "") -> Checkpoint:
        """Save the tree; where nothing has changed, the last checkpoint again."""
        return await self._store.create(reason, run=self._run, task=task)

    async def list(self) -> tuple[Checkpoint, ...]:
        """All checkpoints of this tree, oldest first."""
        return await self._store.list()

    async def plan(self, id: str) -> tuple[Change, ...]:
        """What :meth:`restore` would change. Raises CheckpointUnknown."""
        return await self._store.plan(id)

    async def restore(self, id: str) -> Restored:
        """Set the tree back, after saving it as it is. Raises CheckpointUnknown."""
        return await self._store.restore(id, run=self._run)
