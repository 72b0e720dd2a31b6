"""Taking away what is ours, and nothing else. Every step can be repeated after a kill and ends in the same state."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from unstuck.errors import WorkspaceError
from unstuck.workspace.checkpoints.borrowed_commits import drop_pins, other_bases
from unstuck.workspace.checkpoints.checkpoint_index import Catalogue
from unstuck.workspace.git.repository import Repository, run_git
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.owned_refs import OwnTree
from unstuck.workspace.worktrees.worktree import TreePlace

__all__ = [
    "LEAVING", "drop_checkpoints", "drop_half_gone", "drop_references", "drop_tree", "erase", "erase_checkpoints",
    "size_of",
]  # fmt: skip

LEAVING = ".removing-"
_TRIES, _PAUSE_S = 200, 0.05


def erase(path: Path) -> None:
    """Take a file or folder away, whatever may be read or written in it; of a link only the link. Raises OSError.

    A folder gets a name of its own first, so that nothing that is half gone passes for whole.
    """
    try:
        is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return
    if not is_folder:
        path.unlink(missing_ok=True)
        return
    leaving = path if path.name.startswith(LEAVING) else path.with_name(LEAVING + path.name)
    if leaving != path:
        _remove(leaving)
        path.rename(leaving)
    _remove(leaving)


def _remove(top: Path) -> None:
    """Everything below ``top`` and itself; a folder that may not be written to is made so, as a build leaves some."""
    for folder, folders, _ in os.walk(top):
        with suppress(OSError):
            os.chmod(folder, stat.S_IRWXU)
        for name in folders:
            place = os.path.join(folder, name)
            if not os.path.islink(place) and not os.access(place, os.R_OK | os.W_OK | os.X_OK):
                with suppress(OSError):
                    os.chmod(place, stat.S_IRWXU)  # before it is looked into
    with suppress(FileNotFoundError):
        shutil.rmtree(top)


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files below a folder; links count for themselves."""
    with suppress(OSError):
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


async def drop_tree(repo: Repository, tree: OwnTree, folder: Path) -> None:
    """Take a work tree away, whatever is in it, with what git keeps of it; ``folder`` is where ours are made."""
    if tree.git_dir is None or tree.is_copied:
        await asyncio.to_thread(erase, tree.ours)
        return
    if tree.path.is_relative_to(folder):
        await TreePlace(repo, tree.path).dispose()
    else:  # somebody has moved it: nothing gets another name among their files
        await run_git(repo.root, "worktree", "remove", "--force", "--force", str(tree.path), check=False)
        await asyncio.to_thread(erase, tree.path)
    await asyncio.to_thread(erase, tree.git_dir)  # where git no longer sees its own folder for it


async def drop_half_gone(repo: Repository) -> None:
    """Finish what a kill has left half done: git's own folder for a tree, of which nobody knows whose it was.

    `git worktree prune` would also take one without an index whose tree is only away, as on a disk that is not there.
    """
    folder = repo.common / "worktrees"
    for place in folder.glob("*"):
        if not any((place / name).exists() for name in ("gitdir", "locked")):  # git locks one that it begins
            await asyncio.to_thread(erase, place)
    with suppress(OSError):
        folder.rmdir()  # git does so, too, behind the last one


async def drop_references(repo: Repository, references: Iterable[str]) -> None:
    """Delete these references, with the locks that a killed git has left on them."""
    for name in references:
        (repo.common / f"{name}.lock").unlink(missing_ok=True)
        await run_git(repo.common, "update-ref", "-d", name)
    _leave_folders(repo)


async def drop_checkpoints(home: Path, repo: Repository | None, ids: Collection[str]) -> None:
    """Let go of these checkpoints, and free what only they hold. Raises WorkspaceError while somebody is saving."""
    store = ObjectStore(home, repo)
    if not store.exists or not ids:
        return
    async with _Alone(store):
        await Catalogue(store).drop(ids)
        await asyncio.to_thread(store.forget_trees)
        await store.prune()
    await drop_pins(store)


async def erase_checkpoints(home: Path, repo: Repository | None) -> None:
    """Take all checkpoints of this home away. Raises WorkspaceError while somebody is saving."""
    store = ObjectStore(home, repo)
    folder = store.directory.parent
    if folder.exists():
        async with _Alone(store):
            await asyncio.to_thread(erase, folder)
    await asyncio.to_thread(erase, folder.with_name(LEAVING + folder.name))
    await store.unpin(await store.pinned() - await other_bases(home, repo))
    if repo is not None:
        _leave_folders(repo)


def _leave_folders(repo: Repository) -> None:
    """Remove the folders of references of ours in which nothing is any more."""
    for above in ("refs/unstuck", "refs/heads/unstuck", "logs/refs/heads/unstuck"):
        for place, _, _ in os.walk(repo.common / above, topdown=False):
            with suppress(OSError):
                os.rmdir(place)


class _Alone:
    """The store for us alone: who is just saving comes to the end of it first."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._held: Any = None

    async def __aenter__(self) -> None:
        for _ in range(_TRIES):
            self._held = self._store.alone()
            if await self._held.__aenter__():
                return
            await self._held.__aexit__(None, None, None)
            await asyncio.sleep(_PAUSE_S)
        raise WorkspaceError("another process is saving files: try again")

    async def __aexit__(self, *error: Any) -> None:
        await self._held.__aexit__(*error)
