"""Rows of a run, saved beside its log, so that showing it imports no classes of its state.

Like a snapshot they may be deleted at any time, and are used only where they cover the whole log. What the passing
time changes is added when they are read: the wait for a person, the rest of a countdown, a supervisor that is gone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.attention_stats import add_wait, held_tasks
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.load_state import FOLD, FULL_CHECK_BYTES, LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import START, Position, holds, verify
from unstuck.rows.timed_fields import count_down, state_now
from unstuck.version import __version__

if TYPE_CHECKING:
    from unstuck.eventlog.state import State

_SHAPE = 2
"""Version of the rows. Raise it when a row has other fields; older saved rows are ignored then."""
ROWS_NAME = f"{SNAPSHOT_NAME}.rows"


def save_rows(folder: Path, state: State, end: Position, now: float) -> None:
    """Save the rows of the run in ``folder``, whose ``state`` is that at the ``end`` of its log. Raises RecordError."""
    from unstuck.rows.json_rows import show_rows

    rows = list(show_rows(folder.name, state, now))
    content = {"for": _reader(), "rows": rows, "at": now, "held": held_tasks(state)}
    saved = json.dumps(content).encode()
    snapshot.save(folder / ROWS_NAME, seq=end.seq, offset=end.offset, crc=end.crc, state=saved, synced=False)


def saved_rows(folder: Path, now: float, *, is_live: Callable[[], bool]) -> list[dict[str, Any]] | None:
    """Return the saved rows of the run in ``folder`` at ``now``; None where they do not fit its log or this program."""
    if (content := _saved(folder)) is None:
        return None
    rows = list(content["rows"])
    run = rows[0]
    run["state"] = state_now(run["state"], is_live)
    if run["state"] != "ended":
        add_wait(run, content["held"], content["at"], now)
    for wait in filter(None, (row.get("waits") for row in rows)):
        count_down(wait, now - content["at"])
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
