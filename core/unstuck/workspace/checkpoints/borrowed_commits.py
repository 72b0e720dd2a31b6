"""Which of a person's commits the checkpoints borrow from, in every work tree of the repository."""

from __future__ import annotations

from pathlib import Path

from unstuck.workspace.checkpoints.checkpoint_index import Catalogue
from unstuck.workspace.git.repository import Repository
from unstuck.workspace.storage.object_store import ObjectStore

__all__ = ["drop_pins", "other_bases"]


async def drop_pins(store: ObjectStore) -> None:
    """Let go of the pinned commits from which nothing is borrowed any more, neither here nor in another work tree."""
    pinned = await store.pinned()  # first: what is pinned from now on is not ours to judge
    await store.unpin(pinned - await _borrowed(store) - await other_bases(store.home, store.repo))


async def other_bases(home: Path, repo: Repository | None) -> set[str]:
    """The commits from which the checkpoints of this repository's other work trees borrow; they stay pinned."""
    if repo is None:
        return set()
    first = repo.common / "unstuck"
    others = [other for other in (first, *first.glob("worktrees/*")) if other != home]
    return set().union(*[await _borrowed(ObjectStore(other, None)) for other in others])


async def _borrowed(store: ObjectStore) -> set[str]:
    """The commits from which this store's trees, and its checkpoints, borrow."""
    bases = {base.read_text().strip() for base in store.directory.glob("worktrees/*/base")}
    return bases | {checkpoint.base for checkpoint in await Catalogue(store).all()}
