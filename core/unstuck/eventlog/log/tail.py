"""A log that another process writes, read as it grows; nothing is ever written."""

from __future__ import annotations

from pathlib import Path

from unstuck.errors import RecordDamaged
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.load_state import SNAPSHOT_NAME, restored
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import State

__all__ = ["LogFollower"]


class LogFollower:
    """The state of the run whose log is at ``path``, as far as its file goes.

    What is in the file may not be synced yet: a power cut can take back the last of what is shown. Begins at the run's
    snapshot where there is one, so that a long log need not be read from its start.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = restored(path.with_name(SNAPSHOT_NAME), path)
        self.state: State = found.state
        self._end, self._size, self._met = found.position, -1, 0

    def read(self) -> list[Record]:
        """The whole records that came since the last call; the state knows them.

        An unfinished last line is not looked at before it is whole. Raises RecordDamaged where the same damage is met
        twice (a supervisor that has just been started may be moving a torn end aside), and RecordError where the file
        is gone.
        """
        try:
            size = self.path.stat().st_size
        except OSError:
            size = -1  # reading it says what is wrong
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
            if damage.line == self._met:
                raise
            self._met, size = damage.line, -1
        self._size = size
        return new
