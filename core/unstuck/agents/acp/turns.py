"""One attempt of an agent that is spoken with: its turns, what it asks, and what it is told in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any

from unstuck.agents.acp.conversation import Broken, Conversation
from unstuck.agents.acp.transport import Wire
from unstuck.agents.acp.updates import CANCELLED, Updates, permission_outcome
from unstuck.agents.acp_agents import Quirks
from unstuck.agents.command.agent_output import MOST_STEPS, own, see
from unstuck.agents.command.conversation_agent import Outcome
from unstuck.agents.streams.stream import text
from unstuck.clock import Clock
from unstuck.contract import Directive, Guidance, Observation, Observer
from unstuck.errors import RecordError
from unstuck.text import Clean

__all__ = ["Turns"]

_MOST_ASKED = 32
_MOST_REFUSALS = 3
_MOST_WAITING = 1_000
_WHY = {
    "max_tokens": "the maximum context length was reached (max_tokens)",
    "max_turn_requests": "it stopped at its limit of requests in one turn (max_turn_requests)",
    "refusal": "the model refused to go on (refusal)",
}


class Turns:
    """Drives one conversation to the end of its last turn.

    ``updates`` holds the agent's reported work. ``is_suspended`` returns whether its process is suspended.
    """

    def __init__(
        self,
        guidance: Guidance,
        observer: Observer,
        *,
        clock: Clock,
        quirks: Quirks,
        before: int,
        is_suspended: Callable[[], bool],
    ) -> None:
        self._guidance, self._observer = guidance, observer
        self.updates = Updates(quirks, before=before)
        self._wire = Wire()
        self.hear, self.ended = self._wire.heard, self._wire.end
        self._conversation = Conversation(self._wire, self, clock=clock, quirks=quirks)
        self._problem = ""
        self.is_suspended = is_suspended
        self._queue = _ObservationQueue(observer, self._say_to_it)
        self._to_say: deque[tuple[Clean, Directive | None]] = deque([(guidance.text, None)])
        self._in_turn = self._stopped = self._cut_off = False
        self._refusal: Clean | None = None
        self._refusals = self._asked = self._turn = 0
        self._one_at_a_time = asyncio.Lock()
        self._over = asyncio.Event()
        self._unheard: list[Directive] = []
        self._beside: set[asyncio.Task[None]] = set()

    @property
    def outcome(self) -> Outcome:
        """Return the outcome so far."""
        return Outcome(self.updates.said, self._conversation.session, failed=self._problem)

    async def work(self, say: Callable[[bytes], None]) -> None:
        """Run from the introduction to the end of the last turn; ``say`` writes to the agent. Raises Broken."""
        self._wire.connect(say)
        try:
            await self._conversation.introduce()
            await self._conversation.open(self._guidance.workdir, self._guidance.session)
            self._start(self._hear_answers())
            await self._take_turns()
        except Broken as problem:
            if not (problem.refused and self._conversation.session):
                raise
            self._problem = str(problem)
        finally:
            self._over.set()

    async def interrupt(self) -> None:
        """Ask the agent to end its turn, the last one, and wait until it has; at once where it is in none."""
        self._stopped = True
        self._to_say.clear()
        if self._in_turn:
            self._cut_off = True
            await self._conversation.cancel()
            await self._over.wait()

    async def close(self) -> None:
        """Nothing of it goes on any more."""
        for task in self._beside:
            task.cancel()
        self._queue.close()
        await self._conversation.close()
        await asyncio.gather(*self._beside, return_exceptions=True)

    # --- what the agent does -----------------------------------------------------------------------------------------

    def updated(self, update: Mapping[str, Any]) -> None:
        """Something of its work."""
        self._has_heard()
        self._hear(self.updates.update(update))

    async def permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a person says to what it wants to do; the reason follows as words of its own."""
        if self._asked >= _MOST_ASKED or permission_outcome(request, allowed=True) == CANCELLED:
            return CANCELLED  # also where it offers nothing that a yes could be said with
        if self._in_turn and self._cut_off:
            return CANCELLED  # asked before it has heard that its turn was cancelled
        self._asked += 1
        turn = self._turn
        try:
            async with self._one_at_a_time:
                # With its turn it has given up what else it has asked in there: nobody is to be asked for nothing.
                return await self._permitted(request) if turn == self._turn else CANCELLED
        except RecordError:
            return CANCELLED
        finally:
            self._asked -= 1

    async def _permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        before, wanted, why = self.updates.permission(request)
        self._hear(before)
        directive = await self._observer.permit(self._own(wanted), why=why)
        if directive.kind == "stop":
            return CANCELLED
        if directive.kind == "deny":
            # Before the answer, so that the agent hears why before it takes its next step.
            await self._refused(directive)
            return permission_outcome(request, allowed=False)
        if directive.gate is not None:
            self._unheard.append(directive)
        return permission_outcome(request, allowed=True)

    async def _refused(self, directive: Directive) -> None:
        """A person's no is told at once; where nobody was asked the agent hears it if its turn ends for that.

        It waits for the answer and loses nothing by beginning another turn, while words in its turn would come late.
        """
        if directive.gate is not None:
            await self._next_turn(directive)
        else:
            self._refusal = directive.text

    def _hear(self, observations: Iterable[Observation]) -> None:
        own = [self._own(observation) for observation in observations]
        if any(one.kind in ("message", "action") for one in own):
            self._refusal = None
        self._queue.add(own)

    def _own(self, observation: Observation) -> Observation:
        return own(observation, self._guidance.attempt)

    # --- what it is told ---------------------------------------------------------------------------------------------

    async def _take_turns(self) -> None:
        while self._to_say:
            words, directive = self._to_say.popleft()
            self._in_turn, self._cut_off = True, False
            if directive is not None:
                self._unheard.append(directive)
            try:
                result = await self._conversation.prompt(words)
            except Broken as problem:
                if not (problem.refused and self._cut_off):
                    raise
                result = {}  # some call it an error that they were cancelled
            finally:
                self._in_turn = False
                self._turn += 1
            self._has_heard()
            refusal = self._refusal
            self._hear(self.updates.turn_over(result))
            await self._queue.drained()
            self._problem = _WHY.get(text(result, "stopReason"), "")
            if refusal is not None and not self._to_say and self._refusals < _MOST_REFUSALS:
                self._refusals += 1
                self._refusal = None
                self._to_say.append((refusal, None))

    async def _hear_answers(self) -> None:
        """Words that a person has for it, whenever they come."""
        with suppress(RecordError):
            while True:
                self._say_to_it(await self._observer.next_answer())

    def _say_to_it(self, directive: Directive) -> None:
        """Say it into the turn where the agent can hear that, else end the turn and begin another one with it."""
        self._start(self._interject(directive))

    async def _interject(self, directive: Directive) -> None:
        if self._stopped or (directive.gate is None and not self._in_turn):
            return  # a nudge for what is over
        with suppress(Broken):
            if self._in_turn and self._conversation.steers and await self._conversation.steer(directive.text):
                await self._delivered(directive)
                return
        await self._next_turn(directive)

    async def _next_turn(self, directive: Directive) -> None:
        self._to_say.append((directive.text, directive))
        if self._in_turn:
            self._cut_off = True
            self._turn += 1
            await self._conversation.cancel()

    def _has_heard(self) -> None:
        """It has done something since it was told, so it was told."""
        unheard, self._unheard = self._unheard, []
        for directive in unheard:
            self._start(self._delivered(directive))

    async def _delivered(self, directive: Directive) -> None:
        with suppress(RecordError):
            await self._observer.delivered(directive)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


class _ObservationQueue:
    """Queues observations in order and forwards nudges to ``nudged``. A result may wait for a question."""

    def __init__(self, observer: Observer, nudged: Callable[[Directive], None]) -> None:
        self._observer, self._nudged = observer, nudged
        self._waiting: deque[Observation] = deque()
        self._count = 0
        self._working: asyncio.Task[None] | None = None

    def add(self, observations: Iterable[Observation]) -> None:
        """Queue ``observations``. Never blocks."""
        for observation in observations:
            self._count += 1
            if observation.kind != "usage" and self._count > MOST_STEPS:
                continue  # usage is counted to the end: it costs
            is_result = observation.kind in ("success", "failure")
            if not (is_result or self._waiting) or len(self._waiting) >= _MOST_WAITING:
                see(self._observer, observation)
                continue
            self._waiting.append(observation)
            if self._working is None:
                self._working = asyncio.create_task(self._work())

    async def drained(self) -> None:
        """Return when the queue is empty."""
        while self._working is not None:
            await asyncio.wait([self._working])

    def close(self) -> None:
        """Drop the queue."""
        if self._working is not None:
            self._working.cancel()

    async def _work(self) -> None:
        try:
            while self._waiting:
                observation = self._waiting[0]
                if observation.kind in ("success", "failure"):
                    with suppress(RecordError):
                        directive = await self._observer.step(observation)
                        if directive.kind in ("tell", "deny"):
                            self._nudged(directive)
                else:
                    see(self._observer, observation)
                self._waiting.popleft()
        finally:
            self._working = None
