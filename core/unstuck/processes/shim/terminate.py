"""Ending an agent and everything it started: from a polite signal to the last one, with an account of who went when."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

from .process_table import Row, descendants, group_exists, is_there, send, tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from .pipe_loop import Loop

    class Target(Protocol):
        """An agent to be ended, and the loop in which its shim hears of it."""

        child: int
        start: float
        tag: str
        loop: Loop
        status: int | None
        stop: dict[str, float] | None
        frozen: bool
        changed: bool
        childless: bool
        adopts: bool

        def pump(self, until: Callable[[], bool], seconds: float) -> None: ...

        def reap(self) -> None: ...


POLL = 0.05  # where the system gives no descriptor for a process, or has none left
SWEEP = {"interrupt": 0.0, "terminate": 1.0}  # for processes that an agent leaves behind at its own end
LEFT_OVER, KILL = 1.0, 2.0
RUNGS = (
    ("interrupt", signal.SIGINT, "interrupted"),
    ("terminate", signal.SIGTERM, "terminated"),
    ("kill", signal.SIGKILL, "killed"),
)


class Ladder:
    """``known`` maps who is still there to its start time; ``ended`` says who went, and after which signal.

    ``blind``: without a process table only the agent and its group are known; the group then stands for the agent.
    """

    def __init__(self, attendant: Target) -> None:
        self.attendant = attendant
        self.agent = Row(os.getpid(), attendant.child, "?", attendant.start)
        self.known: dict[int, float] = {attendant.child: attendant.start}
        self.ended: list[tuple[int, float, str]] = []
        self.blind = not is_there()
        self._how = "exited"
        self._descriptors: dict[int, int] = {}

    def climb(self) -> None:
        """Go up until nobody is left, or nothing is left to try."""
        alive = self.survey()
        for rung, number, how in RUNGS:
            began, told = time.monotonic(), set[int]()
            while alive and (left := began + self.patience(rung, alive) - time.monotonic()) > 0:
                self._how = how
                self.tell(alive, number, told)
                self.wait(left if self.hears_all(alive) else min(left, POLL))
                alive = self.survey()
        for pid in list(self._descriptors):
            self.hear_end(pid)

    def wait(self, seconds: float) -> None:
        """Wait until a process has ended, or the stop is to be quicker."""
        asked = self.attendant.stop
        self.attendant.pump(lambda: self.attendant.changed or self.attendant.stop is not asked, seconds)

    def patience(self, rung: str, alive: dict[int, Row]) -> float:
        """Seconds to stay on a rung; less once the agent itself has gone, and none where nobody is left to be told."""
        if rung == "kill":
            return KILL
        if rung == "interrupt" and all(row.group != self.attendant.child for row in alive.values()):
            return 0.0
        asked = (self.attendant.stop or SWEEP)[rung]
        return asked if self.attendant.status is None else min(asked, LEFT_OVER)

    def hears_all(self, alive: dict[int, Row]) -> bool:
        """True where the end of each wakes us: the system tells of our own children, and of others by a descriptor."""
        if self.blind and self.attendant.status is not None:
            return False  # the agent has gone, and nobody knows who of its group is left
        for pid, row in alive.items():
            if pid in self._descriptors or row.parent == os.getpid():
                continue
            try:
                self._descriptors[pid] = descriptor = os.pidfd_open(pid)
            except (AttributeError, OSError):
                return False
            self.attendant.loop.watch(descriptor, partial(self.hear_end, pid))
        return True

    def hear_end(self, pid: int) -> None:
        descriptor = self._descriptors.pop(pid)
        self.attendant.loop.forget(descriptor)
        os.close(descriptor)
        self.attendant.changed = True

    def survey(self) -> dict[int, Row]:
        """Look which processes of ours are alive. One that no longer is ended by the signal that was sent last."""
        self.attendant.reap()
        # Each descendant of ours is below a living child of ours: without one the whole table need not be read.
        alive = {} if self.attendant.childless else descendants(os.getpid())
        self.attendant.reap()  # after the look, too, so that an agent seen dead has its status
        # Orphans would be our children. Without any nobody is left; with one, it was started during the look.
        if not alive and not (self.attendant.adopts and self.attendant.childless):
            alive = descendants(os.getpid()) or tagged(self.attendant.tag)
            self.attendant.reap()
        self.attendant.changed = False
        if self.attendant.status is None or (self.blind and group_exists(self.attendant.child)):
            alive.setdefault(self.attendant.child, self.agent)
        for pid in [pid for pid in self.known if pid not in alive]:
            self.ended.append((pid, self.known.pop(pid), self._how))
        self.known.update((pid, row.start) for pid, row in alive.items())
        return alive

    def tell(self, alive: dict[int, Row], number: int, told: set[int]) -> None:
        """Signal, once each, every process not signalled yet; an interrupt goes to the agent's own group alone."""
        child = self.attendant.child
        fresh = {pid: row for pid, row in alive.items() if pid not in told}
        told.update(fresh)
        whole = child in fresh and (self.attendant.status is None or self.blind)
        single = [pid for pid, row in fresh.items() if row.group != child or not whole]
        if number == signal.SIGINT:
            single = [pid for pid in single if fresh[pid].group == child]
        # What is frozen, or has stopped itself, is woken only after its signal: it takes no further step in between.
        still = self.attendant.frozen or any(row.state in "Tt" for row in fresh.values())
        for each in (number, signal.SIGCONT) if still else (number,):
            if whole:
                send(child, each, group=True)
            for pid in single:
                send(pid, each)
