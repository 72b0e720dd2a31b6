"""Linked worktrees on disk: created and removed in steps that a kill cannot leave half done."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory, write_private
from unstuck.workspace.git.plain_file import read_text
from unstuck.workspace.git.refs import checked_out
from unstuck.workspace.git.repository import Repository, Result, run_git

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TRASH = ".trash-"
MARKER = "unstuck-start"
_SET_UP = "unstuck-set-up"


def safe_name(name: str) -> str:
    """Return a task or run id as part of a branch and directory name; different ids give different names.

    Raises WorkspaceError for an unusable id.
    """
    if not _NAME.fullmatch(name):
        raise WorkspaceError(f"not a usable id: {name[:40]!r} (letters, digits, dot, hyphen, underscore)")
    if ".." in name or name.endswith((".", ".lock")):
        return name.replace(".", "%2E")
    return name


def registered_tree(git_dir: Path) -> Path | None:
    """Return the worktree of ``git_dir``, the folder with its state; None where it names none."""
    try:
        said = read_text(git_dir / "gitdir").rstrip("\n")
    except FileNotFoundError:
        return None
    return (git_dir / said).parent.resolve()


def belongs_elsewhere(path: Path, repo: Repository) -> bool:
    """Return whether the tree at ``path`` belongs to another repository, such as the one ``repo`` was copied from."""
    try:
        said = read_text(path / ".git").removeprefix("gitdir: ").rstrip("\n")
    except OSError:
        return False
    other = path / said
    if not other.is_dir() or other.parent.parent.samefile(repo.common):
        return False
    return registered_tree(other) == path.resolve()


async def sweep(directory: Path) -> None:
    """Remove the trees whose removal a kill interrupted."""
    for leftover in await asyncio.to_thread(lambda: list(directory.glob(TRASH + "*"))):
        await asyncio.to_thread(shutil.rmtree, leftover, True)


class TreePlace:
    """Place of one linked worktree.

    The tree is complete once its git directory holds the commit it started from, which is written last. No agent ever
    gets an incomplete tree.
    """

    def __init__(self, repo: Repository, path: Path) -> None:
        self.path = path
        self._repo = repo

    async def git(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result:
        """Run git in the tree as its user would: with their filters and ignore rules."""
        return await run_git(self.path, *arguments, stdin=stdin, check=check, user_config=True)

    async def commit(self) -> str | None:
        """Return the commit that is checked out here; None without one, or where it is damaged."""
        return await checked_out(self.path)

    @property
    def start(self) -> str | None:
        """The commit the tree started from; None where there is no complete tree."""
        return self._read(MARKER) or None

    @property
    def git_dir(self) -> Path | None:
        """Git's directory of this worktree; None if it is no linked worktree of this repository."""
        try:
            target = read_text(self.path / ".git").removeprefix("gitdir: ").rstrip("\n")
        except (OSError, UnicodeDecodeError):
            return None
        git_dir = Path(target)
        return git_dir if git_dir.parent == self._repo.common / "worktrees" and git_dir.is_dir() else None

    @property
    def is_linked(self) -> bool:
        """Return whether git knows this tree."""
        return self.git_dir is not None

    @property
    def merges(self) -> bool:
        """Return whether a merge is under way here."""
        return (git_dir := self.git_dir) is None or (git_dir / "MERGE_HEAD").exists()

    def is_on(self, branch: str) -> bool:
        """Return whether the branch of this full name is checked out."""
        return self._read("HEAD") == f"ref: {branch}"

    @property
    def lock(self) -> str | None:
        """Reason of a lock (``git worktree lock``); None without a lock."""
        return self._read("locked")

    @property
    def is_set_up(self) -> bool:
        """Return whether the plan's setup has run here."""
        return self._read(_SET_UP) is not None

    def mark_set_up(self) -> None:
        """Remember that the plan's setup has run here, for as long as the tree is there."""
        if git_dir := self.git_dir:
            (git_dir / _SET_UP).touch(0o600)

    async def add(self, start: str, *what: str) -> None:
        """Check out ``what`` (a branch, or ``--detach`` and a commit) here, instead of any half-made tree."""
        await self._clear()
        make_directory(self.path.parent)
        *flags, commit = what
        # Twice by force: over the registration, and its lock, that a killed attempt may have left behind.
        command = ("worktree", "add", "--quiet", "--force", "--force", *flags, str(self.path), commit)
        await run_git(self._repo.root, *command, user_config=True)
        git_dir = self.git_dir
        if git_dir is None:
            raise WorkspaceError(f"git created no worktree at {self.path}")
        write_private(git_dir / MARKER, start + "\n")

    async def unlock(self) -> None:
        """Remove the locks of a killed git on the index and on HEAD."""
        if git_dir := self.git_dir:
            for name in ("index", "HEAD", "ORIG_HEAD"):
                (git_dir / f"{name}.lock").unlink(missing_ok=True)

    async def dispose(self) -> None:
        """Remove the tree with all its files, or only git's registration of it. One rename decides."""
        git_dir = self.git_dir
        is_anothers = git_dir is not None and self._is_anothers(git_dir)
        trash = self.path.with_name(TRASH + secrets.token_hex(4))
        if self.path.exists():
            self.path.rename(trash)
        if git_dir is not None and not is_anothers:
            await asyncio.to_thread(shutil.rmtree, git_dir, True)
            with suppress(OSError):
                git_dir.parent.rmdir()  # as git does with the last one
        else:
            await run_git(self._repo.root, "worktree", "remove", "--force", "--force", str(self.path), check=False)
        await asyncio.to_thread(shutil.rmtree, trash, True)

    def _is_anothers(self, git_dir: Path) -> bool:
        """Return whether ``git_dir`` belongs to another existing tree, whose ``.git`` file was copied over this one."""
        tree = registered_tree(git_dir)
        return tree is not None and tree != self.path.resolve() and (tree / ".git").exists()

    async def _clear(self) -> None:
        if not self.path.exists():
            return
        if self.git_dir and self.start is None:
            await self.dispose()
            return
        # No tree of ours, or one whose registration was pruned: there may be work in it.
        self.path.rename(self.path.with_name(f"{self.path.name}.aside-{secrets.token_hex(4)}"))

    def _read(self, name: str) -> str | None:
        git_dir = self.git_dir
        try:
            return read_text(git_dir / name).strip() if git_dir else None
        except OSError:
            return None
