"""Idle clock of an attempt: the time since its last sign of life, and the liveness of a silent agent.

Output, messages and calls of an agent are signs of life and only note the time. Processor time, input and output and
files are sampled twice in a whole limit of silence: at its half and at its end. So an agent that works silently
in the second half counts as active, however long it stays silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from unstuck.clock.deadlines import Deadlines
from unstuck.contract import Directive, Observation, Observer
from unstuck.eventlog import events as e
from unstuck.processes import sample
from unstuck.supervision.attempt.liveness import Liveness, Look, judge
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, one_line
from unstuck.workspace.git.tree_fingerprint import print_of

HALF, MOST, WHOLE = 0.5, 0.8, 1.0
# So late a timer shows that this process was stopped, not that the agent is silent.
LATE_S, LATE_SHARE = 5.0, 0.1
WAITS = 3
"""The number of whole limits after which an agent that only waits for an answer counts as stalled."""
_EARLY = 1e-6

Stalled = Callable[[Liveness], None]


class IdleClock:
    """Counts from the last sign of life. ``stalled`` is called once a whole ``limit`` (seconds) has passed without one.

    It is stopped until :meth:`run`, and after :meth:`stand` until the next :meth:`run`.
    """

    def __init__(
        self,
        core: RunContext,
        deadlines: Deadlines,
        *,
        task: str,
        attempt: str,
        tree: Path,
        limit: float,
        stalled: Stalled,
    ) -> None:
        self._core, self._deadlines, self._task, self._attempt = core, deadlines, task, attempt
        self._tree, self._stalled = tree, stalled
        self.limit = self._window = limit
        self._key = f"{attempt} idle"
        self._since = self._heard = core.clock.monotonic()
        self._sign = "its start"
        self._stage, self._expected = HALF, 0.0
        self._runs, self._looks = False, 0
        self._noticed, self._verdict, self._waited = False, "", 0
        self._before: Look | None = None
        self._identity: tuple[int, float] | None = None

    @property
    def silent(self) -> float:
        """Seconds since the last sign of life."""
        return self._core.clock.monotonic() - self._heard

    @property
    def last_sign(self) -> str:
        """The last sign of life and how long ago it was, in words."""
        return f"{self._sign}, {self.silent:.0f} s ago"

    def run(self, window: float | None = None) -> None:
        """Restart the count, up to ``window`` seconds where that is given and until the next sign."""
        self._runs = True
        self._begin(window or self.limit)
        self._arm()

    def stand(self) -> None:
        """Stop the count until :meth:`run`."""
        self._runs = False
        self._looks += 1
        self._deadlines.cancel(self._key)

    def spawned(self, pid: int, start: float) -> None:
        """The attempt's own process exists."""
        self._identity = pid, start
        self.sign("its start")

    def sign(self, what: str) -> None:
        """Note a sign of life; cheap, because the timer reads the note when it fires."""
        if self._noticed:
            event = e.SilenceEnded(seconds=round(self.silent, 3), sign=one_line(what))
            self._core.append(event, task=self._task, attempt=self._attempt, actor="agent")
        self._heard, self._sign = self._core.clock.monotonic(), what
        self._noticed, self._verdict, self._waited = False, "", 0
        self._begin(self.limit)

    def _begin(self, window: float) -> None:
        self._since, self._window = self._core.clock.monotonic(), window
        self._stage, self._before = HALF, None
        self._looks += 1

    def _arm(self) -> None:
        moment = self._since + self._stage * self._window
        self._expected = max(moment, self._core.clock.monotonic())
        self._deadlines.at(self._key, moment, self._on_timer)

    async def _on_timer(self) -> None:
        now = self._core.clock.monotonic()
        late = now - self._expected
        if now - self._since < self._stage * self._window - _EARLY:
            self._stage = HALF
            self._arm()
        elif self._stage == HALF:
            await self._look_first()
        elif self._stage == MOST:
            self._warn()
            self._stage = WHOLE
            self._arm()
        elif late > max(LATE_S, LATE_SHARE * self._window):
            self._found(Liveness(verdict="UNKNOWN", signals=(f"the supervisor itself stood still for {late:.0f} s",)))
        else:
            await self._look_again()

    async def _look_first(self) -> None:
        look = await self._look()
        if look is None:
            return
        self._before = look
        if not self._noticed:
            self._noticed = True
            event = e.SilenceNoticed(seconds=round(self.silent, 3), limit_s=self._window)
            self._core.append(event, task=self._task, attempt=self._attempt, actor="timer")
        self._stage = MOST
        self._arm()

    def _warn(self) -> None:
        if self._verdict:
            return  # already sampled in the same silence
        event = e.TimeoutWarned(
            clock="idle", elapsed_s=round(self.silent, 3), limit_s=self._window, last_sign=one_line(self.last_sign)
        )
        self._core.append(event, task=self._task, attempt=self._attempt, actor="timer")

    async def _look_again(self) -> None:
        before, look = self._before, await self._look()
        if look is None or before is None:
            return
        found = self._bounded(judge(before, look))
        if found.verdict == "STALLED":
            self.stand()
            self._stalled(found)
        else:
            self._found(found)

    def _bounded(self, found: Liveness) -> Liveness:
        """Return the liveness found, bounded in time."""
        self._waited = 0 if found.patient else self._waited + 1
        if self._waited < WAITS:
            return found
        signals = (f"nothing came in {self._waited} times its limit", *found.signals)
        self._waited = 0
        return Liveness(verdict="STALLED", signals=signals)

    def _found(self, found: Liveness) -> None:
        """Restart the count of an agent that is not stalled; record only a verdict that differs."""
        if found.verdict != self._verdict:
            self._verdict = found.verdict
            event = e.LivenessJudged(
                verdict=found.verdict, signals=tuple(map(one_line, found.signals)), silent_s=round(self.silent, 3)
            )
            self._core.append(event, task=self._task, attempt=self._attempt, actor="timer")
        self._begin(self.limit)
        self._arm()

    async def _look(self) -> Look | None:
        """Sample once, in a thread; None where a sign, a question or the end came meanwhile."""
        self._looks += 1
        number, at, identity = self._looks, self._core.clock.monotonic(), self._identity
        vitals, tree = await asyncio.gather(
            asyncio.to_thread(lambda: sample(*identity) if identity else None),
            asyncio.to_thread(print_of, self._tree),
        )
        if number == self._looks:
            return Look(at=at, vitals=vitals, tree=tree)
        if self._runs:
            self._arm()
        return None


class Attentive:
    """An observer that passes everything on and counts it as a sign of life."""

    def __init__(self, observer: Observer, idle: IdleClock) -> None:
        self._observer, self._idle = observer, idle

    def see(self, observation: Observation) -> None:
        """Pass on an observation; a mere sign of life is no step of the work, unless it names the session."""
        self._idle.sign(_named(observation))
        if observation.kind != "alive" or observation.session:
            self._observer.see(observation)

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        self._idle.sign(_named(observation))
        return await self._observer.step(observation, within=within)

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        """Ask a person about an action."""
        self._idle.sign(_named(observation))
        return await self._observer.permit(observation, why=why)

    async def next_answer(self) -> Directive:
        """Wait for the next answer of a person."""
        return await self._observer.next_answer()

    async def delivered(self, directive: Directive) -> None:
        """The agent has what ``directive`` says."""
        await self._observer.delivered(directive)

    async def spawned(self, pid: int, start: float) -> None:
        """The attempt's process exists."""
        self._idle.spawned(pid, start)
        await self._observer.spawned(pid, start)


def _named(observation: Observation) -> str:
    words = {"alive": "output", "action": f"a {observation.tool} call", "message": "a message", "usage": "its usage"}
    return words.get(observation.kind, f"a result of {observation.tool}")
