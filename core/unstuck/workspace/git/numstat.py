"""How many lines two trees differ by, file by file."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Counted", "parse_counts"]


@dataclass(frozen=True, slots=True)
class Counted:
    """One path and how many lines were ``added`` and ``removed`` in it; None for both where it is no text."""

    path: str
    added: int | None
    removed: int | None


def parse_counts(out: bytes) -> tuple[Counted, ...]:
    """Read ``git diff-tree --numstat --no-renames -z``, sorted by path."""
    found = []
    for row in out.split(b"\0")[:-1]:
        added, removed, path = row.split(b"\t", 2)
        is_text = added.isdigit() and removed.isdigit()
        lines = (int(added), int(removed)) if is_text else (None, None)
        found.append(Counted(os.fsdecode(path), *lines))
    return tuple(sorted(found, key=lambda one: one.path))
