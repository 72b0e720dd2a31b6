"""A run of the past as a screen sees it: the same state and records, at any moment, and nothing that can be done."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from unstuck.clock import iso
from unstuck.errors import UnstuckError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State, copied
from unstuck.runs.view.output_files import Printed
from unstuck.runs.view.outputs import OutputKind, Outputs, OutputTail
from unstuck.runs.view.run_view import NoticeKind, limits_of
from unstuck.settings.models import Settings
from unstuck.supervision.checkpointing import Since
from unstuck.supervision.context.context import limits_of as rules_of
from unstuck.text import Clean
from unstuck.workspace.project import Project
from unstuck_tui.runs.history import History
from unstuck_tui.runs.log.index import LogIndex

EVERY = 2_000
MOST = 64

PAST = "This is a replay: it shows what was, and nothing can be changed in it."
_STEPS = 200


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


class ReplayClock:
    """The time of the shown moment. ``ahead`` seconds have gone by since its last record."""

    def __init__(self, run: ReplayedRun) -> None:
        self._run = run
        self.ahead = 0.0

    def now(self) -> float:
        return self._run.index.time_of(self._run.seq) + self.ahead

    def monotonic(self) -> float:
        return self._run.state.mono + self.ahead

    def asleep(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("a replay has nothing to wait for")


class ReplayedRun:
    """A finished or dead run; ``go_to`` shows another moment of it. It begins where its first attempt does.

    Who follows its records goes on with the ``history`` of the last turn.
    """

    title = "REPLAY"
    is_past = True
    is_elsewhere = False
    no_takeover = ""
    held = ""
    unrecorded = None
    goes_on = False
    recovery = None

    def __init__(self, index: LogIndex, place: Project | None = None) -> None:
        self.index, self.place = index, place
        self.clock = ReplayClock(self)
        self._moments = MomentCache(index)
        self._moment = self._moments.moment(index.begun or len(index))
        settings = Settings.thaw(self.state.run.settings)
        self.rules = rules_of(settings)
        self.limits: Mapping[str, int] = limits_of(self.rules, settings.window_size)
        self._outputs = Outputs()
        self._leaping = asyncio.Lock()
        self._see: Callable[[Record], None] = lambda record: None
        self.turned: Callable[[], None] = lambda: None
        """Called when another moment is shown to which no records lead."""

    @property
    def last(self) -> str:
        """The time of the last record that is shown (ISO 8601)."""
        return iso(self.index.time_of(self.seq))

    @property
    def seq(self) -> int:
        return self._moment.seq

    @property
    def state(self) -> State:
        return self._moment.state

    @property
    def history(self) -> History:
        """The history as of the last jump."""
        return self._moment.history

    @property
    def log(self) -> Path:
        return self.index.path

    def absent(self, task: str) -> tuple[str, str]:
        return "", ""

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        self._see = see
        return lambda: None

    async def go_to(self, seq: int) -> None:
        """Show the run up to record ``seq``. What is near and ahead comes record by record, as it came then."""
        seq = max(0, min(seq, len(self.index)))
        async with self._leaping:
            self.clock.ahead = 0.0
            if self.seq <= seq <= self.seq + _STEPS:
                self._step(seq)
            else:
                self._moment = await asyncio.to_thread(self._moments.moment, seq)
                self.turned()

    def _step(self, seq: int) -> None:
        _, state, history = self._moment
        for record in self.index.records(self.seq, seq):
            fold(state, record)
            self._moment = Moment(record.seq, state, history)
            self._see(record)

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        return await self._outputs.tail(self.log, self.state, task, kind, live=False)

    async def hooks(self) -> Mapping[str, bool]:
        return {}

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        return {}

    async def changes(self, task: str, since: Since = "start") -> tuple[str, str]:
        return "", ""

    async def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnstuckError(PAST)

    answer = hold = step_in = choose_rung = start_takeover = end_takeover = keep_open = stop = _refuse

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        raise NotImplementedError("a replay sends nothing")
