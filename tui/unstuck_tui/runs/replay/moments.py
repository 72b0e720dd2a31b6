"""Any moment of a log: its state and its history, from the nearest moment that is kept."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State, copied
from unstuck_tui.runs.history import History
from unstuck_tui.runs.log.index import LogIndex

__all__ = ["Moment", "MomentCache"]

EVERY = 2_000
MOST = 64


class Moment(NamedTuple):
    """The run up to record ``seq``."""

    seq: int
    state: State
    history: History


class MomentCache:
    """Keeps at most ``most`` moments of a log, so that no other is further away than a part of it."""

    def __init__(self, index: LogIndex, *, every: int = EVERY, most: int = MOST) -> None:
        self.index = index
        self._every, self._most = every, most
        self._kept = [Moment(0, State(), History())]

    def moment(self, seq: int) -> Moment:
        """The run up to record ``seq``, in rows of its own. Blocks."""
        seq = max(0, min(seq, len(self.index)))
        start = self._kept[bisect_right(self._kept, seq, key=lambda moment: moment.seq) - 1]
        state, history = copied(start.state), start.history.copied()
        for record in self.index.records(start.seq, seq):
            fold(state, record)
            history.see(record)
            if record.seq % self._every == 0 and record.seq > self._kept[-1].seq:
                self._keep(Moment(record.seq, copied(state), history.copied()))
        return Moment(seq, state, history)

    def _keep(self, moment: Moment) -> None:
        self._kept.append(moment)
        if len(self._kept) > self._most:
            self._every *= 2
            self._kept = [kept for kept in self._kept if kept.seq % self._every == 0]
