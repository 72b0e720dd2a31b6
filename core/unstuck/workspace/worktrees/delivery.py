"""The way of a run's results into the branch of a person: whole, or not at all.

The commit that is to arrive is made elsewhere first, so that the person's own tree only ever moves forward to it, by
git itself. What a killed git, or a full disk, has left half done there is taken back and done again.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Awaitable, Callable, Collection
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from unstuck.errors import DeliveryRefused, GitError, IntegrationConflict
from unstuck.processes import working_in
from unstuck.workspace.git.file_lock import locked
from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.refs import commit_at
from unstuck.workspace.git.repo_status import Tree, changed_in, is_locked, trees, under_way
from unstuck.workspace.git.repository import DELIVERY, Repository, Result, join_paths, run_git, split_paths
from unstuck.workspace.worktrees.worktrees import Worktrees

How = Literal["fast_forward", "merge"]
Settled = Literal["", "delivered", "undone", "busy"]

_PINS = "refs/unstuck/deliveries/"
_BRANCHES = "refs/heads/"
_LEFT_OUT = "S"
Save = Callable[[Path], Awaitable[Collection[str]]]
_FORWARD = ("--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-verify-signatures", "--no-stat", "--quiet")


@dataclass(frozen=True, slots=True)
class _Move:
    """The person's branch is to go from ``before`` to ``goal``; ``tree`` is where it is checked out, if anywhere."""

    branch: str
    before: str
    goal: str
    tree: Tree | None


class _Row(NamedTuple):
    """A file that the two commits have differently: its modes, its blobs, and git's letter for it."""

    old_mode: str
    new_mode: str
    old: str
    new: str
    kind: str
    path: str


class Delivery:
    """Brings the results of ``worktrees`` into ``branch`` of the person's repository.

    ``save`` saves the files of a tree, and returns the paths that it could not.
    """

    def __init__(
        self, repo: Repository, worktrees: Worktrees, run: str, branch: str, *, save: Save | None = None
    ) -> None:
        self._repo, self._worktrees, self._run, self._branch = repo, worktrees, run, branch
        self._save = save
        self._pin = _PINS + run

    async def deliver(self, how: How) -> str:
        """Bring the run's results in and return the commit at which the branch then is; again changes nothing.

        Raises DeliveryRefused with the paths it is about, and the branch, its index and its files as they were.
        """
        async with _alone(self._repo) as lock:
            await self._settle()
            before, tip = await self._commit(), await self._worktrees.tip()
            if await self._contains(before, tip):
                return before
            tree = await self._holder()
            if tree is not None:
                await self._require_clean(tree)
            goal = tip if await self._contains(tip, before) else await self._merged(how, before, tip)
            move = _Move(self._branch, before, goal, tree)
            await self._make_room(move)
            self._lock_of(self._pin).unlink(missing_ok=True)  # of a dead git: we hold the delivery's lock
            await self._git("update-ref", self._pin, goal)
            await self._go(move, lock)
            with suppress(GitError):  # it has arrived; what is left over is seen to the next time
                await self._git("update-ref", "-d", self._pin)
            return goal

    async def settle(self) -> Settled:
        """Undo what a killed delivery has left half done; return what became of it, ``busy`` where git is at work."""
        async with _alone(self._repo):
            return await self._settle()

    async def _git(self, *arguments: str) -> str:
        return (await run_git(self._repo.root, *arguments)).line

    async def _contains(self, tip: str, commit: str) -> bool:
        found = await run_git(self._repo.root, "merge-base", "--is-ancestor", commit, tip, check=False)
        return found.code == 0

    async def _commit(self) -> str:
        found = await run_git(
            self._repo.root, "rev-parse", "--verify", "--quiet", f"{_BRANCHES}{self._branch}^{{commit}}", check=False
        )
        if found.code:
            raise DeliveryRefused(f"the branch {self._branch} is gone")
        return found.line

    async def _holder(self) -> Tree | None:
        """The work tree in which the branch is checked out, or would be again after what is under way there."""
        return next((tree for tree in await trees(self._repo) if tree.branch == self._branch), None)

    async def _require_clean(self, tree: Tree) -> None:
        if not tree.path.is_dir():
            raise DeliveryRefused(f"{self._branch} is checked out in {tree.path}, which is missing: git worktree prune")
        if what := under_way(tree.git_dir):
            raise DeliveryRefused(f"{tree.path} is in the middle of {what}: end it first")
        if is_locked(tree.git_dir):
            lock = tree.git_dir / "index.lock"
            raise DeliveryRefused(f"git is at work in {tree.path}; if none is, one has died: remove {lock}")
        if changed := await changed_in(tree.path):
            raise DeliveryRefused(f"{tree.path} has uncommitted changes: commit or stash them", changed)

    async def _merged(self, how: How, before: str, tip: str) -> str:
        if how == "fast_forward":
            raise DeliveryRefused(f"{self._branch} has commits that the run did not begin with: only a merge can do it")
        message = f"Merge branch '{self._worktrees.branch}' into {self._branch}\n"
        try:
            return await self._worktrees.merged(before, tip, message)
        except IntegrationConflict as conflict:
            raise DeliveryRefused(
                f"the results do not fit to {self._branch}: git merge {self._worktrees.branch}", conflict.paths
            ) from None

    async def _make_room(self, move: _Move) -> None:
        """Refuse where a result would go over something that git does not see: a stranger, or an overlooked change."""
        if move.tree is None:
            return
        place, rows = move.tree.path, await self._rows(move)
        tags = await _tags(place)
        coming = [row.path for row in rows if row.kind in "AT"]
        in_the_way = await asyncio.to_thread(_strangers, place, coming, tags.keys())
        if in_the_way:
            raise DeliveryRefused(f"files of yours in {place} stand in the place of results", in_the_way)
        overlooked = [row for row in rows if tags.get(row.path) == _LEFT_OUT or tags.get(row.path, "H").islower()]
        changed = [row.path for row in overlooked if await self._differs(place, row)]
        if changed:
            raise DeliveryRefused(f"{place} has changes that git was told to overlook", tuple(changed))
        only_here = [row.path for row in rows if await _is_only_here(place, row)]
        unsaved = set(only_here).intersection(await self._save(place) if only_here and self._save else only_here)
        if unsaved:
            said = f"{place} has content that your filters keep out of commits, and results would go over it"
            raise DeliveryRefused(said, tuple(sorted(unsaved)))

    async def _rows(self, move: _Move) -> list[_Row]:
        """Return the changes to deliver, file by file."""
        command = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", move.before, move.goal)
        fields = split_paths((await run_git(self._repo.root, *command)).out)
        pairs = zip(fields[::2], fields[1::2], strict=True)
        return [_Row._make([*head.lstrip(":").split(" "), path]) for head, path in pairs]

    @staticmethod
    async def _differs(tree: Path, row: _Row) -> bool:
        if not os.path.lexists(tree / row.path):
            return False  # left out of a sparse checkout
        return await _blob_at(tree, row.path) != row.old

    async def _go(self, move: _Move, lock: int) -> None:
        if move.tree is None:
            said = f"unstuck: results of {self._run}"
            await self._git("update-ref", "-m", said, f"{_BRANCHES}{move.branch}", move.goal, move.before)
            return
        index = move.tree.git_dir / "index"
        saved = await asyncio.to_thread(read_bytes, index)
        said = await self._forward(move.tree, move, lock)
        if not said and await self._commit() == move.goal:
            return
        await self._take_back(move)
        await asyncio.to_thread(_put_back, index, saved)
        await self._git("update-ref", "-d", self._pin)
        raise DeliveryRefused(f"git could not bring the results to {move.branch}: {said}")

    async def _forward(self, tree: Tree, move: _Move, lock: int) -> str:
        """Update branch, index and files to the goal with git; return why it failed, empty where it worked."""
        settings = ("-c", f"branch.{move.branch}.mergeOptions=") if "=" not in move.branch else ()
        going = asyncio.ensure_future(
            run_git(
                tree.path,
                *settings,
                "merge",
                *_FORWARD,
                move.goal,
                environment={"GIT_REFLOG_ACTION": f"unstuck: results of {self._run}"},
                user_config=True,
                inherit=(lock,),
            )
        )
        try:
            await asyncio.shield(going)
        except asyncio.CancelledError:
            await asyncio.wait((going,))  # a caller that does not wait does not want half of it either
            raise
        except GitError as error:
            if error.code < 0:  # killed, such as for want of room: nobody else could hold what it held
                (tree.git_dir / "index.lock").unlink(missing_ok=True)
            return error.said
        return ""

    async def _settle(self) -> Settled:
        goal, before = await commit_at(self._repo, self._pin), await commit_at(self._repo, _BRANCHES + self._branch)
        if goal is None:
            return ""
        tree = await self._holder()
        locks = [self._lock_of(_BRANCHES + self._branch), self._lock_of(self._pin)]
        if tree is not None:
            locks += [tree.git_dir / f"{name}.lock" for name in ("index", "HEAD", "ORIG_HEAD")]
        left = [lock for lock in locks if lock.exists()]
        place = tree.path if tree is not None else self._repo.root
        if bool(left) and await asyncio.to_thread(_has_git, place):
            return "busy"
        for lock in left:  # the git of that delivery is dead, or we would not hold its lock
            lock.unlink(missing_ok=True)
        arrived = before is not None and await self._contains(before, goal)
        if tree is not None and before is not None and not arrived and await self._contains(goal, before):
            await self._take_back(_Move(self._branch, before, goal, tree))
        await self._git("update-ref", "-d", self._pin)
        return "delivered" if arrived else "undone"

    def _lock_of(self, reference: str) -> Path:
        return self._repo.common / f"{reference}.lock"

    async def _take_back(self, move: _Move) -> None:
        """Set back those files that are between ``before`` and ``goal``; a person's own changes stay.

        Everything tracked was as in ``before``, so nothing is lost that is not in a commit.
        """
        assert move.tree is not None
        place = move.tree.path
        await run_git(place, "update-index", "-q", "--refresh", check=False, user_config=True)
        mine = [row for row in await self._rows(move) if await self._is_between(place, row)]
        entries = b"".join(_entry(row) for row in mine)
        if not entries:
            return
        tags = await _tags(place)
        left_out = {
            row.path for row in mine if tags.get(row.path) == _LEFT_OUT and not os.path.lexists(place / row.path)
        }
        await run_git(place, "update-index", "-z", "--index-info", stdin=entries, user_config=True)
        if left_out:
            command = ("update-index", "-z", "--skip-worktree", "--stdin")
            await run_git(place, *command, stdin=join_paths(left_out), user_config=True)
        for row in mine:
            if row.kind == "A":
                _remove_new(place, row.path)
        back = join_paths(row.path for row in mine if row.kind != "A" and row.path not in left_out)
        if back:
            await run_git(place, "checkout-index", "-f", "-u", "-z", "--stdin", stdin=back, user_config=True)

    @staticmethod
    async def _is_between(tree: Path, row: _Row) -> bool:
        """Return whether a file is one of ours: gone, as it is to be, or the beginning of that."""
        file = tree / row.path
        if not os.path.lexists(file):
            return True
        if row.kind == "D":
            return False
        if await _blob_at(tree, row.path) == row.new:
            return True
        if file.is_symlink() or not file.is_file():
            return False
        whole = await _checked_out(tree, row.path, row.new)
        return whole.code == 0 and whole.out.startswith(await asyncio.to_thread(file.read_bytes))


async def cut_off(repo: Repository, patience: float = 0.0) -> list[str]:
    """Return the runs whose delivery was killed; none while one is at work, after ``patience`` seconds of waiting."""
    listed = await run_git(repo.root, "for-each-ref", "--format=%(refname)", _PINS)
    runs = [name.removeprefix(_PINS) for name in listed.line.split()]
    try:
        async with asyncio.timeout(patience or None):
            async with _alone(repo, fcntl.LOCK_SH if runs and patience else fcntl.LOCK_SH | fcntl.LOCK_NB):
                return runs
    except (BlockingIOError, TimeoutError):
        return []


def _alone(repo: Repository, how: int = fcntl.LOCK_EX) -> AbstractAsyncContextManager[int]:
    """Hold the lock that git inherits, so that a git of a killed delivery has ended before the next one."""
    return locked(repo.common / "unstuck" / DELIVERY, how)


def _has_git(tree: Path) -> bool:
    """Return whether a git is at work in a worktree: an open editor of a commit, for one."""
    for pid, _ in working_in(tree):
        with suppress(psutil.Error):
            if psutil.Process(pid).name().startswith("git"):
                return True
    return False


async def _checked_out(tree: Path, path: str, blob: str) -> Result:
    """Return the bytes that git writes to a path for ``blob``, with the user's filters."""
    return await run_git(tree, "cat-file", "--filters", f"--path={path}", blob, check=False, user_config=True)


async def _is_only_here(tree: Path, row: _Row) -> bool:
    """Return whether a file holds what git could not write again: a filter has left some of it out of the commit."""
    file = tree / row.path
    if row.kind == "A" or not row.old_mode.startswith("100") or file.is_symlink() or not file.is_file():
        return False
    content = await asyncio.to_thread(file.read_bytes)
    digest = hashlib.sha1 if len(row.old) == 40 else hashlib.sha256
    if digest(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == row.old:
        return False
    again = await _checked_out(tree, row.path, row.old)
    return again.code != 0 or again.out != content


async def _blob_at(tree: Path, path: str) -> str:
    """The id that git gives to a file as it is, a link for where it leads; empty for what git does not take."""
    file = tree / path
    if file.is_symlink():
        target = os.fsencode(os.readlink(file))
        return (await run_git(tree, "hash-object", "--stdin", stdin=target)).line
    if not file.is_file():
        return ""  # git would wait at a pipe for ever
    return (await run_git(tree, "hash-object", "--", path, check=False, user_config=True)).line


async def _tags(tree: Path) -> dict[str, str]:
    """Git's letter for every file that it knows in a tree: ``S`` is left out of it, a small one is overlooked."""
    listed = await run_git(tree, "ls-files", "-z", "-v")
    return {row[2:]: row[0] for row in split_paths(listed.out)}


def _entry(row: _Row) -> bytes:
    """The index's line for the file as it was; mode 0 takes it out."""
    mode = row.old_mode if row.old_mode.strip("0") else "0"
    return f"{mode} {row.old}\t".encode() + os.fsencode(row.path) + b"\0"


def _remove_new(tree: Path, path: str) -> None:
    with suppress(OSError):
        (tree / path).unlink()
        for folder in (tree / path).parents:
            if folder == tree:
                break
            folder.rmdir()


def _strangers(tree: Path, coming: list[str], tracked: AbstractSet[str]) -> tuple[str, ...]:
    """Return the files unknown to git at the paths in ``coming``, or in the place of one of their folders."""
    found = set()
    for path in coming:
        parts = path.split("/")
        for length in range(1, len(parts)):
            folder = "/".join(parts[:length])
            if os.path.lexists(tree / folder) and ((tree / folder).is_symlink() or not (tree / folder).is_dir()):
                if folder not in tracked:
                    found.add(folder)
                break
        else:
            found |= _at(tree, path, tracked)
    return tuple(sorted(found))


def _at(tree: Path, path: str, tracked: AbstractSet[str]) -> set[str]:
    file = tree / path
    if not os.path.lexists(file) or path in tracked:
        return set()
    if not file.is_dir() or file.is_symlink():
        return {path}
    below = {os.path.relpath(os.path.join(place, name), tree) for place, _, names in os.walk(file) for name in names}
    return below - tracked


def _put_back(index: Path, saved: bytes) -> None:
    """The index as it was, byte for byte, unless another git holds it by now."""
    if read_bytes(index) == saved:
        return
    lock = index.with_name("index.lock")
    with suppress(FileExistsError):
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(saved)
        lock.rename(index)
