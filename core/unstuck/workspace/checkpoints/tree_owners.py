"""Who worked in a tree between which of its checkpoints: in a shared tree only a task's own work is taken back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["note_worker", "workers_at"]

_NAME = "workers.json"
_MOST = 1_000


def note_worker(place: Path, number: int, task: str) -> None:
    """From checkpoint ``number`` on ``task`` works in the tree whose private folder this is; empty for nobody."""
    known = [*_read(place), (number, task)]
    fresh = place / (_NAME + ".new")
    fresh.write_text(json.dumps(known[-_MOST:]), encoding="ascii")
    fresh.replace(place / _NAME)


def workers_at(place: Path, numbers: Sequence[int]) -> list[str]:
    """For each of these checkpoints, in rising order, who worked from it on up to the next one."""
    known, found, worker = _read(place), [], ""
    for number in numbers:
        while known and known[0][0] <= number:
            worker = known.pop(0)[1]
        found.append(worker)
    return found


def _read(place: Path) -> list[tuple[int, str]]:
    try:
        known = json.loads((place / _NAME).read_text(encoding="ascii"))
        return [(int(number), str(task)) for number, task in known]
    except (OSError, ValueError, TypeError):
        return []
