"""Run folders of a project: names, order, and selection of old runs to remove."""

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

KEPT_ALWAYS = 10
"""Number of newest runs that stay at any age, in case the clock was wrong."""
PAGE_FILE = "web.json"
"""Name of the file with the sessions of the page, in a project's home."""

_ID = re.compile(r"(\d{8}-\d{6})(?:-(\d{1,9}))?")
_LOG = "events.jsonl"
_REMOVING = ".removing-"
_TAIL = 64 * 1024
_DAY = 86_400.0


class Ended(NamedTuple):
    """An ended run: its end (seconds since 1970) and the bytes of its folder."""

    run: str
    time: float
    size: int


def run_names(folder: Path) -> list[str]:
    """Return the runs in ``folder``, oldest first. Raises RecordError if the folder cannot be read."""
    try:
        # A foreign name must not act on a terminal or take more than its line.
        names = [name for name in os.listdir(folder) if name.isprintable() and not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise RecordError(f"{folder}: cannot be read: {problem.strerror or problem}") from problem
    # A log that is not a plain file counts, too: reading it reports the problem.
    return sorted((name for name in names if os.path.lexists(folder / name / _LOG)), key=_order)


def new_run(folder: Path, now: float, others: Iterable[str] = ()) -> str:
    """Return an id such as ``20261121-214500`` that sorts after every run, whatever the clock (``now``) is.

    ``others`` are runs elsewhere whose branches are in the same repository. If a run of this second exists, or the
    clock was set back, the id is the newest one with a number: ``…-2``.
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
    """Return the run if the last record of its log is its end; None for an unfinished or damaged run."""
    time = _end_time(folder / run)
    return Ended(run, time, _size(folder / run)) if time is not None else None


def has_ended(folder: Path) -> bool:
    """Return whether the last record of the log in the ``folder`` of a run is its end."""
    return _end_time(folder) is not None


def _end_time(folder: Path) -> float | None:
    try:
        with open_for_reading(folder / _LOG) as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
            *_, last, rest = log.read().split(b"\n")
        record = json.loads(last)
        if rest or record["event"] != "run_ended":
            return None
        return datetime.fromisoformat(record["time"]).timestamp()
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
    """Yield those of ``runs`` (oldest first, none live) that exceed one of the limits.

    Age counts from the newest run or ``now``, whichever is earlier, in case the clock was set forward.
    """
    since = min([now, *(run.time for run in runs[-1:])]) - days * _DAY
    total = 0
    for number, run in enumerate(reversed(runs), start=1):
        total += run.size
        if number > count or total > size or (run.time < since and number > KEPT_ALWAYS):
            yield run


def remove(folder: Path, run: str) -> bool:
    """Remove the folder of a run with one rename, and the rest of earlier removals. False if refused."""
    try:
        (folder / run).rename(folder / f"{_REMOVING}{run}")
    except OSError:
        return False
    for left in folder.glob(f"{_REMOVING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return True
