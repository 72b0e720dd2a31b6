"""The folders of a project's runs: their names, their order, and which old ones may go."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import RecordError
from unstuck.eventlog.storage.durable_files import open_for_reading

__all__ = ["KEPT_ALWAYS", "Ended", "ended", "new_run", "outdated", "remove", "run_names"]

KEPT_ALWAYS = 10
"""However old, so that a clock that was set wrong for a while does not empty the record."""

_ID = re.compile(r"(\d{8}-\d{6})(?:-(\d{1,9}))?")
_LOG = "events.jsonl"
_LEAVING = ".removing-"
_TAIL = 64 * 1024
_DAY = 86_400.0


class Ended(NamedTuple):
    """A run that has ended: when (seconds since 1970), and the bytes of its folder."""

    run: str
    time: float
    size: int


def run_names(folder: Path) -> list[str]:
    """The runs in ``folder``, oldest first. Raises RecordError where it is there and cannot be read."""
    try:
        # Whatever else lies here was not named by us, and must not act on a terminal or take more than its line.
        names = [name for name in os.listdir(folder) if name.isprintable() and not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise RecordError(f"{folder}: cannot be read: {problem.strerror or problem}") from problem
    # Also where the log is no plain file: reading it says so, and no run vanishes from sight.
    return sorted((name for name in names if os.path.lexists(folder / name / _LOG)), key=_order)


def new_run(folder: Path, now: float, others: Iterable[str] = ()) -> str:
    """An id like ``20261121-214500`` that sorts after every run there is, whatever the clock (``now``) says.

    So it does after ``others``, which are elsewhere and name their branches in the same repository.

    Where that second has one already, or the clock was set back, it is the last one's with a number: ``…-2``.
    """
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    try:
        names = os.listdir(folder)
    except OSError:
        names = []
    taken = (_order(name) for name in (*names, *others) if _ID.fullmatch(name))
    newest, number = max(taken, default=("", 0))
    return stamp if stamp > newest else f"{newest}-{number + 1}"


def _order(run: str) -> tuple[str, int]:
    found = _ID.fullmatch(run)
    return (found[1], int(found[2] or 1)) if found else (run, 1)


def ended(folder: Path, run: str) -> Ended | None:
    """The run, where its log's last record says that it has ended; one to be gone on with, or damaged, is None."""
    try:
        with open_for_reading(folder / run / _LOG) as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
            *_, last, rest = log.read().split(b"\n")
        said = json.loads(last)
        if rest or said["event"] != "run_ended":
            return None
        return Ended(run, datetime.fromisoformat(said["time"]).timestamp(), _size(folder / run))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, file)).st_size
    return total


def outdated(runs: list[Ended], *, count: int, days: int, size: int, now: float) -> Iterator[Ended]:
    """Those of ``runs`` (oldest first, none of them live) that are beyond one of the bounds.

    Age counts from the newest run or from ``now``, whichever is earlier: a clock that is set forward makes nothing old.
    """
    since = min([now, *(run.time for run in runs[-1:])]) - days * _DAY
    total = 0
    for number, run in enumerate(reversed(runs), start=1):
        total += run.size
        if number > count or total > size or (run.time < since and number > KEPT_ALWAYS):
            yield run


def remove(folder: Path, run: str) -> bool:
    """Take a run's folder away, and what an earlier removal left; one rename decides. False where it is refused."""
    try:
        (folder / run).rename(folder / f"{_LEAVING}{run}")
    except OSError:
        return False
    for left in folder.glob(f"{_LEAVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return True
