"""The private git directory behind the checkpoints of one work tree.

It has its own index, settings and attributes, and borrows the object store of the user's repository where there is
one; so a checkpoint costs what changed and touches nothing that is the user's.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from unstuck.errors import GitError, WorkspaceError
from unstuck.workspace.git import Repository, Result, path_hash, run_git, split_paths
from unstuck.workspace.staging import scan, stage

__all__ = ["SideRepository", "Snapshot"]

# Bytes are kept as they are on disk: no line ending, keyword, filter or encoding is converted either way.
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The id of a git tree, and the paths it could not hold."""

    tree: str
    not_covered: tuple[str, ...]


class SideRepository:
    """The private index over ``tree``. Everything but ``references`` needs ``held`` around it."""

    def __init__(self, tree: Path, home: Path, repo: Repository | None, file_limit: int) -> None:
        self.tree = tree.resolve()
        self.name = path_hash(self.tree)
        self._directory = home.resolve() / "checkpoints" / f"{self.name}.git"
        self._home = home.resolve()
        self._repo = repo
        self._file_limit = file_limit
        self._lock = asyncio.Lock()
        self._descriptor = -1
        self._ready = False
        self._options: tuple[str, ...] = ()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the store alone: among our tasks, and among processes until the last git of ours has ended."""
        if self._repo is None and self.tree in (Path(self.tree.anchor), Path.home().resolve()):
            raise WorkspaceError(f"no checkpoints of {self.tree}: work in a project's own directory")
        self._directory.parent.mkdir(parents=True, exist_ok=True)
        async with self._lock:
            descriptor = os.open(self._directory.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                await asyncio.to_thread(fcntl.flock, descriptor, fcntl.LOCK_EX)
                self._descriptor = descriptor
                await self._open()
                yield
            finally:
                self._descriptor = -1
                os.close(descriptor)

    async def git(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result:
        """Run git with the private directory over the tree."""
        return await self._run({}, arguments, stdin, check)

    async def references(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result:
        """Run git where the pins live: in the user's repository, so that its own clean-up keeps what they hold."""
        place = self._repo.common if self._repo else self._directory
        if not place.is_dir():
            return Result(0, b"", "")
        return await run_git(place, *arguments, environment={"GIT_DIR": str(place)}, stdin=stdin, check=check)

    async def snapshot(self) -> Snapshot:
        """The tree as it is now; a damaged or outdated private index is thrown away and built again, once."""
        try:
            return await self._snapshot()
        except GitError:
            (self._directory / "index").unlink(missing_ok=True)
            (self._directory / "index.lock").unlink(missing_ok=True)
            return await self._snapshot()

    async def save(self, paths: Iterable[str]) -> str:
        """Put ``paths`` into the index, ignored or large as they may be, and return the new tree."""
        await stage(self.git, present=paths)
        return (await self.git("write-tree")).line

    async def covered(self) -> frozenset[str]:
        """Every path the index has."""
        return frozenset(split_paths((await self.git("ls-files", "-z")).out))

    async def without(self, goal: str, untouched: tuple[str, ...], now: str) -> str:
        """The tree ``goal``, but with whatever ``now`` has at the paths ``untouched``."""
        if not untouched:
            return goal
        kept = await self.git("--literal-pathspecs", "ls-tree", "-r", "-z", now, "--", *untouched)
        if not kept.out:
            return goal
        scratch = self._directory / "goal-index"
        scratch.unlink(missing_ok=True)
        environment = {"GIT_INDEX_FILE": str(scratch)}
        await self._run(environment, ("read-tree", goal))
        await self._run(environment, ("update-index", "--replace", "-z", "--index-info"), kept.out)
        return (await self._run(environment, ("write-tree",))).line

    async def move(self, now: str, goal: str) -> None:
        """Turn the files of ``now`` into those of ``goal``; git refuses beforehand where a file is not as in ``now``.

        Raises GitError, or WorkspaceError where the files are not those of ``goal`` afterwards.
        """
        await self.git("update-index", "-q", "--refresh", check=False)
        await self.git("read-tree", "-m", "-u", now, goal)
        found = await scan(self.git)
        if not found.clean or (await self.git("write-tree")).line != goal:
            odd = sorted(found.removed | found.changed)[:3]
            raise WorkspaceError(f"the restore is not complete, run it again: {', '.join(odd) or 'unexpected index'}")

    async def _open(self) -> None:
        (self._directory / "index.lock").unlink(missing_ok=True)  # its owner is dead: we hold the lock that git held
        if self._ready and self._directory.is_dir():
            return
        format_, ignore = "sha1", ""
        if self._repo:
            asked = await run_git(self._repo.root, "rev-parse", "--show-object-format", check=False)
            format_ = asked.line if asked.code == 0 else format_
            ignore = _read(self._repo.common / "info" / "exclude")
            self._options = await self._user_ignore_file(self._repo)
        if self._home.is_relative_to(self.tree):
            ignore += f"\n/{self._home.relative_to(self.tree).as_posix()}/\n"
        await run_git(
            self._directory.parent,
            "init",
            "--quiet",
            "--bare",
            "--template=",
            f"--object-format={format_}",
            self._directory.name,
        )
        information = self._directory / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(_ATTRIBUTES)
        (information / "exclude").write_text(ignore, errors="surrogateescape")
        self._ready = True

    @staticmethod
    async def _user_ignore_file(repo: Repository) -> tuple[str, ...]:
        """The user's own ``core.excludesFile``, which a private directory would not know of."""
        asked = await run_git(
            repo.root, "config", "--type=path", "--get", "core.excludesFile", check=False, user_config=True
        )
        return ("-c", f"core.excludesFile={asked.line}") if asked.code == 0 else ()

    async def _run(
        self, extra: dict[str, str], arguments: tuple[str, ...], stdin: bytes | None = None, check: bool = True
    ) -> Result:
        environment = {"GIT_DIR": str(self._directory), "GIT_WORK_TREE": str(self.tree), **extra}
        if self._repo:
            environment["GIT_OBJECT_DIRECTORY"] = str(self._repo.common / "objects")
        inherit = (self._descriptor,) if self._descriptor >= 0 else ()
        command = (*self._options, *arguments)
        return await run_git(self.tree, *command, environment=environment, stdin=stdin, check=check, inherit=inherit)

    async def _snapshot(self) -> Snapshot:
        found, tracked = await asyncio.gather(scan(self.git), self._tracked_though_ignored())
        candidates = found.present | tracked
        left_out = await asyncio.to_thread(self._beyond_reach, candidates)
        await stage(self.git, removed=found.removed | left_out, present=candidates - left_out - found.removed)
        tree = (await self.git("write-tree")).line
        return Snapshot(tree, tuple(sorted(left_out | found.nested)))

    async def _tracked_though_ignored(self) -> frozenset[str]:
        """What the user has committed in spite of an ignore rule: it is work like any other."""
        if self._repo is None:
            return frozenset()
        listed = await run_git(
            self.tree, *self._options, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", check=False
        )
        return frozenset(path for path in split_paths(listed.out) if _is_file(self.tree / path))

    def _beyond_reach(self, paths: Iterable[str]) -> frozenset[str]:
        """Those that are too large or may not be read."""
        left_out = set()
        for path in paths:
            place = self.tree / path
            try:
                status = place.lstat()
            except OSError:
                continue  # gone since; the index will say so
            if stat.S_ISREG(status.st_mode) and (status.st_size > self._file_limit or not os.access(place, os.R_OK)):
                left_out.add(path)
        return frozenset(left_out)


def _is_file(place: Path) -> bool:
    return place.is_symlink() or place.is_file()


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="surrogateescape")
    except OSError:
        return ""
