"""Read-only follower of a log that another process writes."""

from __future__ import annotations

from pathlib import Path

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import SNAPSHOT_NAME, restored
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import State


class LogFollower:
    """State of the run whose log is at ``path``. Starts from the snapshot, if there is one.

    The last records of the file may not be synced yet, and a power cut can remove them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = restored(path.with_name(SNAPSHOT_NAME), path)
        self.state: State = found.state
        self._end, self._size, self._last_damage = found.position, -1, 0

    def read(self) -> list[Record]:
        """Return the records since the last call, after folding them into the state.

        A half-written last line is read once it is whole. Raises RecordDamaged if two calls meet the same damage,
        because a supervisor that is starting may be moving a torn end aside. Raises RecordError if the file is gone.
        """
        try:
            size = self.path.stat().st_size
        except OSError:
            size = -1  # reading it reports the problem
        if size == self._size and size >= 0:
            return []
        new = []
        try:
            for line in read_lines(self.path, start=self._end):
                record = decoded(self.path, line)
                fold(self.state, record)
                self._end = line.end
                new.append(record)
        except RecordDamaged as damage:
            if damage.line == self._last_damage:
                raise
            self._last_damage, size = damage.line, -1
        self._size = size
        return new
