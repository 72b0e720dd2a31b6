"""Disks on which names that differ by case alone are one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def folds_case(folder: Path) -> bool:
    """True where ``folder`` takes a name for another that differs by case alone; asked of the first such name."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if (other := entry.name.swapcase()) != entry.name:
                return os.path.lexists(folder / other) and os.path.samestat(os.lstat(folder / other), os.lstat(entry))
    return False


def clash(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two of ``paths``, sorted, that would be one file there; None where there are none."""
    seen: dict[str, str] = {}
    for path in sorted(paths):
        if (other := seen.setdefault(path.casefold(), path)) != path:
            return other, path
    return None
