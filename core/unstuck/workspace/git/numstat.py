"""Added and removed lines of each file between two trees."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Counted", "parse_counts"]


@dataclass(frozen=True, slots=True)
class Counted:
    """Lines ``added`` and ``removed`` in ``path``; None for both where it is no text."""

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
