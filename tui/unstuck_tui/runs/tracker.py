"""The changes of a run since the last frame, for the widgets, and nothing faster than a frame.

The only place where the two worlds meet. Durable records come in as fast as they like; the screen asks once a frame.
So what goes wrong with them goes wrong there: it is the screen's trouble and never the run's.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import inf
from pathlib import Path

from unstuck.clock import Clock
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import GateRow, State, TaskRow
from unstuck.runs.view.run_view import RunView, rows_after
from unstuck.words.labels import ENDED, group_of, is_checking
from unstuck_tui.runs.activity import Activity
from unstuck_tui.runs.history import History, may_tell

_ROW_NEWS = frozenset((
    "task_added", "run_ended", "run_parked", "run_resumed", "stop_requested", "workflow_failed",
    "infrastructure_restored",
))  # fmt: skip
_PLACED = ("blocked", "ended")
SOON_S = 60.0
_ENDED = tuple("done" if status == "succeeded" else status for status in ENDED)
_LEAST_ENDED = 3
_CLOSING = frozenset(("task_ended", "workflow_failed", "recovery_decided"))


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one frame: tasks, and whether rows or gates came or went.

    ``waits``: one of these tasks will continue after a wait.
    """

    tasks: Set[str] = frozenset()
    rows: bool = False
    gates: bool = False
    waits: bool = False

    def and_then(self, later: Changes) -> Changes:
        """These and the ``later`` ones."""
        return Changes(
            tasks=self.tasks | later.tasks if self.tasks else later.tasks,
            rows=self.rows or later.rows,
            gates=self.gates or later.gates,
            waits=self.waits or later.waits,
        )


class Tracker:
    """Collects durable records between two frames. ``wake`` is called when the first of them comes in."""

    def __init__(self, state: Callable[[], State], clock: Clock) -> None:
        self._state = state
        self.state = state()
        """The durable state; read it, never write it."""
        self.clock = clock
        self.history = History()
        self.activity = Activity()
        self.counts: Counter[str] = Counter()
        """The number of tasks that are counted under each word."""
        self.timed: dict[str, float] = {}
        """The tasks on whose line a clock runs, and from when on (monotonic) that clock needs attention."""
        self._due = inf
        self.gates: tuple[GateRow, ...] = self.state.open_gates()
        """The gates that wait for an answer, oldest first, as of the last frame."""
        self.placed = 0
        """The number of times that a task has begun or ceased to wait for a task or a person, or has ended."""
        self._groups: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self._tasks: set[str] = set()
        self._rows = self._gates = self._waits = False
        self._trouble: Exception | None = None
        self._last = ""
        self.title = ""
        """The text in the place of the project's name; empty where that stands there."""
        self._unfollow: Callable[[], None] = lambda: None
        self.held: Callable[[], str] = lambda: ""
        """The reason why nothing can be recorded for the moment; empty where it can."""
        self.unrecorded: Callable[[], GateRow | None] = lambda: None
        self.absent: Callable[[str], tuple[str, str]] = lambda task: ("", "")
        """A word in the place of a task's state, and its age, while nothing is heard of it."""
        self.wake: Callable[[], None] = lambda: None
        self._look_at(self.state.tasks)
        self._begun, self._ended_before = clock.monotonic(), self.ended

    @classmethod
    def of(cls, view: RunView) -> Tracker:
        tracker = cls(lambda: view.state, view.clock)
        tracker.title = view.title
        tracker.held = lambda: view.held
        tracker.unrecorded = lambda: view.unrecorded
        tracker.absent = view.absent
        tracker._unfollow = view.follow(tracker.see, tracker.trouble)
        return tracker

    def close(self) -> None:
        self._unfollow()

    def see(self, record: Record) -> None:
        """A record is durable. Costs little: all of it is still at hand, and the screen is woken once per frame."""
        try:
            self._note(record)
        except Exception as trouble:
            self._trouble = self._trouble or trouble

    def _note(self, record: Record) -> None:
        name, task = record.name, record.task
        quiet = not (self._tasks or self._rows or self._gates)
        self._last = record.time
        if task:
            self._tasks |= rows_after(self.state, record)
        elif name.startswith("budget_") or name == "gate_answered":
            self._tasks |= self.timed.keys()  # agents are held, or go on
        if not task or name in _ROW_NEWS:
            self._rows = True
        if name in _CLOSING or name.startswith(("gate_", "timer_")):
            self._gates = True
        self.history.see(record)
        if quiet:
            self.wake()

    def trouble(self) -> None:
        """Note that recording has stopped or goes on again: that is in no record."""
        quiet = not (self._tasks or self._rows or self._gates)
        self._gates = self._rows = True
        self._tasks |= self.timed.keys()  # agents are held, or go on
        if quiet:
            self.wake()

    def turn(self, history: History, last: str) -> None:
        """Another moment of the run is shown, to which no records lead; its last record is of the time ``last``."""
        self.history, self._last = history, last
        self.state = self._state()
        self._groups.clear()
        self._places.clear()
        self.counts.clear()
        self.timed.clear()
        self.placed += 1
        self._tasks = set(self.state.tasks)
        self._look_at(self._tasks)
        self._rows = self._gates = True
        self._begun, self._ended_before = self.clock.monotonic(), self.ended
        self.wake()

    def take(self) -> Changes:
        """The changes since the last call. Raises what went wrong meanwhile."""
        if self._trouble is not None:
            raise self._trouble
        self._look_at(self._tasks)
        changes = Changes(self._tasks, self._rows, self._gates, self._waits)
        self._tasks = set()
        self._rows = self._gates = self._waits = False
        if changes.gates:
            self.gates = self.state.open_gates()
        return changes

    def counted(self) -> Counter[str]:
        """The counts of the header, with the questions that are about no single task."""
        about_all = sum(not row.gate.task for row in self.gates) + (self.unrecorded() is not None)
        return self.counts + Counter({"needs you": about_all})

    def _look_at(self, tasks: Iterable[str]) -> None:
        """Count these tasks where they belong now, and note whether a clock runs on their lines."""
        state, still = self.state, bool(self.held())
        for task in tasks:
            if (row := state.tasks.get(task)) is None:
                continue
            group, before = group_of(state, row, still=still), self._groups.get(task, "")
            if group != before:
                self._groups[task] = group
                self.counts[group] += 1
                if before:
                    self.counts[before] -= 1
            place = f"{row.state} {group}" if row.state in _PLACED or group == "needs you" else ""
            if place != self._places.get(task):
                self._places[task] = place
                self.placed += 1
            if (since := self._clock_of(row)) is None:
                self.timed.pop(task, None)
            else:
                self.timed[task] = since
                self._due = min(self._due, since)

    def _clock_of(self, row: TaskRow) -> float | None:
        """The time from which on the clock of a line needs attention; None where no clock runs on it."""
        if row.state == "running":
            attempt = self.state.attempts.get(row.attempt)
            return inf if attempt is None or attempt.deadline is None else attempt.deadline - SOON_S
        if row.state == "backoff":
            self._waits = True
            return -inf
        return inf if is_checking(self.state, row) else None

    def soon(self) -> list[str]:
        """The tasks that will change soon without a person: those that wait, and those with little time."""
        now = self.clock.monotonic()
        if now < self._due:  # of ten thousand clocks none is near its end, most of the time
            return []
        self._due = min(self.timed.values(), default=inf)
        return [task for task, since in self.timed.items() if since <= now]

    @property
    def ended(self) -> int:
        """The number of tasks that have ended."""
        return sum(self.counts[group] for group in _ENDED)

    def left(self) -> float | None:
        """About how many seconds are left at the pace since this screen was opened, or else before; None if unknown.

        While a person is asked the rest depends on the answer.
        """
        if self.gates or self.held() or self.state.run.state != "running":
            return None
        ended, rest = self.ended - self._ended_before, len(self.state.tasks) - self.ended
        if ended >= _LEAST_ENDED:
            return rest * (self.clock.monotonic() - self._begun) / ended
        pace = self.history.pace()
        return None if pace is None else rest * pace

    @property
    def asks(self) -> bool:
        """True while a question waits for an answer, be it in a record yet or not."""
        return bool(self.gates) or self.unrecorded() is not None

    def gate(self, id: str) -> GateRow | None:
        """The gate of this id, be it in a record yet or not."""
        unrecorded = self.unrecorded()
        return unrecorded if unrecorded is not None and unrecorded.id == id else self.state.gates.get(id)

    def elapsed(self) -> float:
        """Seconds since the run began; up to its end once it has ended."""
        run = self.state.run
        if not run.started:
            return 0.0
        over = run.state in ("ended", "parked") and self._last
        return max(0.0, (seconds_of(self._last) if over else self.clock.now()) - seconds_of(run.started))

    async def look_back(self, log: Path) -> None:
        """Read what happened before this tracker was there from ``log``, off the event loop."""
        limit = self.state.seq
        # Not a line further: the writer may be in the middle of it.
        lines = islice(read_lines(log), limit)
        await self.look_back_on(decoded(log, line) for line in lines if may_tell(line.raw))

    async def look_back_on(self, records: Iterable[Record]) -> None:
        """Take in what happened before this tracker was there, off the event loop."""
        before = History()

        def read() -> None:
            for record in records:
                before.see(record)
            before.read_all()

        self.history = History()
        await asyncio.to_thread(read)
        self.history.join(before)


def seconds_of(time: str) -> float:
    """An ISO 8601 time as seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()
