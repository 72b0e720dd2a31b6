"""Removal of worktrees, references and checkpoints of unstuck. Every step can be repeated after a kill."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.workspace.checkpoints.borrowed_commits import drop_pins, other_bases
from unstuck.workspace.checkpoints.checkpoint_index import Catalogue
from unstuck.workspace.git.repository import Repository, run_git
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.owned_refs import OwnTree
from unstuck.workspace.worktrees.worktree import TreePlace

LEAVING = ".removing-"
_TRIES, _PAUSE_S = 200, 0.05


def erase(path: Path) -> None:
    """Remove a file or a folder, whatever its permissions; of a link only the link. Raises OSError.

    A folder is renamed first, so that a half-removed one is never taken for a whole one.
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
    """Remove ``top`` and everything below it; builds leave folders that must be made writable first."""
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
    """Return the bytes of a file, or of all files below a folder; a link counts by its own size."""
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
    """Remove a worktree, its files and its git folder; ``folder`` holds the worktrees that unstuck made."""
    if tree.git_dir is None or tree.is_copied:
        await asyncio.to_thread(erase, tree.ours)
        return
    if tree.path.is_relative_to(folder):
        await TreePlace(repo, tree.path).dispose()
    else:  # the tree was moved: no file is renamed among those of a person
        await run_git(repo.root, "worktree", "remove", "--force", "--force", str(tree.path), check=False)
        await asyncio.to_thread(erase, tree.path)
    await asyncio.to_thread(erase, tree.git_dir)  # where git no longer sees its own folder for it


async def drop_half_gone(repo: Repository) -> None:
    """Remove git's folders for worktrees that a kill left half removed.

    `git worktree prune` would also remove the folder of a tree on a disk that is not mounted.
    """
    folder = repo.common / "worktrees"
    for place in folder.glob("*"):
        if not any((place / name).exists() for name in ("gitdir", "locked")):  # git locks one that it begins
            await asyncio.to_thread(erase, place)
    with suppress(OSError):
        folder.rmdir()  # as git does after the last one


async def drop_references(repo: Repository, references: Iterable[str]) -> None:
    """Delete ``references`` and the locks that a killed git left on them."""
    for name in references:
        (repo.common / f"{name}.lock").unlink(missing_ok=True)
        await run_git(repo.common, "update-ref", "-d", name)
    _leave_folders(repo)


async def drop_checkpoints(home: Path, repo: Repository | None, ids: Collection[str]) -> None:
    """Delete checkpoints, and free the objects that only they hold. Raises WorkspaceError while a save runs."""
    store = ObjectStore(home, repo)
    if not store.exists or not ids:
        return
    async with _alone(store):
        await Catalogue(store).drop(ids)
        await asyncio.to_thread(store.forget_trees)
        await store.prune()
    await drop_pins(store)


async def erase_checkpoints(home: Path, repo: Repository | None) -> None:
    """Remove all checkpoints below ``home``. Raises WorkspaceError while a save runs."""
    store = ObjectStore(home, repo)
    folder = store.directory.parent
    if folder.exists():
        async with _alone(store):
            await asyncio.to_thread(erase, folder)
    await asyncio.to_thread(erase, folder.with_name(LEAVING + folder.name))
    await store.unpin(await store.pinned() - await other_bases(home, repo))
    if repo is not None:
        _leave_folders(repo)


def _leave_folders(repo: Repository) -> None:
    """Remove the empty folders of references that unstuck made."""
    for above in ("refs/unstuck", "refs/heads/unstuck", "logs/refs/heads/unstuck"):
        for place, _, _ in os.walk(repo.common / above, topdown=False):
            with suppress(OSError):
                os.rmdir(place)


@asynccontextmanager
async def _alone(store: ObjectStore) -> AsyncIterator[None]:
    """Hold the store alone, after saves that are under way. Raises WorkspaceError after 10 s of waiting."""
    for _ in range(_TRIES):
        async with store.alone() as alone:
            if alone:
                yield
                return
        await asyncio.sleep(_PAUSE_S)
    raise WorkspaceError("another process is saving files: try again")
