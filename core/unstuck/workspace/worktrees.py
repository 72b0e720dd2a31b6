"""One work tree and one branch per task, and one branch on which their results come together.

Branches are ``unstuck/<run>/<task>`` and ``unstuck/<run>/_run``; the user's index, HEAD, branches and files are not
touched. Every method can be repeated after a kill and ends in the same state.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from unstuck.errors import GitError, IntegrationConflict, ProjectError, WorkspaceError
from unstuck.text import admit, one_line
from unstuck.workspace.git import Repository, Result, head, path_hash, run_git, split_paths
from unstuck.workspace.places import TreePlace, safe_name, sweep
from unstuck.workspace.staging import Scan, scan, stage

__all__ = ["REMEDIATION", "Worktrees", "trees_of"]

REMEDIATION = "_remediation"
"""The name of the tree in which the ground under all tasks is mended; no task can have it."""

_BRANCHES = "refs/heads/"
_INTEGRATION = "_run"
_BASELINE = "_baseline-"
_OWN = ".unstuck"
_MESSAGE_LIMIT = 10_000
_DIGEST_LIMIT = 10 * 2**20
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
    """The folder below ``home`` for the work trees of the repository whose git directory is ``common``."""
    return home.resolve() / path_hash(common)


class Worktrees:
    """The work trees of ``run``, below ``home`` (outside the repository). Methods may raise WorkspaceError."""

    def __init__(self, repo: Repository, home: Path, run: str) -> None:
        self._repo = repo
        self._name = f"unstuck/{safe_name(run)}"
        self._base_reference = f"refs/unstuck/bases/{safe_name(run)}"
        self._directory = trees_of(home, repo.common) / safe_name(run)
        self._lock = asyncio.Lock()
        self._baselines: set[Path] = set()

    async def prepare(self) -> str:
        """Make the run's branch at the user's HEAD and return that commit; later calls return the first one's.

        Raises ProjectError where there is no commit yet, or where a branch of the user's has a name we need.
        """
        async with self._lock:
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
            for leftover in set(self._directory.glob(_BASELINE + "*")) - self._baselines:
                await TreePlace(self._repo, leftover).dispose()
            return base

    async def create(self, task: str) -> Path:
        """The work tree of ``task``, new ones at the run's tip. A half-made tree is made again."""
        async with self._lock:
            return (await self._tree(_own_name(task))).path

    def path(self, task: str) -> Path:
        """Where the work tree of ``task`` is, or will be."""
        return self._place(_own_name(task)).path

    async def tip(self) -> str:
        """The commit the run's results have come to."""
        tip = await self._commit(self._branch(_INTEGRATION))
        if tip is None:
            raise WorkspaceError(f"the branch {self._name}/{_INTEGRATION} is gone: start a new run")
        return tip

    @property
    def branch(self) -> str:
        """The branch on which the results come together."""
        return f"{self._name}/{_INTEGRATION}"

    async def refresh(self, task: str, message: str) -> bool:
        """Bring what the run's branch has by now into the task's tree, which keeps its own work; whether it changed.

        Work that does not fit stays as it is, without what is new: it will be a conflict when it is integrated.
        """
        async with self._lock:
            place, tip = self._existing(task), await self.tip()
            if await self._unresolved(place):  # by a refresh that was killed before it could take its merge back
                await place.git("merge", "--abort")
            if await self._contains(await self._checked_out(place) or tip, tip):
                return False
            await self._commit_all(_own_name(task), place, admit(message, limit=_MESSAGE_LIMIT))
            merged = await place.git("merge", "--quiet", *_MERGE, "-m", f"Bring in {self.branch}", tip, check=False)
            if merged.code:
                await place.git("merge", "--abort", check=False)
            return merged.code == 0

    async def integrate(self, task: str, message: str) -> str | None:
        """Commit all of the task's work and merge it into the run's branch; its agent must have ended.

        Returns the run's tip with the work in it, None where the task has changed nothing. Raises IntegrationConflict,
        with the run's branch as it was.
        """
        async with self._lock:
            place, text = self._existing(task), admit(message, limit=_MESSAGE_LIMIT)
            if unresolved := await self._unresolved(place):
                raise IntegrationConflict(unresolved)
            commit = await self._commit_all(_own_name(task), place, text)
            tip = await self.tip()
            if commit == place.start:
                return None
            if await self._contains(tip, commit):
                return tip
            return await self._merge(commit, f"{one_line(text)}\n\nMerge of task {task}\n")

    async def remove(self, task: str) -> bool:
        """Take the task's tree and branch away, ignored files and all.

        False, and both stay, where anything in them has not reached the run's branch.
        """
        async with self._lock:
            name = _own_name(task)
            place, branch, tip = self._place(name), await self._commit(self._branch(name)), await self.tip()
            if place.path.exists() and not await self._is_merged(place, tip):
                return False
            if branch and not await self._contains(tip, branch):
                return False
            if place.path.exists():
                await place.dispose()
            if branch:
                await self._git("update-ref", "-d", self._branch(name), branch)
            return True

    @asynccontextmanager
    async def baseline(self) -> AsyncIterator[Path]:
        """A throw-away tree of the commit the run started from, removed afterwards."""
        base = await self.prepare()
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

    async def changed_files(self, task: str) -> tuple[str, ...]:
        """What the task's tree has that the run's branch did not when they parted; sorted, committed or not."""
        place = self._existing(task)
        common = await place.git("merge-base", await self.tip(), "HEAD", check=False)
        since = common.line if common.code == 0 else await self.prepare()
        return await self._differing(place, since)

    async def file_digest(self, tree: Path) -> str:
        """A hash of the files in ``tree``: equal states give equal digests, whether committed or not.

        Ignored files do not count, and of a file over 10 MiB only its size and time of change.
        """
        base = await self.prepare()
        paths = await self._differing(TreePlace(self._repo, tree), base)
        return await asyncio.to_thread(_digest, tree, base, paths)

    def _branch(self, name: str) -> str:
        return f"{_BRANCHES}{self._name}/{name}"

    def _place(self, name: str) -> TreePlace:
        return TreePlace(self._repo, self._directory / name)

    def _existing(self, task: str) -> TreePlace:
        place = self._place(_own_name(task))
        if place.start is None:
            raise WorkspaceError(f"task {task} has no work tree: it was removed, or never made")
        return place

    async def _git(self, *arguments: str, check: bool = True) -> Result:
        return await run_git(self._repo.root, *arguments, check=check)

    async def _commit(self, reference: str) -> str | None:
        result = await self._git("rev-parse", "--verify", "--quiet", reference + "^{commit}", check=False)
        return result.line if result.code == 0 else None

    async def _point(self, reference: str, commit: str, *, unless_there: bool = False) -> None:
        if unless_there and await self._commit(reference):
            return
        self._unlock(reference)
        await self._git("update-ref", reference, commit)

    def _unlock(self, reference: str) -> None:
        """Remove the lock that a killed git has left on a reference of ours; nobody else writes those."""
        (self._repo.common / f"{reference}.lock").unlink(missing_ok=True)

    async def _contains(self, tip: str, commit: str) -> bool:
        return (await self._git("merge-base", "--is-ancestor", commit, tip, check=False)).code == 0

    async def _refuse_name_clash(self) -> None:
        for branch in ("unstuck", self._name):
            if await self._commit(_BRANCHES + branch):
                raise ProjectError(f"the branch {branch} is in the way of this run's own: rename it (git branch -m)")

    async def _tree(self, name: str) -> TreePlace:
        place, branch = self._place(name), self._branch(name)
        if place.start is not None:
            return place
        tip, found = await self.tip(), await self._commit(branch)
        if found is None or await self._contains(tip, found):
            await self._point(branch, tip)
            found = tip
        start = await self._git("merge-base", tip, found)
        await place.add(start.line, branch.removeprefix(_BRANCHES))
        return place

    async def _commit_all(self, name: str, place: TreePlace, message: str) -> str:
        """Everything in the tree as one commit on the task's branch, wherever the agent has left HEAD."""
        await place.unlock()
        found = _without_ours(await scan(place.git))
        await stage(place.git, removed=found.removed, present=found.present)
        tree = (await place.git("write-tree")).line
        branch = self._branch(name)
        parent = await self._checked_out(place) or await self._commit(branch) or await self.tip()
        # A merge that somebody has resolved and not committed is one all the same.
        merging = await place.git("rev-parse", "--verify", "--quiet", "MERGE_HEAD", check=False)
        merged = ("-p", merging.line) if merging.code == 0 else ()
        commit = parent
        if merged or tree != (await self._git("rev-parse", parent + "^{tree}")).line:
            arguments = ("commit-tree", "--no-gpg-sign", tree, "-p", parent, *merged, "-F", "-")
            commit = (await place.git(*arguments, stdin=message.encode("utf-8", "replace"))).line
        await self._point(branch, commit)
        if merged:
            await place.git("merge", "--quit")
        await place.git("symbolic-ref", "HEAD", branch)
        return commit

    @staticmethod
    async def _unresolved(place: TreePlace) -> tuple[str, ...]:
        """The files of a merge in the tree that still show both sides."""
        unmerged = split_paths((await place.git("diff", "--name-only", "--diff-filter=U", "-z")).out)
        return tuple(path for path in unmerged if _has_markers(place.path / path))

    @staticmethod
    async def _checked_out(place: TreePlace) -> str | None:
        result = await place.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        return result.line if result.code == 0 else None

    async def _merge(self, commit: str, message: str) -> str:
        place = await self._tree(_INTEGRATION)
        await place.unlock()
        self._unlock(self._branch(_INTEGRATION))
        # Nobody works in this tree, so whatever a killed merge left in it may go.
        await place.git("reset", "--hard", "--quiet", self._branch(_INTEGRATION))
        await place.git("clean", "-fdq")
        merged = await place.git("merge", "--quiet", *_MERGE, "-m", message, commit, check=False)
        if merged.code == 0:
            return await self.tip()
        unmerged = await place.git("diff", "--name-only", "--diff-filter=U", "-z")
        await place.git("reset", "--hard", "--quiet", self._branch(_INTEGRATION))
        if unmerged.out:
            raise IntegrationConflict(tuple(split_paths(unmerged.out)))
        raise GitError(("merge", commit), merged.code, one_line(merged.err))

    async def _is_merged(self, place: TreePlace, tip: str) -> bool:
        commit = await self._checked_out(place) if place.start else None
        if commit is None or not await self._contains(tip, commit):
            return False
        await place.git("update-index", "-q", "--refresh", check=False)
        found = _without_ours(await scan(place.git))
        staged = await place.git("diff", "--cached", "--quiet", "HEAD", check=False)
        return found.clean and not found.untracked and not found.nested and staged.code == 0

    async def _differing(self, place: TreePlace, since: str) -> tuple[str, ...]:
        tracked = await place.git("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", since)
        untracked = _without_ours(await scan(place.git)).untracked
        return tuple(sorted({*split_paths(tracked.out), *untracked}))


def _own_name(task: str) -> str:
    return task if task == REMEDIATION else safe_name(task)


def _has_markers(file: Path) -> bool:
    try:
        return any(line.startswith(b"<<<<<<< ") for line in file.read_bytes().splitlines())
    except OSError:
        return False


def _without_ours(found: Scan) -> Scan:
    def others(paths: frozenset[str]) -> frozenset[str]:
        return frozenset(path for path in paths if path.split("/")[0] != _OWN)

    return Scan(others(found.removed), others(found.changed), others(found.untracked), others(found.nested))


def _digest(tree: Path, base: str, paths: tuple[str, ...]) -> str:
    total = hashlib.sha256(base.encode())
    for path in paths:
        total.update(os.fsencode(path) + b"\0" + _content_digest(tree / path) + b"\0")
    return total.hexdigest()


def _content_digest(file: Path) -> bytes:
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            return b"link " + os.fsencode(os.readlink(file))
        if not stat.S_ISREG(status.st_mode):
            return b"other"
        if status.st_size > _DIGEST_LIMIT:
            return b"large %d %d" % (status.st_size, status.st_mtime_ns)
        kind = b"program " if status.st_mode & stat.S_IXUSR else b"file "
        return kind + hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return b"gone"
