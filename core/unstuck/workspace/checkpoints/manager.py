"""Checkpoints: the files of a work tree as they were, to look at and to go back to.

The user's index, HEAD, branches, stash, reflogs, hooks, configuration and objects are never touched.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from unstuck.clock import Clock
from unstuck.errors import CheckpointUnknown, GitError, WorkspaceError
from unstuck.eventlog.storage.durable_files import write_private
from unstuck.text import Clean, one_line
from unstuck.workspace.checkpoints.borrowed_commits import drop_pins
from unstuck.workspace.checkpoints.checkpoint_index import Catalogue, Checkpoint
from unstuck.workspace.checkpoints.comparison import admitted, compare_trees, diff_trees, line_counts
from unstuck.workspace.checkpoints.last_restore import LastRestore, read_last, write_last
from unstuck.workspace.checkpoints.restore_plan import (
    Change,
    Plan,
    changes,
    inside,
    keep_permissions,
    obstacles,
    permissions_of,
    sizes_of,
)
from unstuck.workspace.checkpoints.retention import Bounds, outdated
from unstuck.workspace.checkpoints.tree_owners import checking, note_worker, workers_at
from unstuck.workspace.git.case_folding import clash, folds_case
from unstuck.workspace.git.diff_limit import Counted
from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.git.repo_status import git_dir_of
from unstuck.workspace.git.repository import Repository, Result, above
from unstuck.workspace.storage.exclusions import LeftOut
from unstuck.workspace.storage.object_store import ObjectStore, replace_text
from unstuck.workspace.storage.shadow_index import SideRepository, Snapshot
from unstuck.workspace.storage.tree_differences import Difference

__all__ = [
    "Bounds",
    "Change",
    "Checkpoint",
    "CheckpointStore",
    "LeftOut",
    "Plan",
    "Restored",
    "belongs",
    "find_checkpoints",
    "last_restored",
]

_NAMED = 1_000
_NEARLY = 0.95
_NEEDED = "needed.json"
_USED = "used"


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of a restore, and the checkpoint that undoes it.

    Example::

        done = await manager.restore(saved.id)
        print([change.path for change in done.changes])
    """

    safety: Checkpoint
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Move:
    target: Checkpoint
    now: Snapshot
    goal: str
    differences: tuple[Difference, ...]
    in_the_way: frozenset[str]
    plan: Plan

    @property
    def is_done(self) -> bool:
        return self.now.tree == self.goal and not self.in_the_way


class CheckpointStore:
    """The checkpoints of ``tree``, kept below ``home``.

    Not covered, and left alone by a restore: ignored files that were never committed, files over the size limit, other
    repositories inside the tree, empty directories, pipes and sockets, owners, permissions and times. Every method may
    raise WorkspaceError.
    """

    def __init__(
        self, tree: Path, home: Path, repo: Repository | None, *, clock: Clock, bounds: Bounds | None = None
    ) -> None:
        self.bounds = bounds or Bounds()
        self._store = ObjectStore(home, repo)
        self._catalogue = Catalogue(self._store)
        limits = {"file_limit": self.bounds.file_limit, "most_bytes": self.bounds.size}
        self._side = SideRepository(tree, self._store, **limits)
        self._clock = clock
        self._is_clean = False

    async def create(
        self,
        reason: str,
        *,
        run: str,
        task: str = "",
        yes: bool = False,
        works: bool | Literal["checked"] | None = None,
    ) -> Checkpoint:
        """Save the files as they are; the last checkpoint is returned again where nothing has changed since.

        ``works`` says that ``task`` begins to work in the tree with this, is ``checked`` there, or has done so for now.
        Raises TreeTooLarge for a home directory or a huge tree without a ``yes``, which holds from then on.
        """
        async with self._side.held():
            if yes:
                self._side.allow()
            now, known = await asyncio.gather(self._side.snapshot(), self._catalogue.all())
            saved = await self._record(now, known, reason, run, task)
            if task:
                self._need(run, f"{task} {reason}", saved.id)
            if works is not None:
                worker = {True: task, False: "", "checked": checking(task)}[works]
                note_worker(self._side.place, saved.number, worker)
        if saved.is_new:
            with suppress(OSError, GitError):  # what cannot be dropped now is dropped with the next one
                await self._trim((*known, saved))
        return saved

    async def files_hash(self) -> str:
        """Return a hash of the files as they are, equal to the ``tree`` of a checkpoint with the same files."""
        async with self._side.held():
            return (await self._side.snapshot()).tree

    async def list(self) -> tuple[Checkpoint, ...]:
        """All checkpoints of this tree, oldest first."""
        return self._own(await self._catalogue.all())

    async def get(self, id: str) -> Checkpoint:
        """The checkpoint ``id``. Raises CheckpointUnknown."""
        for checkpoint in await self.list():
            if checkpoint.id == id:
                return checkpoint
        raise CheckpointUnknown(f"no checkpoint {one_line(id)}: `unstuck checkpoints list` shows them")

    async def plan(self, id: str, *, paths: Collection[str] = ()) -> Plan:
        """Return the changes that ``restore`` would make; changes nothing. Raises CheckpointUnknown."""
        async with self._side.held():
            plan = (await self._move(await self.get(id), inside(self._side.tree, paths))).plan
            return replace(plan, under_way=await self._side.under_way())

    async def restore(self, id: str, *, run: str, paths: Collection[str] = (), plan: Plan | None = None) -> Restored:
        """Set the files back to checkpoint ``id``, after saving what is there now; with ``paths`` only these.

        A path is a file, or a folder with all that is in it, relative to the tree. Nothing is deleted or overwritten
        that the safety checkpoint does not hold. Run again after a kill, it ends in the same state. Given the ``plan``
        that was agreed to, it is refused where by now it would do something else. Raises CheckpointUnknown.
        """
        paths = inside(self._side.tree, paths)
        async with self._side.held():
            return await self._restore(await self.get(id), run, paths, plan)

    async def undo(self, *, run: str, plan: Plan | None = None) -> Restored:
        """Take the last restore back, also one that was cut off. An undo can be undone. Raises WorkspaceError."""
        async with self._side.held():
            last = read_last(self._side.place)
            if last is None:
                raise WorkspaceError("there is no restore to undo in this worktree")
            return await self._restore(await self.get(last.safety), run, last.paths, plan)

    def worker(self) -> str:
        """The task that works in the tree, as far as its checkpoints say; empty where none does."""
        return (workers_at(self._side.place, [sys.maxsize]) or [""])[0]

    async def written_by(self, task: str, since: str, *, itself: bool = False) -> frozenset[str] | None:
        """The paths that differ from ``since`` and were changed while ``task`` worked in the tree, at no other time.

        The task's check counts as its work, except with ``itself``: then what changed only while the check ran is not
        the task's. None where nobody but the task has worked in the tree. Raises CheckpointUnknown.
        """
        async with self._side.held():
            first, own = await self.get(since), await self.list()
            later = [checkpoint for checkpoint in own if checkpoint.number >= first.number]
            workers = workers_at(self._side.place, [checkpoint.number for checkpoint in later])
            check = checking(task)
            if set(workers) <= ({task} if itself else {task, check}):
                return None
            trees = [checkpoint.tree for checkpoint in later] + [(await self._side.snapshot()).tree]
            mine: set[str] = set()
            theirs: set[str] = set()
            for worker, (old, new) in zip(workers, pairwise(trees), strict=True):
                if old != new and not (itself and worker == check):
                    changed = {entry.path for entry in await compare_trees(self._reading, old, new)}
                    (mine if worker in (task, check) else theirs).update(changed)
            differing = {entry.path for entry in await compare_trees(self._reading, trees[0], trees[-1])}
            return frozenset((mine - theirs) & differing)

    def last_restore(self) -> LastRestore | None:
        """The last restore of this tree; its ``done`` is off where it was cut off."""
        return read_last(self._side.place)

    def note_restore(self, last: LastRestore | None) -> None:
        """Note ``last`` as the restore that ``undo`` takes back."""
        write_last(self._side.place, last)

    async def changed(self, a: str, b: str | None = None, *, paths: Collection[str] = ()) -> tuple[Change, ...]:
        """Return the changes of the files from ``a`` to ``b``, or to the tree as it is. Raises CheckpointUnknown."""
        async with self._side.held():
            old, new = await self._both(a, b)
            differences = await compare_trees(self._reading, old, new, inside(self._side.tree, paths))
            return changes(self._side.tree, differences, (), await sizes_of(self._reading, differences))

    async def counted(self, a: str, b: str | None = None, *, files: str = "") -> tuple[Counted, ...]:
        """The lines that each file has more and less from ``a`` to ``b``, or to the tree as it is.

        ``files`` is what :meth:`files_hash` gave just now, so that the tree need not be looked at again. Raises
        CheckpointUnknown.
        """
        async with self._side.held():
            old, new = await self._both(a, b, files)
            return await line_counts(self._reading, old, new)

    async def contents(self, id: str) -> tuple[Change, ...]:
        """Return the changes up to checkpoint ``id`` since the one before it in this tree. Raises CheckpointUnknown."""
        chosen, own = await self.get(id), await self.list()
        before = next((one for one in reversed(own) if one.number < chosen.number), None)
        return await self.changed(before.id, id) if before else ()

    async def diff(self, a: str, b: str | None = None, *, paths: Collection[str] = (), files: str = "") -> Clean:
        """The unified diff from checkpoint ``a`` to ``b``, or to the files as they are. Raises CheckpointUnknown.

        Of long ones it is the head of each file, and how much more there is. ``files`` is as for :meth:`counted`.
        """
        among = inside(self._side.tree, paths)
        async with self._side.held():
            old, new = await self._both(a, b, files)
            text = await diff_trees(self._reading, old, new, among)
        return await admitted(text)

    async def delete(self, id: str) -> None:
        """Forget checkpoint ``id``. Raises CheckpointUnknown, or WorkspaceError while others are saving."""
        checkpoint = await self.get(id)
        async with self._store.alone() as alone:
            if not alone:
                raise WorkspaceError("another process is saving files: try again")
            await self._catalogue.drop([checkpoint.id])
            await self._store.prune()

    async def _both(self, a: str, b: str | None, files: str = "") -> tuple[str, str]:
        old = (await self.get(a)).tree
        return old, (await self.get(b)).tree if b else files or (await self._side.snapshot()).tree

    @property
    def _reading(self) -> Callable[..., Awaitable[Result]]:
        """Reader of what was saved, which works also if the tree of a checkpoint is gone."""
        return self._side.reading if self._side.tree.is_dir() else self._store.git

    async def _restore(self, target: Checkpoint, run: str, paths: tuple[str, ...], plan: Plan | None) -> Restored:
        move, last = await self._move(target, paths), read_last(self._side.place)
        if plan is not None and plan.changes != move.plan.changes:
            raise WorkspaceError("the files are no longer as they were when the plan was made: look at a new one")
        again = last is not None and not last.done and (last.target, last.paths) == (target.id, paths)
        # What was there before a restore that was cut off undoes it, not what it had half done.
        first = await self._known(last.safety) if again and last is not None else None
        if move.is_done:
            if again:
                self._finish(target, first or target, paths, run)
            return Restored(replace(first or target, is_new=False), ())
        now, differences = move.now, move.differences
        if move.in_the_way:
            left_out = tuple(entry for entry in now.left_out if entry.path not in move.in_the_way)
            tree, files = await self._side.save(move.in_the_way)
            now = replace(now, tree=tree, files=files, left_out=left_out)
            differences = await compare_trees(self._reading, tree, move.goal)
        coming = {change.path for change in move.plan.changes if change.status == "return"} | move.in_the_way
        opened = _opened(self._side.tree, now.ignored, coming) if coming else now.ignored
        known = await self._catalogue.all()
        reason = f"before restoring {target.id}"
        same = opened == now.ignored  # else the last one, of the same files, would not know which were not there
        now = replace(now, ignored=opened)
        safety = await self._record(now, known, reason, run, target.task, target.id, always=not same)
        undoes = first or safety
        write_last(self._side.place, LastRestore(target.id, undoes.id, paths, run=run))
        kept = permissions_of(self._side.tree, move.plan.changes)
        await self._side.move(differences, move.goal)
        keep_permissions(self._side.tree, kept)
        self._finish(target, undoes, paths, run)
        return Restored(undoes, move.plan.changes)

    def _finish(self, target: Checkpoint, safety: Checkpoint, paths: tuple[str, ...], run: str) -> None:
        write_last(self._side.place, LastRestore(target.id, safety.id, paths, done=True, run=run))

    async def _known(self, id: str) -> Checkpoint | None:
        with suppress(CheckpointUnknown):
            return await self.get(id)
        return None

    async def _move(self, target: Checkpoint, paths: Collection[str]) -> _Move:
        now = await self._side.snapshot()
        goal = await self._side.mixed(target.tree, now.tree, target.not_covered)
        if paths:
            goal = await self._side.mixed(now.tree, goal, await self._existing(target, now, goal, paths))
        differences = await compare_trees(self._reading, now.tree, goal)
        if spared := _spared(target, differences):
            goal = await self._side.mixed(goal, now.tree, spared)
            differences = await compare_trees(self._reading, now.tree, goal)
        returning = [entry.path for entry in differences if entry.status == "return"]
        last = read_last(self._side.place)
        if last is None or last.safety != target.id:  # an undo takes away nothing that is not in its own plan
            _refuse_into(now, returning)
        covered = await self._side.covered() if returning else frozenset()
        lost = {entry.path for entry in differences if entry.status == "disappear"}
        if returning and folds_case(self._side.tree) and (both := clash((covered - lost) | set(returning))):
            raise WorkspaceError(f"{one_line(both[0])} and {one_line(both[1])} are one file on this disk: restore one")
        in_the_way = obstacles(self._side.tree, returning, covered)
        sizes = await sizes_of(self._side.reading, differences)
        planned = changes(self._side.tree, differences, in_the_way, sizes)
        return _Move(target, now, goal, differences, in_the_way, Plan(target.id, planned, now.files))

    async def _existing(self, target: Checkpoint, now: Snapshot, goal: str, paths: Collection[str]) -> Collection[str]:
        """``paths``, all of which the checkpoint or the tree must have. Raises WorkspaceError."""
        known = {*await self._side.names(goal, paths), *await self._side.names(now.tree, paths)}
        folders = {folder for path in known for folder in above(path)}
        for path in paths:
            if path not in known | folders:
                raise WorkspaceError(f"{target.id} has no file {one_line(path)}, and neither does the worktree")
        return paths

    def _own(self, checkpoints: Collection[Checkpoint]) -> tuple[Checkpoint, ...]:
        own = (checkpoint for checkpoint in checkpoints if checkpoint.root == self._side.tree)
        return tuple(sorted(own, key=lambda checkpoint: checkpoint.number))

    async def _record(
        self,
        now: Snapshot,
        known: Collection[Checkpoint],
        reason: str,
        run: str,
        task: str,
        target: str = "",
        *,
        always: bool = False,
    ) -> Checkpoint:
        own = self._own(known)
        last = own[-1] if own else None
        if last and not always and (last.tree, last.left_out) == (now.tree, now.left_out):
            if more := _outside(now.ignored, last.ignored):
                last = await asyncio.to_thread(self._catalogue.ignoring, last, _in_folders((*last.ignored, *more)))
            return replace(last, is_new=False)
        moment = self._clock.now()
        described = {
            "root": self._catalogue.spelled(self._side.tree),
            "number": last.number + 1 if last else 1,
            "reason": reason,
            "run": run,
            "task": task,
            "created_at": moment,
            "files": now.files,
            "left_out": [(entry.path, entry.why) for entry in now.left_out],
            "ignored": _in_folders(now.ignored),
            "ignored_count": len(now.ignored),
            "size": now.size,
            "target": target,
            "base": self._side.base,
        }
        return await self._catalogue.add(now.tree, moment, described)

    def _need(self, run: str, use: str, id: str) -> None:
        """Remember what a run has to be able to go back to, whatever is dropped: the last of each use."""
        known = _needed(self._side.place)
        uses: dict[str, str] = known["uses"] if known.get("run") == run else {}
        if uses.get(use) != id:
            write_private(self._side.place / _NEEDED, json.dumps({"run": run, "uses": {**uses, use: id}}))

    async def _trim(self, known: tuple[Checkpoint, ...]) -> None:
        """Keep the bounds: what is dropped goes from the disk at once, unless another process is saving."""
        await self._remove_begun()
        used = self._store.directory / _USED
        async with self._store.locked("used.lock"):
            total = _number(used) + known[-1].size
            replace_text(used, str(total))
        # What the lists of files take is not in the estimate: near the bound it is measured.
        if total > self.bounds.size * _NEARLY:
            total = await asyncio.to_thread(self._store.size)
            replace_text(used, str(total))
        needed = self._all_needed()
        while dropped := outdated(
            known, self.bounds, now=self._clock.now(), needed=needed, over=total > self.bounds.size
        ):
            async with self._store.alone() as alone:
                if not alone:
                    return
                await self._catalogue.drop([checkpoint.id for checkpoint in dropped])
                await asyncio.to_thread(self._store.forget_trees)
                await self._store.prune()
            known = tuple(checkpoint for checkpoint in known if checkpoint not in dropped)
            await drop_pins(self._store)
            total = await asyncio.to_thread(self._store.size)
            replace_text(used, str(total))

    async def _remove_begun(self) -> None:
        """Remove once what a killed process has left, unless another process is saving."""
        if not self._is_clean and len(await asyncio.to_thread(self._catalogue.begun)) > 0:
            async with self._store.alone() as alone:
                if not alone:
                    return
                await self._catalogue.drop([])
        self._is_clean = True

    def _all_needed(self) -> frozenset[str]:
        ids: set[str] = set()
        for place in self._store.trees():
            ids.update(_needed(place).get("uses", {}).values())
            if last := read_last(place):
                ids.update((last.target, last.safety))
        return frozenset(ids)


async def last_restored(home: Path, repo: Repository | None) -> Path | None:
    """The tree of a project in which the newest restore was done; None where there was none."""
    found = []
    for place in ObjectStore(home, repo).trees():
        with suppress(OSError):
            root = read_text(place / "gitdir").removesuffix("\n").removesuffix("/.git")
            found.append(((place / "restore.json").stat().st_mtime_ns, root))
    ours = (Path(root) for _, root in sorted(found, reverse=True) if belongs(Path(root), home, repo))
    return next(ours, None)


def belongs(root: Path, home: Path, repo: Repository | None) -> bool:
    """Return whether a tree of which the record in ``home`` knows is one of its project, and there.

    The record of a project that was copied tells of the trees of the first one, too.
    """
    if repo is None:
        return home.parent == root
    git_dir = git_dir_of(root).resolve()
    return root.is_dir() and (root == repo.root or repo.common in (git_dir, git_dir.parent.parent))


async def find_checkpoints(home: Path, repo: Repository | None) -> tuple[Checkpoint, ...]:
    """All checkpoints of a project in whatever tree of it, oldest first; those of its tasks' own work trees, too."""
    return await Catalogue(ObjectStore(home, repo)).all()


def _spared(target: Checkpoint, differences: Collection[Difference]) -> list[str]:
    """Return the files that were ignored at ``target`` and would disappear: a restore leaves them."""
    lost = [entry.path for entry in differences if entry.status == "disappear"]
    ignored = frozenset(target.ignored) if lost else frozenset()
    return [path for path in lost if not ignored.isdisjoint((path, *(f"{folder}/" for folder in above(path))))]


def _refuse_into(now: Snapshot, returning: Collection[str]) -> None:
    """Raise WorkspaceError where something would return into another repository: an undo could not take it out."""
    repositories = {entry.path for entry in now.left_out if entry.why == "repository"}
    for path in returning if repositories else ():
        if inside_of := repositories.intersection(f"{folder}/" for folder in above(path)):
            what = one_line(min(inside_of))
            raise WorkspaceError(f"another repository stands in the way of the restore: move {what} away first")


def _outside(ignored: Collection[str], known: Collection[str]) -> list[str]:
    """Those of ``ignored`` that are neither known to be ignored nor in a folder that is."""
    names = frozenset(known)
    return [path for path in ignored if names.isdisjoint((path, *(f"{folder}/" for folder in above(path))))]


def _opened(tree: Path, ignored: Collection[str], coming: Collection[str]) -> tuple[str, ...]:
    """``ignored`` with the single files of every folder into which something comes, and without what it replaces."""
    folders = {f"{folder}/" for path in coming for folder in above(path)}
    found: set[str] = set()
    for path in ignored:
        if path in folders:
            inside = (file for file in (tree / path).rglob("*") if file.is_symlink() or not file.is_dir())
            found.update(str(file.relative_to(tree)) for file in inside)
        else:
            found.add(path)
    return tuple(sorted(found - set(coming)))


def _in_folders(ignored: Collection[str]) -> tuple[str, ...]:
    """``ignored`` by names; of very many, the deepest by their folders: what is in those is then spared as a whole."""
    found = {path.rstrip("/"): path for path in ignored}
    while len(found) > _NAMED and (depth := max(path.count("/") for path in found)):
        deepest = [path for path in found if path.count("/") == depth]
        for path in deepest:
            del found[path]
            folder = path.rpartition("/")[0]
            found[folder] = f"{folder}/"
    return tuple(sorted(found.values()))


def _needed(place: Path) -> dict[str, Any]:
    try:
        known = json.loads(read_text(place / _NEEDED))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _number(file: Path) -> int:
    try:
        return int(read_text(file))
    except (OSError, ValueError):
        return 0
