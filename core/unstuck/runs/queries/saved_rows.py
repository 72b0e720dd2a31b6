"""Rows of an ended or paused run, saved beside its log, so that showing it imports no classes of its state.

Like a snapshot they may be deleted at any time, and are used only where they cover the whole log. The time for which
the open questions of a paused run have held its tasks is added when its rows are read.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.attention_stats import add_wait, held_tasks
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.load_state import FOLD, FULL_CHECK_BYTES, LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import START, holds, verify
from unstuck.version import __version__

if TYPE_CHECKING:
    from unstuck.eventlog.state import State

_SHAPE = 2
"""Version of the rows. Raise it when a row has other fields; older saved rows are ignored then."""
ROWS_NAME = f"{SNAPSHOT_NAME}.rows"


def save_rows(folder: Path, state: State) -> None:
    """Save the rows of an ended or paused run in ``folder``; without them, looking at it is only slower."""
    from unstuck.runs.queries.json_rows import show_rows

    if state.run.state not in ("ended", "parked") or _saved(folder) is not None:
        return
    now = SystemClock().now()
    rows = list(show_rows(folder.name, state, now))
    content = {"for": _reader(), "rows": rows, "at": now, "held": held_tasks(state)}
    with suppress(RecordError, ValueError):
        found = snapshot.load(folder / SNAPSHOT_NAME)
        if found is not None and found.seq == state.seq:
            state_bytes = json.dumps(content).encode()
            snapshot.save(folder / ROWS_NAME, seq=found.seq, offset=found.offset, crc=found.crc, state=state_bytes)


def saved_rows(folder: Path, now: float) -> list[dict[str, Any]] | None:
    """Return the saved rows of the run in ``folder`` at ``now``; None where they do not fit its log or this program."""
    if (content := _saved(folder)) is None:
        return None
    rows = list(content["rows"])
    if rows[0]["state"] != "ended":
        if any(row.get("waits") for row in rows):
            return None  # a countdown goes on
        add_wait(rows[0], content["held"], content["at"], now)
    return rows


def _saved(folder: Path) -> dict[str, Any] | None:
    found, log = snapshot.load(folder / ROWS_NAME), folder / LOG_NAME
    if found is None or not holds(log, found.position):
        return None
    try:
        if log.stat().st_size != found.offset:
            return None  # looking for the end of a log that has grown would read all of it
        content: dict[str, Any] = json.loads(found.state)
        whole = found.offset <= FULL_CHECK_BYTES
        end = verify(log, start=START if whole else found.position, safe=found.seq).end
    except (OSError, ValueError, RecordDamaged, RecordError):
        return None
    return content if end == found.position and content["for"] == _reader() else None


def _reader() -> list[Any]:
    """Return the program's version and the time zone, on which rows depend besides the log."""
    return [__version__, FOLD, _SHAPE, time.timezone, time.altzone, *time.tzname]
