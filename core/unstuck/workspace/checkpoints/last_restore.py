"""What the last restore of a tree was: to take it back, and to know of one that was cut off."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["LastRestore", "read_last", "write_last"]

_NAME = "restore.json"


@dataclass(frozen=True, slots=True)
class LastRestore:
    """A restore of ``target``, of ``paths`` only where there are any. ``safety`` undoes it; ``done`` is its end.

    ``run`` is who did it; empty where an earlier version did not say so.
    """

    target: str
    safety: str
    paths: tuple[str, ...] = ()
    done: bool = False
    run: str = ""


def read_last(place: Path) -> LastRestore | None:
    """The last restore of the tree whose private folder this is; None where there was none."""
    try:
        known = json.loads((place / _NAME).read_text(encoding="ascii"))
        target, safety, run = str(known["target"]), str(known["safety"]), str(known.get("run", ""))
        return LastRestore(target, safety, tuple(known["paths"]), bool(known["done"]), run)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_last(place: Path, last: LastRestore) -> None:
    """Put it on disk, in one step and for good: it is what tells after a kill that files may be half set back."""
    fresh = place / (_NAME + ".new")
    with fresh.open("w", encoding="ascii") as file:
        json.dump(asdict(last), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place / _NAME)
