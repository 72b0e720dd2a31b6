"""Task that worked in a tree between its checkpoints; a restore in a shared tree undoes only the task's own work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from unstuck.eventlog.storage.durable_files import write_private
from unstuck.workspace.git.plain_file import read_text

_NAME = "workers.json"
_MOST = 1_000


def checking(task: str) -> str:
    """Return who works in a tree while the check of ``task`` runs there: no task has this name."""
    return f"check of {task}"


def note_worker(place: Path, number: int, task: str) -> None:
    """Record that ``task`` (empty: no task) works in the tree of folder ``place`` from checkpoint ``number`` on."""
    known = [*_read(place), (number, task)]
    fresh = place / (_NAME + ".new")
    write_private(fresh, json.dumps(known[-_MOST:]))
    fresh.replace(place / _NAME)


def workers_at(place: Path, numbers: Sequence[int]) -> list[str]:
    """Return the task that worked from each checkpoint up to the next; ``numbers`` are in rising order."""
    known, found, worker = _read(place), [], ""
    for number in numbers:
        while known and known[0][0] <= number:
            worker = known.pop(0)[1]
        found.append(worker)
    return found


def _read(place: Path) -> list[tuple[int, str]]:
    try:
        known = json.loads(read_text(place / _NAME))
        return [(int(number), str(task)) for number, task in known]
    except (OSError, ValueError, TypeError):
        return []
