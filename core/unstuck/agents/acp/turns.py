"""One attempt of an agent that is spoken with: its turns, what it asks, and what it is told in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from unstuck.agents.acp.conversation import Broken, Conversation
from unstuck.agents.acp.observation_queue import Ears
from unstuck.agents.acp.permission import CANCELLED, outcome
from unstuck.agents.acp.transport import Wire
from unstuck.agents.acp.updates import Updates
from unstuck.agents.acp_agents import Quirks
from unstuck.agents.streams.stream import text
from unstuck.clock import Clock
from unstuck.contract import Directive, Guidance, Observation, Observer
from unstuck.errors import RecordError
from unstuck.text import Clean

__all__ = ["Attempt"]

_MOST_ASKED = 32
_MOST_REFUSALS = 3
_WHY = {
    "max_tokens": "the maximum context length was reached (max_tokens)",
    "max_turn_requests": "it stopped at its limit of requests in one turn (max_turn_requests)",
    "refusal": "the model refused to go on (refusal)",
}


class Attempt:
    """Drives one conversation to the end of its last turn.

    ``updates`` is what it has told of, ``problem`` why it says that it failed, empty where it does not.
    """

    def __init__(
        self,
        wire: Wire,
        guidance: Guidance,
        observer: Observer,
        *,
        clock: Clock,
        quirks: Quirks,
        before: int,
        is_still: Callable[[], bool],
    ) -> None:
        self._guidance, self._observer = guidance, observer
        self.updates = Updates(quirks, before=before)
        self.conversation = Conversation(wire, self, clock=clock, quirks=quirks)
        self.problem = ""
        self.is_still = is_still
        self._ears = Ears(observer, self._say_to_it)
        self._to_say: deque[tuple[Clean, Directive | None]] = deque([(guidance.text, None)])
        self._in_turn = self._stopped = self._cut_off = False
        self._refusal: Clean | None = None
        self._refusals = self._asked = self._turn = 0
        self._one_at_a_time = asyncio.Lock()
        self._over = asyncio.Event()
        self._unheard: list[Directive] = []
        self._beside: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """From the introduction to the end of the last turn. Raises Broken."""
        try:
            await self.conversation.introduce()
            await self.conversation.open(self._guidance.workdir, self._guidance.session)
            self._start(self._hear_answers())
            await self._take_turns()
        except Broken as problem:
            if not (problem.refused and self.conversation.session):
                raise
            self.problem = str(problem)
        finally:
            self._over.set()

    async def cancel(self) -> None:
        """Ask the agent to end its turn, the last one, and wait until it has; at once where it is in none."""
        self._stopped = True
        self._to_say.clear()
        if self._in_turn:
            self._cut_off = True
            await self.conversation.cancel()
            await self._over.wait()

    async def close(self) -> None:
        """Nothing of it goes on any more."""
        for task in self._beside:
            task.cancel()
        self._ears.close()
        await self.conversation.close()
        await asyncio.gather(*self._beside, return_exceptions=True)

    # --- what the agent does -----------------------------------------------------------------------------------------

    def updated(self, update: Mapping[str, Any]) -> None:
        """Something of its work."""
        self._has_heard()
        self._hear(self.updates.update(update))

    async def permitted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a person says to what it wants to do; the reason follows as words of its own."""
        if self._asked >= _MOST_ASKED or outcome(request, allowed=True) == CANCELLED:
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
            return outcome(request, allowed=False)
        if directive.gate is not None:
            self._unheard.append(directive)
        return outcome(request, allowed=True)

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
        self._ears.hear(own)

    def _own(self, observation: Observation) -> Observation:
        """With an id that is the attempt's own: some agents count theirs anew in every process."""
        if not observation.id:
            return observation
        return replace(observation, id=Clean(f"{self._guidance.attempt}:{observation.id}"))

    # --- what it is told ---------------------------------------------------------------------------------------------

    async def _take_turns(self) -> None:
        while self._to_say:
            words, directive = self._to_say.popleft()
            self._in_turn, self._cut_off = True, False
            if directive is not None:
                self._unheard.append(directive)
            try:
                result = await self.conversation.prompt(words)
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
            await self._ears.rest()
            self.problem = _WHY.get(text(result, "stopReason"), "")
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
            if self._in_turn and self.conversation.steers and await self.conversation.steer(directive.text):
                await self._delivered(directive)
                return
        await self._next_turn(directive)

    async def _next_turn(self, directive: Directive) -> None:
        self._to_say.append((directive.text, directive))
        if self._in_turn:
            self._cut_off = True
            self._turn += 1
            await self.conversation.cancel()

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
