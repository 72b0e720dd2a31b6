"""Removal of the files that a restore replaces. What was saved since they were looked at stays."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.workspace.git.repository import above

Print = tuple[int, ...] | None


def print_of(place: Path) -> Print:
    """Return what changes whenever a file is saved, in place or by a rename; None where there is none."""
    try:
        status = place.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def take_away(tree: Path, before: Mapping[str, Print], coming: Iterable[str]) -> frozenset[str]:
    """Remove the files that are still as in ``before``, and the folders that are empty then; return the others.

    An empty folder in the place of a file that is ``coming`` goes, too.
    """
    kept = set()
    for path, known in before.items():
        place = tree / path
        if _is_behind_link(tree, path):
            continue  # git would not follow it either: the link itself is in the way
        # The name may have other hard links, whose removal has changed the time of the last change of status.
        if known is not None and not _is_same(print_of(place), known):
            kept.add(path)
            continue
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
    for folder in sorted({folder for path in before for folder in above(path)}, reverse=True):
        _remove_empty(tree / folder)
    for path in coming:
        if (place := tree / path).is_dir() and not place.is_symlink():
            for top, _, _ in os.walk(place, topdown=False):
                _remove_empty(Path(top))
    return frozenset(kept)


def _is_same(now: Print, known: tuple[int, ...]) -> bool:
    return now is not None and (now == known or (now[:5] == known[:5] and stat.S_ISREG(now[2])))


def _is_behind_link(tree: Path, path: str) -> bool:
    return any((tree / folder).is_symlink() for folder in above(path))


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        if not folder.is_symlink():
            folder.rmdir()
