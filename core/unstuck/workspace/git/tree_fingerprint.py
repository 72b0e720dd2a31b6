"""Fingerprint of a worktree: the names, sizes and times of all its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MOST_ENTRIES = 100_000
# Git and unstuck change these folders without the agent.
_SKIPPED = frozenset({".git", ".unstuck"})


@dataclass(frozen=True, slots=True)
class TreePrint:
    """Fingerprint of a tree; it changes when a file is added, removed or written. ``newest`` was written last."""

    value: int
    newest: str = ""


def print_of(tree: Path, *, most: int = MOST_ENTRIES) -> TreePrint | None:
    """Return the fingerprint of ``tree``; None where it cannot be read or has more than ``most`` entries."""
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
            continue  # removed during the scan, which the next fingerprint shows
        except OSError:
            return None
    return TreePrint(value, os.path.relpath(newest, tree) if newest else "")
