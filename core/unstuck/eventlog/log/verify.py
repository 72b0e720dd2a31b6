"""Can a run's record be trusted? Every record is looked at, one at a time, and nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import SCHEMA
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import LOG_NAME, SNAPSHOT_NAME, restored
from unstuck.eventlog.log.log_format import START, read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import State, dump

__all__ = ["Checked", "check"]


SnapshotWord = Literal["none", "good", "ahead", "ignored"]


class Checked(NamedTuple):
    """A record that can be trusted: ``bytes`` of whole records, then ``torn`` ones that were never acknowledged.

    ``later`` records are of a schema that this version does not know, ``unknown`` of an event that it does not know.
    ``snapshot`` is ``none``, ``good`` (it says what the log says), ``ahead`` (of a record behind the log's end: that is
    missing, or this is an older copy of the log) or ``ignored`` (it fits no place in this log).
    """

    records: int
    bytes: int
    torn: int
    later: int
    unknown: int
    snapshot: SnapshotWord


def check(folder: Path) -> Checked:
    """Check every record of the run in ``folder``, and the snapshot by them.

    Raises RecordDamaged (file, line, offset), also for a snapshot that fits the log and says something else.
    """
    path = folder / LOG_NAME
    kept, place, safe = restored(folder / SNAPSHOT_NAME, path)
    state, end, later = State(), START, 0
    snapshot: SnapshotWord = "ignored" if (folder / SNAPSHOT_NAME).exists() else "none"
    for line in read_lines(path, safe=safe):
        end = line.end
        later += line.version != SCHEMA
        fold(state, decoded(path, line))
        if end == place:
            if dump(state) != dump(kept):
                said = "it says something else than the log, which is the truth: delete it"
                raise RecordDamaged(folder / SNAPSHOT_NAME, 1, 0, said)
            snapshot = "good"
    if safe > end.seq:
        snapshot = "ahead"
    return Checked(end.seq, end.offset, path.stat().st_size - end.offset, later, state.unknown, snapshot)
