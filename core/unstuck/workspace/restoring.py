"""What a restore would do, and what stands in its way."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unstuck.errors import WorkspaceError

__all__ = ["Change", "changes", "obstacles", "parse_changes"]

Status = Literal["change", "return", "disappear"]
_STATUS: dict[str, Status] = {"A": "return", "D": "disappear"}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one path: its content changes, it returns, or it disappears."""

    status: Status
    path: str


def parse_changes(out: bytes) -> tuple[Change, ...]:
    """Read ``git diff-tree --no-renames --name-status -z``."""
    fields = [os.fsdecode(field) for field in out.split(b"\0")[:-1]]
    return tuple(
        Change(_STATUS.get(status[:1], "change"), path) for status, path in zip(fields[::2], fields[1::2], strict=True)
    )


def changes(differences: Iterable[Change], in_the_way: Collection[str]) -> tuple[Change, ...]:
    """The differences between two trees, corrected by the uncovered files that a restore would replace; sorted."""
    found = {change.path: change.status for change in differences}
    for path in in_the_way:
        found[path] = "change" if found.get(path) == "return" else "disappear"
    return tuple(Change(found[path], path) for path in sorted(found))


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
    yield path


def _mode(place: Path) -> int | None:
    try:
        return place.lstat().st_mode
    except OSError:
        return None
