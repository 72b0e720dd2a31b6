"""Differences between two trees, as git's raw output has them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Status = Literal["change", "return", "disappear"]
_STATUS: dict[str, Status] = {"A": "return", "D": "disappear"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One path in which two trees differ, with the ids and modes of its contents; those of a missing one are empty."""

    status: Status
    path: str
    old: str
    new: str
    old_mode: str
    new_mode: str


def parse_differences(out: bytes) -> tuple[Difference, ...]:
    """Read ``git diff-tree --no-renames --raw -z``."""
    fields = [os.fsdecode(part) for part in out.split(b"\0")[:-1]]
    found = []
    for told, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old, new, letter = told.removeprefix(":").split(" ")
        known = (value if value.strip("0") else "" for value in (old, new, old_mode, new_mode))
        found.append(Difference(_STATUS.get(letter[:1], "change"), path, *known))
    return tuple(found)
