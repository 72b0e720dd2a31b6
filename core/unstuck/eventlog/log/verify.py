"""Check of a whole log and its snapshot, one record at a time. Nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import SCHEMA
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import LOG_NAME, SNAPSHOT_NAME, require_end, restored
from unstuck.eventlog.log.log_format import START, read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import State, dump

SnapshotStatus = Literal["none", "good", "ignored"]


class LogCheck(NamedTuple):
    """Result for an undamaged log: ``bytes`` of whole records, then ``torn`` bytes that were never acknowledged.

    ``later`` counts records of a newer schema, ``unknown`` records of an unknown event. ``snapshot`` is ``none``,
    ``good`` (equal to the log) or ``ignored`` (does not fit the log).
    """

    records: int
    bytes: int
    torn: int
    later: int
    unknown: int
    snapshot: SnapshotStatus


def check(folder: Path) -> LogCheck:
    """Check every record of the run in ``folder``, and compare the snapshot with them.

    Raises RecordDamaged (file, line, offset), also for a snapshot that differs from the log or covers records that the
    log does not have.
    """
    path = folder / LOG_NAME
    kept, place, safe = restored(folder / SNAPSHOT_NAME, path)
    state, end, later = State(), START, 0
    snapshot: SnapshotStatus = "ignored" if (folder / SNAPSHOT_NAME).exists() else "none"
    for line in read_lines(path, safe=safe):
        end = line.end
        later += line.version != SCHEMA
        fold(state, decoded(path, line))
        if end == place:
            if dump(state) != dump(kept):
                problem = "it says something else than the log, which is the truth: delete it"
                raise RecordDamaged(folder / SNAPSHOT_NAME, 1, 0, problem)
            snapshot = "good"
    require_end(path, end, safe)
    return LogCheck(end.seq, end.offset, path.stat().st_size - end.offset, later, state.unknown, snapshot)
