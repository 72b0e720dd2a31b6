"""Whether anything in a work tree has changed: a cheap print of all names, sizes and times, taken twice."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["TreePrint", "print_of"]

MOST_ENTRIES = 100_000
# Git's own files and our record of the run change without the agent.
_SKIPPED = frozenset({".git", ".unstuck"})


@dataclass(frozen=True, slots=True)
class TreePrint:
    """Two prints of one tree differ when a file came, went or was written. ``newest`` was written last."""

    value: int
    newest: str = ""


def print_of(tree: Path, *, most: int = MOST_ENTRIES) -> TreePrint | None:
    """The print of ``tree`` as it is now; None where it cannot be read or has more than ``most`` entries."""
    value, newest, latest, left = 0, "", -1, most
    folders = [os.fspath(tree)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return None
                    if entry.name in _SKIPPED:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        value ^= hash(entry.path)
                        continue
                    found = entry.stat(follow_symlinks=False)
                    value ^= hash((entry.path, found.st_size, found.st_mtime_ns, found.st_ino))
                    if found.st_mtime_ns > latest:
                        latest, newest = found.st_mtime_ns, entry.path
        except FileNotFoundError:
            continue  # it went while we looked, which the next print shows
        except OSError:
            return None
    return TreePrint(value, os.path.relpath(newest, tree) if newest else "")
