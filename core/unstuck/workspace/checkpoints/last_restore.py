"""Last restore of a tree: undone by `undo`, and repeated where it was interrupted."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from unstuck.eventlog.storage.durable_files import open_fresh
from unstuck.workspace.git.plain_file import read_text

_NAME = "restore.json"


@dataclass(frozen=True, slots=True)
class LastRestore:
    """Restore of ``target``, limited to ``paths`` if there are any. ``safety`` undoes it; ``done`` is on at its end.

    ``run`` did it; empty in files of earlier versions.
    """

    target: str
    safety: str
    paths: tuple[str, ...] = ()
    done: bool = False
    run: str = ""


def read_last(place: Path) -> LastRestore | None:
    """Return the last restore of the tree of folder ``place``; None without one."""
    try:
        known = json.loads(read_text(place / _NAME))
        target, safety, run = str(known["target"]), str(known["safety"]), str(known.get("run", ""))
        return LastRestore(target, safety, tuple(known["paths"]), bool(known["done"]), run)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_last(place: Path, last: LastRestore | None) -> None:
    """Write ``last`` durably and in one step: after a kill it shows that files may be half restored."""
    if last is None:
        (place / _NAME).unlink(missing_ok=True)
        return
    fresh = place / (_NAME + ".new")
    with open(open_fresh(fresh), "w", encoding="ascii") as file:
        json.dump(asdict(last), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place / _NAME)
