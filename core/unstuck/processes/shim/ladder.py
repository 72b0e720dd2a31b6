"""Ending an agent and everything it started: from a polite signal to the last one, with an account of who went when."""

from __future__ import annotations

import os
import signal
import time

from .table import Row, descendants, send, tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .attendant import Attendant

POLL = 0.05
SWEEP = {"interrupt": 0.0, "terminate": 1.0}  # for what an agent leaves behind when it ends by itself
LEFT_OVER, KILL = 1.0, 2.0
RUNGS = (
    ("interrupt", signal.SIGINT, "interrupted"),
    ("terminate", signal.SIGTERM, "terminated"),
    ("kill", signal.SIGKILL, "killed"),
)


class Ladder:
    """``known`` maps who is still there to its start time; ``ended`` says who went, and after which signal."""

    def __init__(self, attendant: Attendant) -> None:
        self.attendant = attendant
        self.agent = Row(os.getpid(), attendant.child, "?", attendant.start)
        self.known: dict[int, float] = {attendant.child: attendant.start}
        self.ended: list[tuple[int, float, str]] = []
        self._how = "exited"

    def climb(self) -> None:
        """Go up until nobody is left, or nothing is left to try."""
        alive = self.survey()
        for rung, number, how in RUNGS:
            began, told = time.monotonic(), set[int]()
            while alive and time.monotonic() - began < self.patience(rung):
                self._how = how
                self.tell(alive, number, told)
                self.attendant.pump(lambda: self.attendant.changed, POLL)
                alive = self.survey()

    def patience(self, rung: str) -> float:
        """Seconds to stay on a rung; less once the agent itself has gone."""
        if rung == "kill":
            return KILL
        asked = (self.attendant.stop or SWEEP)[rung]
        return asked if self.attendant.status is None else min(asked, LEFT_OVER)

    def survey(self) -> dict[int, Row]:
        """Who of ours is alive. Whoever was, and is no longer, ended by the signal that was sent last."""
        alive = descendants(os.getpid()) or tagged(self.attendant.tag)
        self.attendant.reap()  # after the look, so that an agent seen dead has its status
        self.attendant.changed = False
        if self.attendant.status is None:
            alive.setdefault(self.attendant.child, self.agent)
        for pid in [pid for pid in self.known if pid not in alive]:
            self.ended.append((pid, self.known.pop(pid), self._how))
        self.known.update((pid, row.start) for pid, row in alive.items())
        return alive

    def tell(self, alive: dict[int, Row], number: int, told: set[int]) -> None:
        """Signal, once each, whoever was not told yet; an interrupt goes to the agent's own group alone."""
        child = self.attendant.child
        fresh = {pid: row for pid, row in alive.items() if pid not in told}
        told.update(fresh)
        whole = self.attendant.status is None and child in fresh
        single = [pid for pid, row in fresh.items() if row.group != child or not whole]
        if number == signal.SIGINT:
            single = [pid for pid in single if fresh[pid].group == child]
        # What is frozen is woken only after its signal, so that it takes no further step in between.
        for each in (number, signal.SIGCONT) if self.attendant.frozen else (number,):
            if whole:
                send(child, each, group=True)
            for pid in single:
                send(pid, each)
