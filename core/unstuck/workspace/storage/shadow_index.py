"""The private index behind the checkpoints of one work tree.

To git it is a linked work tree of the checkpoints' own repository, with its own index; so a checkpoint costs what
changed since the last one, and touches nothing that is the user's.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from unstuck.errors import GitError, WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory, open_for_reading, open_fresh, write_private
from unstuck.text import one_line
from unstuck.workspace.git.plain_file import read_bytes, read_text
from unstuck.workspace.git.refs import checked_out
from unstuck.workspace.git.repo_status import git_dir_of, under_way
from unstuck.workspace.git.repository import Result, above, join_paths, path_hash, run_git, split_paths
from unstuck.workspace.storage.conversions import unproven
from unstuck.workspace.storage.exclusions import (
    LeftOut,
    bare_among,
    lost,
    out_of_reach,
    refuse_git_directory,
    refuse_home,
    refuse_huge,
)
from unstuck.workspace.storage.index_entries import Entry, read_entries
from unstuck.workspace.storage.object_store import ObjectStore, alternates
from unstuck.workspace.storage.replacement import print_of, take_away
from unstuck.workspace.storage.staging import Git, Scan, stage, survey
from unstuck.workspace.storage.tree_differences import Difference

_GITLINK = 0o160000
_Row = tuple[str, str, str]  # mode, id and path of an index entry

_YES = "allowed"
_FOLDERS = "folders"  # objects of the base: its folders, in one pack
_EXACT = "exact"  # an earlier version began with whatever git's own index said
_ARGUMENTS = 200
_FEW = 8
_BUSY = re.compile("unstable object source|short read|read error while indexing")
_NO_ROOM = re.compile("[Oo]ut of diskspace|No space left|Disk quota exceeded|File too large")
_CUT_OFF = "the restore did not come to its end"
_AGAIN = "run it again, or undo it with `unstuck checkpoints undo`"
_HEAD = "HEAD^{commit}"
_NO_COMMIT = "ref: refs/heads/none"
_MAY_LOCK = {"GIT_OPTIONAL_LOCKS": "1"}
_SPLIT = ("-c", "core.splitIndex=true", "-c", "splitIndex.sharedIndexExpire=now")
# A folder is a list of ids: there is little to squeeze out of it, and it takes time.
_PLAIN = ("-c", "core.looseCompression=0")
_UNSYNCED = ("-c", "core.fsync=none")


async def make_index(fresh: Path, base: str, tree: Path, common: Path, *, now: int, git: Git, reading: Git) -> bool:
    """Make ``fresh``, a copy of the index of the worktree ``tree``, that of the commit ``base``.

    ``git`` works on ``fresh``, ``reading`` on the user's objects, too, which lie in ``common``; ``now`` is the time in
    ns. Returns False where those objects are damaged: then all has to be saved again.
    """
    entries = await _committed(fresh, base, reading)
    if entries is None:
        return False
    # A submodule is another repository; what git was told to overlook may differ all the same.
    files = [entry for entry in entries if entry.is_plain and entry.mode != _GITLINK]
    if len(files) < len(entries):
        others = {entry.path for entry in entries}.difference(entry.path for entry in files)
        await stage(git, removed=map(os.fsdecode, others))
    odd = await unproven(tree, common, files, now, reading)
    if rows := _index_info((f"{entry.mode:o}", entry.id, os.fsdecode(entry.path)) for entry in odd):
        await git("update-index", "-z", "--index-info", stdin=rows)  # without their sizes and times
    return True


async def _committed(fresh: Path, base: str, reading: Git) -> list[Entry] | None:
    """The entries of ``fresh`` once they are those of ``base``; None where the user's objects are damaged."""
    tree = (await reading("rev-parse", "--verify", "--quiet", f"{base}^{{tree}}", check=False)).line
    for command in ((), ("read-tree", "--reset", base), ("read-tree", base)):
        if command[1:] == (base,):
            fresh.unlink(missing_ok=True)
        if command and (await reading(*command, check=False)).code:
            continue
        written = reading("write-tree", "--missing-ok", check=False)  # reads the file, too: both at once
        entries, told = await asyncio.gather(asyncio.to_thread(_entries_of, fresh, len(base) // 2), written)
        if entries is not None and told.line == tree:
            return entries
    return None


def _index_info(rows: Iterable[_Row]) -> bytes:
    """``rows`` as ``git update-index --index-info`` reads them; the mode ``0`` takes a path out."""
    return join_paths(f"{mode} {id}\t{path}" for mode, id, path in rows)


def _entries_of(file: Path, id_size: int) -> list[Entry] | None:
    try:
        return read_entries(read_bytes(file), id_size)
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The id of a git tree, how many files it has, what it could not hold, and about how many bytes were saved for it.

    ``ignored`` is what lies there and is ignored, sorted; a folder ends in a slash and stands for all that is in it.
    """

    tree: str
    files: int
    left_out: tuple[LeftOut, ...]
    ignored: tuple[str, ...]
    size: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The paths that it could not hold."""
        return tuple(entry.path for entry in self.left_out)


class SideRepository:
    """The private index over ``tree``. Everything needs ``held`` around it."""

    def __init__(self, tree: Path, store: ObjectStore, *, file_limit: int, most_bytes: int) -> None:
        self.tree = tree.resolve()
        self.name = path_hash(self.tree)
        self.place = store.directory / "worktrees" / self.name
        self._store = store
        self._file_limit, self._most_bytes = file_limit, most_bytes
        self._lock = asyncio.Lock()
        self._descriptors: tuple[int, ...] = ()
        self._user_index: Path | None = None
        self._tracked: tuple[tuple[int, ...], frozenset[str]] = ((), frozenset())

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the tree alone: among our tasks, and among processes until the last git of ours has ended.

        What the disk refuses meanwhile is raised as WorkspaceError.
        """
        try:
            async with self._lock, self._store.shared() as shared, self._store.locked(f"{self.name}.lock") as own:
                self._descriptors = (shared, own)
                try:
                    yield
                finally:
                    self._descriptors = ()
        except OSError as problem:
            raise WorkspaceError(f"{self._store.directory.parent}: {problem.strerror or problem}") from problem
        except GitError as problem:
            if not _is_full(problem):
                raise
            raise WorkspaceError(f"{self._store.directory.parent}: no room to save files: {problem.said}") from problem

    def allow(self) -> None:
        """Take the yes of a person for a tree that is a home directory or huge."""
        make_directory(self.place)
        (self.place / _YES).touch(0o600)

    async def git(
        self, *arguments: str, stdin: bytes | None = None, check: bool = True, index: Path | None = None
    ) -> Result:
        """Run git with the private index (or ``index``) over the tree, on what was saved here."""
        return await self._run(arguments, stdin, check, self._environment(index))

    async def reading(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        check: bool = True,
        index: Path | None = None,
        take: Callable[[bytes], bool] | None = None,
    ) -> Result:
        """The same, on the user's objects too: for what reads the contents of files that were never changed.

        ``take`` gets the output in pieces, and says whether it wants more.
        """
        return await self._run(arguments, stdin, check, self._environment(index) | self._store.borrowed(), take)

    async def snapshot(self) -> Snapshot:
        """The tree as it is now; a damaged or outdated private index is thrown away and built again, once.

        Raises TreeTooLarge.
        """
        if self._store.repo is None:
            refuse_git_directory(self.tree)
        if not self._allowed:
            refuse_home(self.tree)
        await self._open()
        try:
            return await self._snapshot()
        except GitError as error:
            if _is_full(error):
                raise
            self._drop_index()
            await self._seed()
            return await self._snapshot()

    async def under_way(self) -> str:
        """Unfinished operation of the user's git in this tree, such as ``a rebase``; empty without one."""
        return under_way((await self._checked_out())[0])

    @property
    def base(self) -> str:
        """The user's commit from which files are borrowed; empty where there is none."""
        try:
            return read_text(self.place / "base").strip()
        except OSError:
            return ""

    async def save(self, paths: Iterable[str]) -> tuple[str, int]:
        """Put ``paths`` into the index, ignored or large as they may be; the new tree, and how many files it has."""
        await stage(self._saving, present=paths)
        return await self._saved()

    async def covered(self) -> frozenset[str]:
        """Every path the index has."""
        return frozenset(split_paths((await self.git("ls-files", "-z")).out))

    async def names(self, tree: str, paths: Collection[str]) -> list[str]:
        """The files that ``tree`` has at and below ``paths``."""
        return [row.split("\t", 1)[1] for row in await self._entries(tree, paths)]

    async def mixed(self, base: str, other: str, paths: Collection[str]) -> str:
        """The tree ``base``, but with whatever ``other`` has at and below ``paths``."""
        if not paths:
            return base
        theirs, ours = await self._entries(other, paths), await self.names(base, paths)
        if not theirs and not ours:
            return base
        scratch = self.place / "goal-index"
        scratch.unlink(missing_ok=True)
        await self.reading("read-tree", base, index=scratch)
        await self.git("update-index", "--force-remove", "-z", "--stdin", stdin=join_paths(ours), index=scratch)
        await self.git("update-index", "--replace", "-z", "--index-info", stdin=join_paths(theirs), index=scratch)
        return await self._write_tree(scratch)

    async def _entries(self, tree: str, paths: Collection[str]) -> list[str]:
        """Return the entries of ``git ls-tree`` for ``tree`` at and below ``paths``."""
        few = paths if len(paths) <= _ARGUMENTS else ()
        listed = split_paths((await self.reading("--literal-pathspecs", "ls-tree", "-r", "-z", tree, "--", *few)).out)
        if few:
            return listed
        wanted = {path.rstrip("/") for path in paths}
        return [row for row in listed if not wanted.isdisjoint((name := row.split("\t", 1)[1], *above(name)))]

    async def move(self, differences: Collection[Difference], goal: str) -> None:
        """Turn the files into those of ``goal``; nothing is done where a file is not as ``differences`` have it.

        Each file is looked at again right before it goes, and git writes only where nothing stands: what is saved
        meanwhile stays. Raises WorkspaceError where the files are not those of ``goal`` afterwards.
        """
        leaving = [(one.old_mode, one.old, one.path) for one in differences if one.old]
        coming = [one.path for one in differences if one.new]
        before = {path: print_of(self.tree / path) for _, _, path in leaving}
        if before and (unlike := await self._unlike(await self._apart(leaving))):
            what = ", ".join(map(one_line, sorted(unlike)[:3]))
            raise WorkspaceError(f"{_CUT_OFF}: {what} changed meanwhile and was kept; {_AGAIN}")
        kept = await asyncio.to_thread(take_away, self.tree, before, coming)
        try:
            # Those that go come first: a file can then take the place of their folder.
            fresh = [(one.new_mode or "0", one.new or one.old, one.path) for one in differences]
            rows = _index_info(sorted(fresh, key=lambda row: row[0] != "0"))
            await self._saving("update-index", "--replace", "-z", "--index-info", stdin=rows)
            names = join_paths(path for path in coming if path not in kept)
            written = await self.reading("checkout-index", "-q", "-u", "-z", "--stdin", stdin=names, check=False)
        except GitError as error:
            raise WorkspaceError(f"{_CUT_OFF}: {error.said}; {_AGAIN}") from error
        errors = [line for line in written.err.splitlines() if line.startswith(("fatal:", "error:"))]
        if written.code and errors:  # of what stands there already it says nothing
            raise WorkspaceError(f"{_CUT_OFF}: {one_line(errors[0])}; {_AGAIN}")
        odd, tree = await asyncio.gather(self._changed(), self._write_tree())
        odd = await self._unlike() if odd else odd
        if odd or tree != goal:
            what = ", ".join(map(one_line, odd[:3])) or "unexpected index"
            raise WorkspaceError(f"{_CUT_OFF}: {what} changed meanwhile and was kept; {_AGAIN}")

    async def _apart(self, rows: Iterable[_Row]) -> Path:
        """Make an index of ``rows`` alone: git compares each path of a large index with each path it is asked for."""
        scratch = self.place / "goal-index"
        scratch.unlink(missing_ok=True)
        await self.git("update-index", "-z", "--index-info", stdin=_index_info(rows), index=scratch)
        return scratch

    async def _unlike(self, index: Path | None = None) -> list[str]:
        """Return the files that are not as the private index, or ``index``, has them; now looked at one by one."""
        # Some were only touched, or are another name of a file that was set back, which has fewer names now.
        seen = await self.reading("update-index", "--refresh", check=False, index=index)
        return await self._changed(index) if seen.code else []

    async def _changed(self, index: Path | None = None) -> list[str]:
        """Return the files whose sizes or times are not as the private index, or ``index``, has them."""
        return split_paths((await self.reading("diff-files", "-z", "--name-only", index=index)).out)

    @property
    def _allowed(self) -> bool:
        return (self.place / _YES).exists()

    async def _open(self) -> None:
        await self._store.open(self.tree)
        for lock in self.place.glob("*.lock"):  # its owner is dead: we hold the lock that git held
            lock.unlink()
        if (self.place / "index").exists() and (self.place / _EXACT).exists():
            return
        self._drop_index()
        make_directory(self.place)
        write_private(self.place / "commondir", "../..\n")
        write_private(self.place / "gitdir", f"{self.tree}/.git\n")
        await self._seed()
        (self.place / _EXACT).touch(0o600)

    def _drop_index(self) -> None:
        for index in (*self.place.glob("index*"), *self.place.glob("sharedindex*")):
            index.unlink(missing_ok=True)
        shutil.rmtree(self.place / _FOLDERS, ignore_errors=True)

    async def _seed(self) -> None:
        """Begin with the files of the commit that is checked out, so that only what differs has to be read and saved.

        What the user's own index knows of sizes and times comes with it, its conflicts and its marks do not.
        """
        directory, base = await self._checked_out()
        self._user_index = directory / "index" if self._store.repo else None
        fresh = self.place / "index.fresh"
        fresh.unlink(missing_ok=True)
        self._begin_at(base)  # before it is pinned: who cleans up elsewhere meanwhile reads here what is borrowed
        if not base or self._store.repo is None:
            return
        await self._store.pin(base)
        with suppress(OSError):
            # With its time: what was written in the same instant as a file is looked at again.
            await asyncio.to_thread(_copy, directory / "index", fresh)
        now = (self.place / "base").stat().st_ctime_ns
        git, reading = partial(self.git, index=fresh), partial(self.reading, index=fresh)
        common = self._store.repo.common
        made = make_index(fresh, base, self.tree, common, now=now, git=git, reading=reading)
        is_made, _ = await asyncio.gather(made, self._borrow_folders(base))
        if is_made:
            fresh.rename(self.place / "index")  # last, so that one half made by a kill is never used
        else:
            self._drop_index()
            self._begin_at("")

    async def _borrow_folders(self, base: str) -> None:
        """Put the folders of ``base`` below its top where git finds them when it saves, and nothing else of the user's.

        Git saves no folder that it finds. Any other object of the user's may go, but ``base`` is pinned.
        """
        listed = await self.reading("ls-tree", "-r", "-d", "-z", base, check=False)
        rows = [row.split(b"\t", 1)[0].split(b" ") for row in listed.out.split(b"\0")[:-1]]
        ids = b"".join(b"%s\n" % id for _, kind, id in rows if kind == b"tree")
        if ids and listed.code == 0:
            make_directory(self.place / _FOLDERS / "pack")
            names = str(self.place / _FOLDERS / "pack" / "pack")
            await self.reading(*_UNSYNCED, "pack-objects", "-q", "--window=0", names, stdin=ids, check=False)

    def _begin_at(self, base: str) -> None:
        write_private(self.place / "base", base + "\n")
        write_private(self.place / "HEAD", f"{base or _NO_COMMIT}\n")

    async def _checked_out(self) -> tuple[Path, str]:
        """The tree's own git directory, and the commit that is checked out in it or nothing."""
        repo = self._store.repo
        if repo is None:
            return self.tree, ""
        own = repo.git_dir if self.tree == repo.root else git_dir_of(self.tree)
        if own == repo.git_dir or own.parent == repo.common / "worktrees":
            return own, await checked_out(self.tree) or ""
        asked = await run_git(self.tree, "rev-parse", "--absolute-git-dir", _HEAD, check=False)
        directory, _, head = asked.line.rpartition("\n")
        return Path(directory), "" if asked.code or head == _HEAD else head

    async def _snapshot(self) -> Snapshot:
        seen = await survey(self._surveying)
        found = seen.scan
        # Unless we have it already, what was added in spite of an ignore rule is ignored here.
        tracked = await self._tracked_though_ignored() if seen.ignored or found.removed else frozenset[str]()
        hidden: frozenset[LeftOut] = frozenset()
        if found.unclear:
            gone, hidden = await asyncio.to_thread(lost, self.tree, await self.covered(), seen.closed)
            found = replace(found, removed=found.removed | gone)
        if bare := await asyncio.to_thread(bare_among, self.tree, found.untracked):
            tops = tuple(bare)
            begun = frozenset(path for path in await self.covered() if path.startswith(tops))
            strangers = frozenset(path for path in found.untracked if not path.startswith(tops))
            found = replace(found, removed=found.removed | begun, untracked=strangers, nested=found.nested | bare)
        # One file in the index from inside another repository would make all that is in there look like our own.
        others = tuple(found.nested)
        candidates = found.present | frozenset(path for path in tracked if not path.startswith(others))
        left_out, size = frozenset[LeftOut](), 0
        if candidates:
            left_out, size = await asyncio.to_thread(out_of_reach, self.tree, candidates, self._file_limit)
        names = {entry.path for entry in left_out}
        present = candidates - names - found.removed
        if not self._allowed:
            refuse_huge(self.tree, len(present), size, self._most_bytes)
        await stage(self._saving, removed=found.removed | names)
        refused = await self._stage(present)
        repositories = {LeftOut(path, "repository") for path in found.nested}
        everything = tuple(sorted(left_out | repositories | hidden | refused))
        tree, files = await self._saved()
        return Snapshot(tree, files, everything, self._not_covered(seen.ignored | self._replacing(found)), size)

    async def _stage(self, present: Collection[str]) -> frozenset[LeftOut]:
        """Write ``present`` into the index, but for a few: git does not take every name, nor what is being written."""
        refused: set[LeftOut] = set()
        parts = [sorted(present)]
        while parts:
            paths = parts.pop()
            try:
                if not await stage(self._saving, present=paths):
                    strange = set(paths) - await self.covered()
                    refused |= {LeftOut(path, "name") for path in strange if os.path.lexists(self.tree / path)}
            except GitError as error:
                if len(refused) >= _FEW or not (error.code == -signal.SIGBUS or _BUSY.search(error.said)):
                    raise
                (self.place / "index.lock").unlink(missing_ok=True)
                half = len(paths) // 2
                if half:
                    parts += [paths[half:], paths[:half]]
                else:
                    refused.add(LeftOut(paths[0], "busy"))
        return frozenset(refused)

    def _replacing(self, found: Scan) -> frozenset[str]:
        """Ignored folders in the place of files that were saved before: git does not name those."""
        folders = {f"{path}/" for path in found.removed if _is_folder(self.tree / path)} - found.nested
        seen = {f"{folder}/" for path in found.untracked for folder in above(path)} if folders else set()
        return frozenset(folders - seen)

    def _not_covered(self, ignored: Iterable[str]) -> tuple[str, ...]:
        own = self._store.home
        places = ((path, self.tree / path) for path in ignored)
        return tuple(sorted(path for path, place in places if not own.is_relative_to(place) and not _is_empty(place)))

    async def _surveying(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result:
        """Git that also finds HEAD, which is the user's, and writes down which files were only touched."""
        return await self._run(arguments, stdin, check, self._environment(None) | self._store.borrowed() | _MAY_LOCK)

    async def _saving(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> Result:
        """Git that writes what changes in the index into a small file of its own: a large index costs less so."""
        return await self.git(*_SPLIT, *arguments, stdin=stdin, check=check)

    async def _saved(self) -> tuple[str, int]:
        """Write the tree of the index; return its id, and how many files it has."""
        tree, listed = await asyncio.gather(self._write_tree(), self.git("ls-files", "-z"))
        return tree, listed.out.count(b"\0")

    async def _write_tree(self, index: Path | None = None) -> str:
        folders, environment = self.place / _FOLDERS, self._environment(index)
        if folders.is_dir():
            environment |= alternates(folders)
        return (await self._run((*_PLAIN, "write-tree", "--missing-ok"), None, True, environment)).line

    async def _tracked_though_ignored(self) -> frozenset[str]:
        """Files that the user added in spite of an ignore rule, asked again when their index is another."""
        if self._store.repo is None:
            return frozenset()
        if self._user_index is None:
            self._user_index = (await self._checked_out())[0] / "index"
        try:
            status = self._user_index.stat()
        except OSError:
            return frozenset()
        print_ = _print_of(status)
        if print_ != self._tracked[0]:
            arguments = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
            listed = await run_git(self.tree, *self._store.options, *arguments, check=False)
            self._tracked = print_, frozenset(split_paths(listed.out))
        there = frozenset(path for path in self._tracked[1] if _is_file(self.tree / path))
        return there - await self.covered() if there else there  # changes of saved files are found anyway

    def _environment(self, index: Path | None) -> dict[str, str]:
        environment = {"GIT_DIR": str(self.place), "GIT_WORK_TREE": str(self.tree)}
        return environment | ({"GIT_INDEX_FILE": str(index)} if index else {})

    async def _run(
        self,
        arguments: tuple[str, ...],
        stdin: bytes | None,
        check: bool,
        environment: dict[str, str],
        take: Callable[[bytes], bool] | None = None,
    ) -> Result:
        command, held = (*self._store.options, *arguments), self._descriptors
        return await run_git(
            self.tree, *command, environment=environment, stdin=stdin, check=check, take=take, inherit=held
        )


def _copy(index: Path, fresh: Path) -> None:
    with open_for_reading(index) as file, open(open_fresh(fresh), "wb") as copy:
        status = os.fstat(file.fileno())
        shutil.copyfileobj(file, copy)
    os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))


def _print_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_full(error: GitError) -> bool:
    return error.code == -signal.SIGXFSZ or bool(_NO_ROOM.search(error.said))


def _is_empty(place: Path) -> bool:
    """Return whether it is a folder with nothing in it but such folders."""
    if not _is_folder(place):
        return False
    links = (os.path.islink(os.path.join(top, name)) for top, names, _ in os.walk(place) for name in names)
    return not any(files for _, _, files in os.walk(place)) and not any(links)


def _is_folder(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def _is_file(place: Path) -> bool:
    return place.is_symlink() or place.is_file()
