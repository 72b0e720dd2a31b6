"""Restore plan: the changes that a restore would make, and its obstacles."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import WorkspaceError
from unstuck.text import one_line
from unstuck.workspace.git.repository import Result
from unstuck.workspace.storage.tree_differences import Difference, Status

_ALWAYS = 20


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one path: its content changes, it returns, or it disappears; its sizes in bytes then and now."""

    status: Status
    path: str
    before: int | None = field(default=None, compare=False)
    after: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes by a restore of ``checkpoint``, sorted by path. ``files`` is how many files the tree has now.

    ``under_way`` is what git is in the middle of there, such as ``a rebase``, which a restore leaves as it is.
    """

    checkpoint: str
    changes: tuple[Change, ...]
    files: int
    under_way: str = ""

    def is_within(self, share: float) -> bool:
        """Return whether at most this share of the tree is overwritten or removed; twenty files are never too many."""
        lost = sum(change.status != "return" for change in self.changes)
        return lost <= max(_ALWAYS, share * self.files)


class Permissions(NamedTuple):
    """Of a file: who may do what with it, whose it is, and its group."""

    mode: int
    owner: int
    group: int


async def sizes_of(reading: Callable[..., Awaitable[Result]], differences: Iterable[Difference]) -> dict[str, int]:
    """The sizes of all contents by id, in bytes. Raises WorkspaceError where one that has to be written is missing."""
    differences = tuple(differences)
    ids = {id: "" for entry in differences for id in (entry.old, entry.new) if id}
    if not ids:
        return {}
    asked = await reading("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin="\n".join(ids).encode())
    rows = [line.split(" ") for line in asked.out.decode().splitlines()]
    sizes = {row[0]: int(row[1]) for row in rows if row[1].isdigit()}
    for entry in differences:
        if entry.new and entry.new not in sizes:
            raise WorkspaceError(f"the checkpoint is damaged: what {one_line(entry.path)} was is not there any more")
    return sizes


def changes(
    tree: Path, differences: Iterable[Difference], in_the_way: Collection[str], sizes: Mapping[str, int]
) -> tuple[Change, ...]:
    """The differences between two trees, corrected by the uncovered files that a restore would replace; sorted."""
    found = {
        entry.path: Change(entry.status, entry.path, sizes.get(entry.old), sizes.get(entry.new))
        for entry in differences
    }
    for path in in_the_way:
        returning = found.get(path)
        status: Status = "change" if returning is not None and returning.status == "return" else "disappear"
        found[path] = Change(status, path, _size(tree / path), returning.after if returning else None)
    return tuple(found[path] for path in sorted(found))


def obstacles(tree: Path, returning: Iterable[str], covered: Collection[str]) -> frozenset[str]:
    """Files at or above the places of ``returning`` paths that no checkpoint has: git would overwrite them in silence.

    Raises WorkspaceError where something stands there that cannot be saved (another repository, a pipe, a socket).
    """
    found: set[str] = set()
    for path in returning:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            place = "/".join(parts[:depth])
            mode = _mode(tree / place)
            if mode is None:
                break
            if not stat.S_ISDIR(mode):
                found.update(_savable(tree, place, mode))
                break
            if depth == len(parts):
                found.update(_files_under(tree, place))
    return frozenset(found - set(covered))


def _files_under(tree: Path, top: str) -> Iterator[str]:
    for directory, names, files in os.walk(tree / top):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        if ".git" in (*names, *files):
            raise WorkspaceError(f"another repository stands in the way of the restore: move {top} away first")
        for name in (*files, *links):
            place = Path(directory, name)
            relative = str(place.relative_to(tree))
            yield from _savable(tree, relative, _mode(place) or stat.S_IFREG)


def _savable(tree: Path, path: str, mode: int) -> Iterator[str]:
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise WorkspaceError(f"a special file stands in the way of the restore: move {tree / path} away first")
    if stat.S_ISREG(mode) and not os.access(tree / path, os.R_OK):
        raise WorkspaceError(f"a file that may not be read is in the way of the restore: move {tree / path} away first")
    yield path


def _size(place: Path) -> int | None:
    return None if (status := _status(place)) is None else status.st_size


def _mode(place: Path) -> int | None:
    return None if (status := _status(place)) is None else status.st_mode


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.lstat()
    except OSError:
        return None


def inside(tree: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """``paths`` as git spells them, sorted: none where the whole ``tree`` is among them. Raises WorkspaceError."""
    found = set()
    for path in paths:
        spelled = os.path.relpath(tree / path, tree) if path else ".."
        if spelled == ".." or spelled.startswith("../"):
            raise WorkspaceError(f"{one_line(path) or 'an empty name'} is no file or folder inside {tree}")
        found.add(spelled)
    return () if "." in found else tuple(sorted(found))


def permissions_of(tree: Path, changes: Iterable[Change]) -> dict[str, Permissions]:
    """Those of the files that a restore overwrites: a checkpoint knows of no more than whether one is run."""
    paths = [change.path for change in changes if change.status == "change"]
    found = ((path, _status(tree / path)) for path in paths)
    return {
        path: Permissions(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
        for path, status in found
        if status is not None and stat.S_ISREG(status.st_mode)
    }


def keep_permissions(tree: Path, kept: Mapping[str, Permissions]) -> None:
    """Give the files theirs back, to be run or not as they are now: what is private stays private.

    Where an owner cannot be given back, neither is the right to run as that owner.
    """
    for path, before in kept.items():
        with suppress(OSError):
            descriptor = os.open(tree / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                _restore_permissions(descriptor, before)
            finally:
                os.close(descriptor)


def _restore_permissions(descriptor: int, before: Permissions) -> None:
    now = os.fstat(descriptor)
    if not stat.S_ISREG(now.st_mode):
        return
    if (now.st_uid, now.st_gid) != before[1:]:
        for owner, group in ((before.owner, before.group), (-1, before.group)):  # its group, if no more than that
            with suppress(OSError):
                os.fchown(descriptor, owner, group)
                break
        now = os.fstat(descriptor)
    runs, ran = bool(now.st_mode & 0o100), bool(before.mode & 0o100)
    wanted = before.mode & 0o666 | ((before.mode & 0o444) >> 2 if runs else 0)
    if (now.st_uid, now.st_gid, runs) == (before.owner, before.group, ran):
        wanted |= before.mode & 0o7000
    if wanted != stat.S_IMODE(now.st_mode):
        os.fchmod(descriptor, wanted)
