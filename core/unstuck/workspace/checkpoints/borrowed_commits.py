"""Commits of the user from which checkpoints borrow files, in every worktree of the repository."""

from __future__ import annotations

from pathlib import Path

from unstuck.workspace.checkpoints.checkpoint_index import Catalogue
from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.git.repository import Repository
from unstuck.workspace.storage.object_store import ObjectStore


async def drop_pins(store: ObjectStore) -> None:
    """Remove the pins of commits from which no checkpoint of any worktree borrows."""
    pinned = await store.pinned()  # read first: later pins belong to other tasks
    await store.unpin(pinned - await _borrowed(store) - await other_bases(store.home, store.repo))


async def other_bases(home: Path, repo: Repository | None) -> set[str]:
    """Return the commits from which the checkpoints of the repository's other worktrees borrow."""
    if repo is None:
        return set()
    first = repo.common / "unstuck"
    others = [other for other in (first, *first.glob("worktrees/*")) if other != home]
    return set().union(*[await _borrowed(ObjectStore(other, None)) for other in others])


async def _borrowed(store: ObjectStore) -> set[str]:
    """Return the commits from which the trees and checkpoints of ``store`` borrow."""
    bases = {read_text(base).strip() for base in store.directory.glob("worktrees/*/base")}
    return bases | {checkpoint.base for checkpoint in await Catalogue(store).all()}
