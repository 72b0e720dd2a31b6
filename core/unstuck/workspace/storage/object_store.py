"""The repository in which checkpoints are kept: bare, beside the record, with nothing of the user's in it.

What a checkpoint saves is written here and never into the user's own object store, so what is dropped is really freed
and the user's repository never grows. Only the files of the commit that was checked out when a tree was first saved
are borrowed from the user; that commit is pinned under ``refs/unstuck/pins`` against the user's own clean-up.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.workspace.git.case_folding import folds_case
from unstuck.workspace.git.refs import commit_at
from unstuck.workspace.git.repository import Repository, Result, run_git, version_of_git

__all__ = ["OLDEST_GIT", "ObjectStore", "lock"]

OLDEST_GIT = (2, 32)
"""The first git that leaves the user's configuration out when it is told to (GIT_CONFIG_GLOBAL)."""

_PINS = "refs/unstuck/pins/"
# Tasks that begin together pin the same commit. Git waits a tenth of a second for another one that is just writing a
# reference, and syncing it to a busy disk can take longer.
_PATIENT = ("-c", "core.filesRefLockTimeout=10000")
# Bytes are kept as they are on disk: no line ending, keyword, filter or encoding is converted either way.
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"


class ObjectStore:
    """The checkpoints' repository below ``home``. Methods may raise WorkspaceError."""

    def __init__(self, home: Path, repo: Repository | None) -> None:
        self.home = home.resolve()
        self.directory = self.home / "checkpoints" / "store.git"
        self.repo = repo
        self.options: tuple[str, ...] = ()
        self._ready = False

    @property
    def exists(self) -> bool:
        """Whether anything was ever saved here."""
        return (self.directory / "HEAD").is_file()

    def has(self, id: str) -> bool:
        """Whether the object ``id`` lies here as it was written."""
        return (self.directory / "objects" / id[:2] / id[2:]).is_file()

    async def open(self, tree: Path) -> None:
        """Make the repository where there is none yet, and learn what the user ignores."""
        if self._ready and self.exists:
            return
        await _refuse_old_git(self.home.parent if self.home.parent.is_dir() else tree)
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        ignore = ""
        self.options = ("-c", "core.ignoreCase=true") if folds_case(tree) else ()
        if self.repo:
            ignore = _read(self.repo.common / "info" / "exclude")
            self.options += await self._user_ignore_file(self.repo)
        if self.home.is_relative_to(tree):
            ignore += f"\n/{self.home.relative_to(tree).as_posix()}/\n"
        if not self.exists:
            await self._initialise()
        information = self.directory / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(_ATTRIBUTES)
        (information / "exclude").write_text(ignore, errors="surrogateescape")
        self._ready = True

    async def git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        check: bool = True,
        take: Callable[[bytes], bool] | None = None,
    ) -> Result:
        """Run git on the repository itself. Where there is none yet it says nothing, with code 0."""
        if not self.exists:
            return Result(0, b"", "")
        environment = {"GIT_DIR": str(self.directory), **self.borrowed()}
        return await run_git(self.directory, *arguments, environment=environment, stdin=stdin, check=check, take=take)

    def borrowed(self) -> dict[str, str]:
        """The environment in which git also finds the user's objects: for reading, never for saving."""
        if self.repo is None:
            return {}
        path = str(self.repo.common / "objects")
        if ":" in path or path.startswith('"') or "\n" in path:
            escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            path = f'"{escaped}"'
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": path}

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[int]:
        """Keep others from throwing objects away meanwhile; gives the descriptor that holds the lock."""
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        descriptor = self._descriptor()
        try:
            await lock(descriptor, fcntl.LOCK_SH)
            yield descriptor
        finally:
            os.close(descriptor)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Whether nobody else uses the repository now; nobody does as long as this is held."""
        descriptor = self._descriptor()
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    async def pin(self, commit: str) -> None:
        """Keep ``commit``, whose files are borrowed, from the user's own clean-up."""
        if self.repo is not None and await commit_at(self.repo, _PINS + commit) != commit:
            await run_git(self.repo.common, *_PATIENT, "update-ref", _PINS + commit, commit)

    async def pinned(self) -> set[str]:
        """The commits that are pinned, for this store or for that of another work tree of the repository."""
        if self.repo is None:
            return set()
        listed = await run_git(self.repo.common, "for-each-ref", "--format=%(objectname)", _PINS)
        return set(listed.out.decode().split())

    async def unpin(self, commits: Collection[str]) -> None:
        """Let go of these pinned commits."""
        if self.repo is None:
            return
        for commit in commits:
            await run_git(self.repo.common, "update-ref", "-d", _PINS + commit)

    def refer(self, reference: str, id: str) -> bool:
        """Let a new ``reference`` stand at ``id``, as git writes one; False where there is one of this name."""
        place = self.directory / reference
        fresh = place.with_name(f".{secrets.token_hex(8)}.lock")
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with fresh.open("x", encoding="ascii") as file:
                file.write(f"{id}\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(fresh, place)
        except FileExistsError:
            return False
        finally:
            fresh.unlink(missing_ok=True)
        return True

    async def drop(self, references: Iterable[str]) -> None:
        """Delete ``references``."""
        orders = b"".join(b"delete " + os.fsencode(name) + b"\n" for name in references)
        if orders:
            await self.git("update-ref", "--stdin", stdin=orders)

    async def prune(self) -> None:
        """Free what no checkpoint and no tree's index holds any more. Needs ``alone``."""
        await self.git("prune", "--expire=now")

    def trees(self) -> list[Path]:
        """The private folders of all trees that have an index here."""
        return sorted((self.directory / "worktrees").glob("*/"))

    def forget_trees(self) -> None:
        """Remove the folders of trees that are gone. Their checkpoints stay."""
        for place in self.trees():
            tree = _read(place / "gitdir").strip().removesuffix("/.git")
            if tree and not Path(tree).is_dir():
                shutil.rmtree(place, ignore_errors=True)

    def size(self) -> int:
        """How many bytes the objects take on disk."""
        total = 0
        for folder, _, files in os.walk(self.directory / "objects"):
            for name in files:
                with suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    def _descriptor(self) -> int:
        return os.open(self.directory.with_name("store.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    async def _initialise(self) -> None:
        format_ = "sha1"
        # Another format than git's first one stands in the repository's own file, or nowhere.
        if self.repo and "objectformat" in _read(self.repo.common / "config").lower():
            asked = await run_git(self.repo.root, "rev-parse", "--show-object-format", check=False)
            format_ = asked.line if asked.code == 0 else format_
        arguments = ("--quiet", "--bare", "--template=", f"--object-format={format_}", self.directory.name)
        # Its references are written as files here, whatever form a later git prefers.
        await run_git(self.directory.parent, "init", *arguments, environment={"GIT_DEFAULT_REF_FORMAT": "files"})

    @staticmethod
    async def _user_ignore_file(repo: Repository) -> tuple[str, ...]:
        """The user's own ``core.excludesFile``, which a repository of ours would not know of."""
        asked = await run_git(
            repo.root, "config", "--type=path", "--get", "core.excludesFile", check=False, user_config=True
        )
        return ("-c", f"core.excludesFile={asked.line}") if asked.code == 0 else ()


async def lock(descriptor: int, how: int) -> None:
    """Take the lock on a file, a ``LOCK_…`` of fcntl; a thread is only needed where somebody has to be waited for."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        await asyncio.to_thread(fcntl.flock, descriptor, how)


async def _refuse_old_git(place: Path) -> None:
    said, version = await version_of_git(place)
    if version is None or version < OLDEST_GIT:
        needed = ".".join(map(str, OLDEST_GIT))
        raise WorkspaceError(f"{said} is too old for checkpoints: install git {needed} or newer")


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="surrogateescape")
    except OSError:
        return ""
