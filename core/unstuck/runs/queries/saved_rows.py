"""Rows of an ended or paused run, saved beside its log, so that showing it imports no classes of its state.

Like a snapshot they may be deleted at any time, and are used only where they cover the whole log. Those of a paused run
serve the list of runs alone: the waits in them grow.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.load_state import FOLD, FULL_CHECK_BYTES, LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import START, holds, verify
from unstuck.version import __version__

if TYPE_CHECKING:
    from unstuck.eventlog.state import State

_SHAPE = 1
"""Version of the rows. Raise it when a row has other fields; older saved rows are ignored then."""
ROWS_NAME = f"{SNAPSHOT_NAME}.rows"


def save_rows(folder: Path, state: State) -> None:
    """Save the rows of an ended or paused run in ``folder``; without them, looking at it is only slower."""
    from unstuck.runs.queries.json_rows import show_rows

    if state.run.state not in ("ended", "parked") or saved_rows(folder, listed=True) is not None:
        return
    rows = list(show_rows(folder.name, state, SystemClock().now()))
    with suppress(RecordError, ValueError):
        found = snapshot.load(folder / SNAPSHOT_NAME)
        if found is not None and found.seq == state.seq:
            content = json.dumps({"for": _reader(), "rows": rows}).encode()
            snapshot.save(folder / ROWS_NAME, seq=found.seq, offset=found.offset, crc=found.crc, state=content)


def saved_rows(folder: Path, *, listed: bool = False) -> list[dict[str, Any]] | None:
    """Return the saved rows of the run in ``folder``; None where they do not fit its log or this program.

    The rows of a paused run are returned only where the run is ``listed``, without its load.
    """
    found, log = snapshot.load(folder / ROWS_NAME), folder / LOG_NAME
    if found is None or not holds(log, found.position):
        return None
    try:
        if log.stat().st_size != found.offset:
            return None  # looking for the end of a log that has grown would read all of it
        content = json.loads(found.state)
        whole = found.offset <= FULL_CHECK_BYTES
        end = verify(log, start=START if whole else found.position, safe=found.seq).end
    except (OSError, ValueError, RecordDamaged, RecordError):
        return None
    fits = end == found.position and content["for"] == _reader()
    rows = list(content["rows"]) if fits else None
    return rows if rows is None or listed or rows[0]["state"] == "ended" else None


def _reader() -> list[Any]:
    """Return the program's version and the time zone, on which rows depend besides the log."""
    return [__version__, FOLD, _SHAPE, time.timezone, time.altzone, *time.tzname]
