"""Worktrees of a run: one worktree and branch per task, and one branch for the merged results.

Branches are ``unstuck/<run>/<task>`` and ``unstuck/<run>/_run``; the user's index, HEAD, branches and files are not
touched. Every method can be repeated after a kill and ends in the same state.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import GitError, IntegrationConflict, ProjectError, WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory
from unstuck.processes import working_in
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.refs import commit_at, head
from unstuck.workspace.git.repo_status import has_branch, trees
from unstuck.workspace.git.repository import Repository, Result, path_hash, require_git, run_git, split_paths
from unstuck.workspace.project import Project
from unstuck.workspace.storage.staging import Scan, scan, stage
from unstuck.workspace.worktrees.unmerged_work import Cleaned, Kept, held_in, without
from unstuck.workspace.worktrees.worktree import TreePlace, belongs_elsewhere, safe_name, sweep

REMEDIATION = "_remediation"
"""Name of the worktree of the remediation agent; no task can have it."""

_BRANCHES = "refs/heads/"
_INTEGRATION = "_run"
_BASELINE = "_baseline-"
_SCRATCH = "_delivery"
_WAY = "_way-"
_OWN = ".unstuck"
_MESSAGE_LIMIT = 10_000
_SIDE_LIMIT = 8_000
_MERGE = (
    "--ff",
    "--no-edit",
    "--no-verify",
    "--no-verify-signatures",
    "--no-gpg-sign",
    "--no-log",
    "--no-autostash",
)


def trees_of(home: Path, common: Path) -> Path:
    """Return the folder below ``home`` for the worktrees of the repository with git directory ``common``."""
    return home.resolve() / path_hash(common)


class Conflict(NamedTuple):
    """A merge with conflicts: the files, and the subjects of the commits on each side that changed them."""

    paths: tuple[str, ...]
    mine: tuple[str, ...]
    theirs: tuple[str, ...]


class Worktrees:
    """The work trees of ``run``, below ``home`` (outside the repository). Methods may raise WorkspaceError."""

    def __init__(self, repo: Repository, home: Path, run: str) -> None:
        self._repo = repo
        self._home = home
        self._name = f"unstuck/{safe_name(run)}"
        self._base_reference = f"refs/unstuck/bases/{safe_name(run)}"
        self._directory = trees_of(home, repo.common) / safe_name(run)
        self._lock = asyncio.Lock()
        self._baselines: set[Path] = set()
        self._is_clean = False  # the worktree of the results, after a merge of this process

    def of(self, run: str) -> Worktrees:
        """Return the worktrees of another run in the same place."""
        return Worktrees(self._repo, self._home, run)

    def runs(self) -> tuple[str, ...]:
        """Return the runs that have worktrees of this repository."""
        folder = self._directory.parent
        return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()

    async def prepare(self) -> str:
        """Make the run's branch at the user's HEAD and return that commit; later calls return the first one's.

        Raises ProjectError where there is no commit yet, or where a branch of the user's has a name we need.
        """
        async with self._lock:
            try:
                await require_git()
            except WorkspaceError as error:
                raise ProjectError(str(error)) from None
            base = await self._commit(self._base_reference) or await head(self._repo)
            if base is None:
                raise ProjectError(
                    f"{self._repo.root} has no commit yet, so there is nothing to branch from: "
                    "make one (git add -A && git commit), or run with isolation: shared"
                )
            await self._refuse_name_clash()
            await self._point(self._base_reference, base, unless_there=True)
            await self._point(self._branch(_INTEGRATION), base, unless_there=True)
            await sweep(self._directory)
            left = {*self._directory.glob(_BASELINE + "*"), *self._directory.glob(_WAY + "*")} - self._baselines
            for leftover in left:
                await TreePlace(self._repo, leftover).dispose()
            return base

    async def create(self, task: str) -> Path:
        """Return the worktree of ``task``; a new one starts at the run's tip, and replaces a half-made one."""
        async with self._lock:
            return (await self._tree(_own_name(task))).path

    def path(self, task: str) -> Path:
        """Return the path of the worktree of ``task``, also before it is made."""
        return self._place(_own_name(task)).path

    async def tip(self) -> str:
        """Return the commit with the run's merged results."""
        tip = await self._commit(self._branch(_INTEGRATION))
        if tip is None:
            raise WorkspaceError(f"the branch {self._name}/{_INTEGRATION} is gone: start a new run")
        return tip

    @property
    def branch(self) -> str:
        """Branch of the merged results."""
        return f"{self._name}/{_INTEGRATION}"

    async def refresh(self, task: str, message: str) -> bool:
        """Merge the run's branch into the task's tree; return whether that changed the tree.

        A tree with conflicts stays as it is; the conflict shows when the task is integrated.
        """
        async with self._lock:
            place, tip = self._existing(task), await self.tip()
            if await self._contains(await place.commit() or tip, tip):
                return False
            found = await self._seen(_own_name(task), place)
            if _unresolved(place, found):
                if not place.merges:
                    return False  # the agent's own: a rebase, a cherry-pick
                # A killed refresh left its merge.
                await place.git("merge", "--abort")
                found = await scan(place.git)
            await self._commit_all(_own_name(task), place, admit(message, limit=_MESSAGE_LIMIT), found)
            merged = await place.git("merge", "--quiet", *_MERGE, "-m", f"Bring in {self.branch}", tip, check=False)
            if merged.code:
                await place.git("merge", "--abort", check=False)
            return merged.code == 0

    async def begin_merge(self, task: str, message: str) -> Conflict | None:
        """Begin to merge the run's branch into the task's tree and leave the conflict there; return it.

        None where nothing conflicts, or the results are in the tree already. A merge that is under way stays as it is.
        """
        async with self._lock:
            place, tip = self._existing(task), await self.tip()
            own = await place.commit() or tip
            if await self._contains(own, tip):
                return None
            if not place.merges:
                found = await self._seen(_own_name(task), place)
                own = await self._commit_all(_own_name(task), place, admit(message, limit=_MESSAGE_LIMIT), found)
                await place.git("merge", "--quiet", *_MERGE, "-m", f"Bring in {self.branch}", tip, check=False)
            paths = split_paths((await place.git("diff", "--name-only", "-z", "--diff-filter=U")).out)
            if not paths:
                return None
            log = "log", "--no-merges", "--format=%s"
            sides = [await place.git(*log, span, "--", *paths) for span in (f"{tip}..{own}", f"{own}..{tip}")]
            mine, theirs = (tuple(one_line(line, 200) for line in side.line.splitlines()) for side in sides)
            return Conflict(tuple(paths), mine, theirs)

    async def sides(self, task: str, paths: Sequence[str]) -> tuple[Clean, Clean]:
        """Return what the task and what the other results have changed in ``paths``, each as a unified diff."""
        own, tip = await self._existing(task).commit(), await self.tip()
        diff = "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--merge-base"
        found = [await self._git(*diff, *pair, "--", *paths) for pair in ((tip, own or tip), (own or tip, tip))]
        mine, theirs = (admit(side.out, limit=_SIDE_LIMIT) for side in found)
        return mine, theirs

    async def integrate(self, task: str, message: str) -> str | None:
        """Commit all of the task's work and merge it into the run's branch; its agent must have ended.

        Returns the run's tip with the work in it, None where the task has changed nothing. Raises IntegrationConflict,
        with the run's branch as it was.
        """
        async with self._lock:
            place, text = self._existing(task), admit(message, limit=_MESSAGE_LIMIT)
            found = await self._seen(_own_name(task), place)
            if unresolved := _unresolved(place, found):
                raise IntegrationConflict(unresolved)
            commit = await self._commit_all(_own_name(task), place, text, found)
            if commit == place.start:
                return None
            return await self._merge(commit, f"{one_line(text)}\n\nMerge of task {task}\n")

    async def left_behind(self, task: str) -> tuple[str, ...]:
        """Return the paths that no result can hold: other repositories, and submodules with uncommitted work.

        Call it after ``integrate``, which takes everything else.
        """
        found = without(await scan(self._existing(task).git), _OWN)
        return tuple(sorted(found.nested | found.changed))

    async def changed(self, task: str) -> dict[str, float]:
        """Return the files that the task has changed since the last results it has, each with the time of its change.

        The times are in seconds since 1970. Its agent may be at work.
        """
        place, tip = self._existing(task), await self.tip()
        known = await place.git("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--merge-base", tip)
        added = await place.git("ls-files", "-z", "--others", "--exclude-standard")
        paths = (*split_paths(known.out), *split_paths(added.out))
        own = [path for path in paths if path.split("/")[0] != _OWN]
        return await asyncio.to_thread(lambda: {path: _changed_at(place.path / path) for path in own})

    async def remove(self, task: str) -> str:
        """Remove the task's tree, its ignored files and its branch; return why they stay, or an empty text."""
        async with self._lock:
            return await self._remove(_own_name(task), await self._busy())

    async def clean(self) -> Cleaned:
        """Remove every tree and branch of the run without unmerged work; the run's branch keeps its results."""
        async with self._lock:
            await sweep(self._directory)
            removed, kept, busy = [], [], await self._busy()
            for name in sorted(await self._names()):
                try:
                    reason = await self._remove(name, busy)
                except (WorkspaceError, OSError) as error:
                    reason = str(error)
                if reason:
                    kept.append(Kept(str(self._place(name).path), reason))
                else:
                    removed.append(name)
            for folder in () if kept else (self._directory, self._directory.parent):
                with suppress(OSError):
                    folder.rmdir()
            return Cleaned(tuple(name for name in removed if not name.startswith("_")), tuple(kept))

    async def look(self) -> tuple[Kept, ...]:
        """Return the trees and branches that ``clean`` would keep, and why; changes nothing."""
        busy = await self._busy()
        found = [(name, await self._why(name, busy)) for name in sorted(await self._names())]
        return tuple(Kept(str(self._place(name).path), reason) for name, reason in found if reason)

    async def forget(self) -> None:
        """Delete the run's branch, too, where another branch has its results."""
        async with self._lock:
            results = self._branch(_INTEGRATION)
            tip = await self._commit(results)
            listed = "for-each-ref", "--format=%(refname)", "--contains", tip or "", "refs/heads", "refs/remotes"
            holders = (await self._git(*listed)).line.split() if tip else []
            own = f"{_BRANCHES}{self._name}/"
            if tip and any(not holder.startswith(own) for holder in holders) and not self._directory.exists():
                await self._git("update-ref", "-d", results, tip)
                await self._git("update-ref", "-d", self._base_reference)

    async def merged(self, onto: str, tip: str, message: str) -> str:
        """Merge ``tip`` into ``onto`` on no branch; return the commit. Raises IntegrationConflict."""
        async with self._lock:
            place = self._place(_SCRATCH)
            await place.dispose()  # left by a merge that was killed
            await place.add(onto, "--detach", onto)
            try:
                merged = await place.git("merge", "--quiet", *_MERGE, "-m", message, tip, check=False)
                if merged.code == 0:
                    return (await place.git("rev-parse", "HEAD")).line
                raise await self._conflict(place, merged, tip)
            finally:
                await asyncio.shield(place.dispose())

    @asynccontextmanager
    async def baseline(self, base: str = "") -> AsyncIterator[Path]:
        """Yield a temporary tree of the commit ``base``, by default the one the run started from."""
        base = base or await self._commit(self._base_reference) or await head(self._repo) or ""
        if not base:
            raise WorkspaceError(f"{self._repo.root} has no commit yet, so there is no base to look at")
        place = self._place(_BASELINE + secrets.token_hex(4))
        self._baselines.add(place.path)
        try:
            async with self._lock:
                await place.add(base, "--detach", base)
            yield place.path
        finally:
            if place.path.exists():
                await asyncio.shield(place.dispose())
            self._baselines.discard(place.path)

    async def captured(self, task: str) -> str:
        """Return a commit on no branch with the files of the task's tree, from which approaches start."""
        async with self._lock:
            place = self._existing(task)
            return await self._captured(place, await self._seen(_own_name(task), place))

    async def add_way(self, task: str, slot: int, base: str) -> Path:
        """Return a new worktree for approach ``slot`` at ``task``, with the files of the commit ``base``."""
        async with self._lock:
            place = self._way(task, slot)
            await place.dispose()
            await place.add(base, "--detach", base)
            return place.path

    async def take_way(self, task: str, slot: int, base: str) -> None:
        """Bring the files of approach ``slot`` into the task's tree, which still has those of ``base``."""
        async with self._lock:
            way = self._way(task, slot)
            commit = await self._captured(way, await scan(way.git))
            await self._existing(task).git("read-tree", "-m", "-u", base, commit)

    async def take(self, task: str, base: str, commit: str) -> None:
        """Bring the files of ``commit`` into the task's tree; what is in the tree is in the commit ``base``.

        A merge that has begun in the tree stays under way.
        """
        async with self._lock:
            place = self._existing(task)
            if place.merges:
                await place.git("read-tree", "-m", "-u", base, commit)
            elif await place.commit() != commit:
                await place.git("reset", "--hard", "--quiet", commit)

    async def remove_way(self, task: str, slot: int) -> None:
        """Remove the worktree of approach ``slot`` with its files."""
        async with self._lock:
            await self._way(task, slot).dispose()

    def _way(self, task: str, slot: int) -> TreePlace:
        return self._place(f"{_WAY}{safe_name(task)}-{slot}")

    async def _captured(self, place: TreePlace, seen: Scan) -> str:
        await place.unlock()
        found = without(seen, _OWN)
        await stage(place.git, removed=found.removed, present=found.present)
        tree, parent = (await place.git("write-tree")).line, await place.commit() or await self.tip()
        if tree == (await self._git("rev-parse", parent + "^{tree}")).line:
            return parent
        return (await place.git("commit-tree", "--no-gpg-sign", tree, "-p", parent, "-m", "so far")).line

    def is_set_up(self, task: str) -> bool:
        """Return whether the plan's setup has run in the task's tree; a new tree needs a new setup."""
        return self._place(_own_name(task)).is_set_up

    def mark_set_up(self, task: str) -> None:
        """Record that the plan's setup has run in the task's tree."""
        self._place(_own_name(task)).mark_set_up()

    def _branch(self, name: str) -> str:
        return f"{_BRANCHES}{self._name}/{name}"

    def _place(self, name: str) -> TreePlace:
        return TreePlace(self._repo, self._directory / name)

    def _existing(self, task: str) -> TreePlace:
        place = self._place(_own_name(task))
        if place.start is None:
            raise WorkspaceError(f"task {task} has no worktree: it was removed, or never created")
        return place

    async def _git(self, *arguments: str, check: bool = True) -> Result:
        return await run_git(self._repo.root, *arguments, check=check)

    async def _commit(self, reference: str) -> str | None:
        return await commit_at(self._repo, reference)

    async def _point(self, reference: str, commit: str, *, unless_there: bool = False) -> None:
        there = await self._commit(reference)
        if there == commit or (there and unless_there):
            return
        self._unlock(reference)
        await self._git("update-ref", reference, commit)

    def _unlock(self, reference: str) -> None:
        """Remove the lock of a killed git on a reference that only unstuck writes."""
        (self._repo.common / f"{reference}.lock").unlink(missing_ok=True)

    async def _contains(self, tip: str, commit: str) -> bool:
        return tip == commit or (await self._git("merge-base", "--is-ancestor", commit, tip, check=False)).code == 0

    async def _refuse_name_clash(self) -> None:
        for branch in ("unstuck", self._name):
            if await self._commit(_BRANCHES + branch):
                raise ProjectError(f"the branch {branch} is in the way of this run's own: rename it (git branch -m)")

    async def _tree(self, name: str) -> TreePlace:
        place, branch = self._place(name), self._branch(name)
        if place.start is not None:
            return place
        tip, found = await self.tip(), await self._commit(branch)
        if found and (elsewhere := await self._elsewhere(name)):
            make_directory(place.path.parent)  # or git would not move it there
            # Where the whole project was moved, git takes the tree for its own only after that.
            repair = "" if TreePlace(self._repo, elsewhere).is_linked else f"git worktree repair {elsewhere} && "
            said = f"{repair}git worktree move {elsewhere} {place.path}"
            raise WorkspaceError(f"the worktree of {name} was moved: {said}")
        if found is None or await self._contains(tip, found):
            await self._point(branch, tip)
            found = tip
        start = tip if found == tip else (await self._git("merge-base", tip, found)).line
        await place.add(start, branch.removeprefix(_BRANCHES))
        return place

    async def _seen(self, name: str, place: TreePlace) -> Scan:
        """Return a scan of the tree; a damaged HEAD, on which git fails, is first set to the task's branch."""
        try:
            return await scan(place.git)
        except GitError:
            if await place.commit() is not None:
                raise
            await place.unlock()
            await place.git("symbolic-ref", "HEAD", self._branch(name))
            return await scan(place.git)

    async def _commit_all(self, name: str, place: TreePlace, message: str, seen: Scan) -> str:
        """Commit everything in the tree on the task's branch, wherever the agent left HEAD; return the commit."""
        await place.unlock()
        found = without(seen, _OWN)
        await stage(place.git, removed=found.removed, present=found.present)
        tree = (await place.git("write-tree")).line
        branch = self._branch(name)
        parent = await place.commit() or await self._commit(branch) or await self.tip()
        merged, commit = await self._merging(place), parent
        if merged or tree != (await self._git("rev-parse", parent + "^{tree}")).line:
            arguments = ("commit-tree", "--no-gpg-sign", tree, "-p", parent, *merged, "-F", "-")
            commit = (await place.git(*arguments, stdin=message.encode("utf-8", "replace"))).line
        await self._point(branch, commit)
        if merged:
            await place.git("merge", "--quit")
        if not place.is_on(branch):
            await place.git("symbolic-ref", "HEAD", branch)
        return commit

    @staticmethod
    async def _merging(place: TreePlace) -> tuple[str, ...]:
        """Return the second parent of a merge under way: a resolved merge counts without its commit."""
        if not place.merges:
            return ()
        other = await place.git("rev-parse", "--verify", "--quiet", "MERGE_HEAD", check=False)
        return ("-p", other.line) if other.code == 0 else ()

    async def _merge(self, commit: str, message: str) -> str:
        place, merging = await self._tree(_INTEGRATION), ("merge", "--quiet", *_MERGE, "-m", message, commit)
        await place.unlock()
        self._unlock(self._branch(_INTEGRATION))
        was_clean, self._is_clean = self._is_clean, False  # set again at the end, which a cancellation prevents
        if not was_clean or (await place.git(*merging, check=False)).code:
            # No agent works in this tree, so the remains of a killed merge are removed.
            await place.git("reset", "--hard", "--quiet", self._branch(_INTEGRATION))
            await place.git("clean", "-fdq")
            merged = await place.git(*merging, check=False)
            if merged.code:
                try:
                    raise await self._conflict(place, merged, commit)
                finally:
                    await place.git("reset", "--hard", "--quiet", self._branch(_INTEGRATION))
        self._is_clean = True
        return await self.tip()

    @staticmethod
    async def _conflict(place: TreePlace, merged: Result, commit: str) -> WorkspaceError:
        """Return the error of a merge that failed in ``place``."""
        unmerged = await place.git("diff", "--name-only", "--diff-filter=U", "-z")
        if unmerged.out:
            return IntegrationConflict(tuple(split_paths(unmerged.out)))
        return GitError(("merge", commit), merged.code, one_line(merged.err))

    async def _busy(self) -> tuple[tuple[int, Path], ...]:
        return await asyncio.to_thread(working_in, self._directory)

    async def _names(self) -> set[str]:
        """Return every name with a tree or branch in this run; the results only where they have a tree."""
        own = f"{_BRANCHES}{self._name}/"
        listed = await self._git("for-each-ref", "--format=%(refname)", own)
        branches = {line.removeprefix(own) for line in listed.line.split("\n") if line} - {_INTEGRATION}
        there = {path.name for path in self._directory.iterdir()} if self._directory.is_dir() else set()
        return branches | there - {path.name for path in self._baselines}

    async def _remove(self, name: str, busy: tuple[tuple[int, Path], ...]) -> str:
        if reason := await self._why(name, busy):
            return reason
        await self._place(name).dispose()
        if name != _INTEGRATION and (branch := await self._commit(self._branch(name))):
            await self._git("update-ref", "-d", self._branch(name), branch)
        return ""

    async def _why(self, name: str, busy: tuple[tuple[int, Path], ...]) -> str:
        """Return why the tree or the branch of this name is kept; empty where it can be removed."""
        place = self._place(name)
        branch = None if name == _INTEGRATION else await self._commit(self._branch(name))
        tip = await self._commit(self._branch(_INTEGRATION)) or await self._commit(self._base_reference)
        if tip is None:
            return f"the branch {self.branch} is gone, so it is not known whether it is complete"
        if reason := await self._reason(name, place, tip, busy):
            return reason
        if branch and not await self._contains(tip, branch):
            return f"commits that are not on {self.branch}"
        if branch and (elsewhere := await self._elsewhere(name)):
            return f"its worktree was moved to {elsewhere}"
        return ""

    async def _reason(self, name: str, place: TreePlace, tip: str, busy: tuple[tuple[int, Path], ...]) -> str:
        """Return why the tree is kept; empty without unmerged work."""
        if not place.path.exists():
            return ""
        if pids := sorted(pid for pid, where in busy if where.is_relative_to(place.path.resolve())):
            return f"process {pids[0]} works in it"
        if not place.is_linked:
            return "it is no longer a worktree of this repository" if any(place.path.iterdir()) else ""
        if place.start is None or name == _INTEGRATION or name.startswith((_BASELINE, _SCRATCH, _WAY)):
            return ""  # no agent ever had it
        return await held_in(place, tip, self.branch, _OWN)

    async def _elsewhere(self, name: str) -> Path | None:
        """Return the place to which the tree of this branch was moved; None where it was not."""
        branch, place = f"{self._name}/{name}", self._place(name)
        path, own = place.path, place.git_dir
        others = {self._repo.common, *(self._repo.common / "worktrees").glob("*")} - {own}
        if own is not None and place.is_on(_BRANCHES + branch) and not any(has_branch(one, branch) for one in others):
            return None
        for tree in await trees(self._repo):
            if tree.branch == branch and tree.path != path and tree.path.is_dir():
                return None if belongs_elsewhere(tree.path, self._repo) else tree.path
        return None


async def kept_trees(project: Project, home: Path) -> tuple[Kept, ...]:
    """Return what is kept of all runs of a project below ``home``, and why. May raise WorkspaceError."""
    if project.repository is None:
        return ()
    first = Worktrees(project.repository, home, "none")
    return tuple([kept for run in first.runs() for kept in await first.of(run).look()])


def _own_name(task: str) -> str:
    return task if task == REMEDIATION else safe_name(task)


def _unresolved(place: TreePlace, found: Scan) -> tuple[str, ...]:
    """Return the files of a merge that still have conflict markers."""
    return tuple(path for path in sorted(found.unmerged) if _has_markers(place.path / path))


def _has_markers(file: Path) -> bool:
    try:
        return any(line.startswith(b"<<<<<<< ") for line in read_bytes(file).splitlines())
    except OSError:
        return False


def _changed_at(path: Path) -> float:
    """Return the time of the last change of a file in seconds since 1970; of one that is gone, that of its folder."""
    while True:
        try:
            return path.lstat().st_mtime
        except OSError:
            path = path.parent
