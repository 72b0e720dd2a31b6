"""Git repository of the checkpoints: bare, beside the event log.

Checkpoints write their objects here and never into the user's object store. So deleting one frees its space, and the
user's repository never grows. A tree borrows the files and folders of the commit that was checked out at its first
save. A reference below ``refs/unstuck/pins`` keeps that commit from the user's ``git gc``.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory, open_fresh, write_private
from unstuck.workspace.git.case_folding import folds_case
from unstuck.workspace.git.file_lock import locked
from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.git.refs import commit_at
from unstuck.workspace.git.repository import PINS, Repository, Result, is_git_directory, run_git, version_of_git
from unstuck.workspace.storage.exclusions import OF_AIDER

OLDEST_GIT = (2, 32)
"""The first git that reads GIT_CONFIG_GLOBAL, with which the user's configuration is left out."""

_PINS = "refs/unstuck/pins/"
_PRUNING = "store.lock"
# Tasks that start together pin the same commit. Git waits 0.1 s for a reference lock, and a busy disk needs more.
_PATIENT = ("-c", "core.filesRefLockTimeout=10000")
# Checkpoints hold the bytes on disk: git converts no line ending, keyword, filter or encoding.
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"


class ObjectStore:
    """The checkpoints' repository below ``home``. Methods may raise WorkspaceError."""

    def __init__(self, home: Path, repo: Repository | None) -> None:
        self.home = home.resolve()
        self.directory = self.home / "checkpoints" / "store.git"
        self.repo = repo
        self.options: tuple[str, ...] = ()
        self._ready = False
        self._alone: tuple[int, ...] = ()

    @property
    def exists(self) -> bool:
        """Return whether the repository is complete: while git makes it, the folder of the objects comes last."""
        return is_git_directory(self.directory)

    async def open(self, tree: Path) -> None:
        """Make the repository where it is missing, and read the user's ignore rules."""
        if self._ready and self.exists:
            return
        await _refuse_old_git(self.home.parent if self.home.parent.is_dir() else tree)
        make_directory(self.directory.parent)
        ignore = "".join(f"/{name}*\n" for name in OF_AIDER)
        self.options = ("-c", "core.ignoreCase=true") if folds_case(tree) else ()
        if self.repo:
            ignore += _read(self.repo.common / "info" / "exclude")
            self.options += await self._user_ignore_file(self.repo)
        if self.home.is_relative_to(tree):
            ignore += f"\n/{self.home.relative_to(tree).as_posix()}/\n"
        async with self.locked("open.lock") as descriptor:  # tasks that start together all come here
            if not self.exists:
                await self._initialise(descriptor)
        information = self.directory / "info"
        make_directory(information)
        replace_text(information / "attributes", _ATTRIBUTES)
        replace_text(information / "exclude", ignore)
        self._ready = True

    async def git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        check: bool = True,
        take: Callable[[bytes], bool] | None = None,
    ) -> Result:
        """Run git on the repository; without one, return no output and code 0."""
        if not self.exists:
            return Result(0, b"", "")
        environment = {"GIT_DIR": str(self.directory), **self.borrowed()}
        return await run_git(
            self.directory,
            *arguments,
            environment=environment,
            stdin=stdin,
            check=check,
            take=take,
            inherit=self._alone,
        )

    def borrowed(self) -> dict[str, str]:
        """Return the environment in which git also reads the user's objects; never used for saving."""
        return {} if self.repo is None else alternates(self.repo.common / "objects")

    def locked(self, name: str, how: int = fcntl.LOCK_EX) -> AbstractAsyncContextManager[int]:
        """Hold the lock ``name`` against other tasks and processes; yields the descriptor that holds it."""
        return locked(self.directory.with_name(name), how)

    def shared(self) -> AbstractAsyncContextManager[int]:
        """Keep others from pruning objects; yield the descriptor that holds the lock."""
        return self.locked(_PRUNING, fcntl.LOCK_SH)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Yield whether no other task or process uses the repository; none does while this is held."""
        async with AsyncExitStack() as stack:
            try:
                held = await stack.enter_async_context(self.locked(_PRUNING, fcntl.LOCK_EX | fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                self._alone = (held,)
                stack.callback(setattr, self, "_alone", ())
                yield True

    async def pin(self, commit: str) -> None:
        """Keep ``commit``, whose files are borrowed, from the user's ``git gc``."""
        if self.repo is not None and await commit_at(self.repo, _PINS + commit) != commit:
            await self._change_pin(self.repo, _PINS + commit, commit)

    async def pinned(self) -> set[str]:
        """Return the pinned commits of this store and of the repository's other worktrees."""
        if self.repo is None:
            return set()
        listed = await run_git(self.repo.common, "for-each-ref", "--format=%(objectname)", _PINS)
        return set(listed.out.decode().split())

    async def unpin(self, commits: Collection[str]) -> None:
        """Remove the pins of ``commits``."""
        for commit in commits if self.repo is not None else ():
            assert self.repo is not None
            await self._change_pin(self.repo, "-d", _PINS + commit)

    @staticmethod
    async def _change_pin(repo: Repository, *change: str) -> None:
        """Change a pin. Git inherits our lock, so a lock of git's on the pin is that of a dead one."""
        async with locked(repo.common / "unstuck" / PINS) as held:
            for name in change:
                (repo.common / f"{name}.lock").unlink(missing_ok=True)
            await run_git(repo.common, *_PATIENT, "update-ref", *change, inherit=(held,))

    def refer(self, reference: str, id: str) -> bool:
        """Create ``reference`` at ``id`` in one step, in git's own format; False where the name is taken."""
        place = self.directory / reference
        fresh = place.with_name(f".{secrets.token_hex(8)}.lock")
        make_directory(place.parent)
        try:
            with open(open_fresh(fresh), "w", encoding="ascii") as file:
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
        """Delete ``references``. Needs ``alone``, so that the locks there are those of a dead git."""
        names = list(references)
        for name in (*names, "packed-refs"):
            (self.directory / f"{name}.lock").unlink(missing_ok=True)
        if names:
            orders = b"".join(b"delete " + os.fsencode(name) + b"\n" for name in names)
            await self.git("update-ref", "--stdin", stdin=orders)

    async def prune(self) -> None:
        """Free the objects that no checkpoint and no index holds. Needs ``alone``."""
        if (await self.git("prune", "--expire=now", check=False)).code == 0:
            return
        # Git stops at the first borrowed folder that is lost, as where the user's history and all pins were rewritten.
        held = ("--objects", "--no-object-names", "--missing=allow-any", "--glob=refs/*", "--indexed-objects")
        kept = set((await self.git("rev-list", *held)).out.decode("ascii").split())
        for file in (self.directory / "objects").glob("??/*"):
            if file.parent.name + file.name not in kept:
                file.unlink()

    def trees(self) -> list[Path]:
        """Return the private folders of all trees that have an index here."""
        return sorted((self.directory / "worktrees").glob("*/"))

    def forget_trees(self) -> None:
        """Remove the private folders of trees that no longer exist. Their checkpoints stay."""
        for place in self.trees():
            tree = _read(place / "gitdir").strip().removesuffix("/.git")
            if tree and not Path(tree).is_dir():
                shutil.rmtree(place, ignore_errors=True)

    def size(self) -> int:
        """Return the bytes that the objects take on disk."""
        total = 0
        for folder, _, files in os.walk(self.directory / "objects"):
            for name in files:
                with suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    async def _initialise(self, descriptor: int) -> None:
        """Make the repository. Git inherits the lock, which lasts until git has ended even after a kill."""
        format_ = "sha1"
        # A repository with another format than sha1 always names it in its own configuration.
        if self.repo and "objectformat" in _read(self.repo.common / "config").lower():
            asked = await run_git(self.repo.root, "rev-parse", "--show-object-format", check=False)
            format_ = asked.line if asked.code == 0 else format_
        for lock in self.directory.glob("*.lock"):  # of a git that was killed here
            lock.unlink()
        # The mode in --shared holds for whatever git makes in the store, also under an open umask.
        options = ("--quiet", "--bare", "--shared=0600", "--template=", f"--object-format={format_}")
        # References are files here, whatever format a later git prefers.
        files = {"GIT_DEFAULT_REF_FORMAT": "files"}
        await run_git(
            self.directory.parent, "init", *options, self.directory.name, environment=files, inherit=(descriptor,)
        )

    @staticmethod
    async def _user_ignore_file(repo: Repository) -> tuple[str, ...]:
        """Return the option for the user's ``core.excludesFile``, which this repository does not inherit."""
        asked = await run_git(
            repo.root, "config", "--type=path", "--get", "core.excludesFile", check=False, user_config=True
        )
        return ("-c", f"core.excludesFile={asked.line}") if asked.code == 0 else ()


async def _refuse_old_git(place: Path) -> None:
    said, version = await version_of_git(place)
    if version is None or version < OLDEST_GIT:
        needed = ".".join(map(str, OLDEST_GIT))
        raise WorkspaceError(f"{said} is too old for checkpoints: install git {needed} or newer")


def alternates(objects: Path) -> dict[str, str]:
    """Return the environment in which git also looks for objects in the folder ``objects``."""
    path = str(objects)
    if ":" in path or path.startswith('"') or "\n" in path:
        escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        path = f'"{escaped}"'
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": path}


def replace_text(file: Path, text: str) -> None:
    """Write ``text`` into ``file`` in one step, so that no concurrent reader finds a part of it."""
    if _read(file) != text:
        fresh = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
        write_private(fresh, text)
        fresh.replace(file)


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except OSError:
        return ""
