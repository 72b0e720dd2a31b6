"""Nudges to an agent that only runs: its turn is ended between two calls, and its session goes on with the nudge.

A turn in which it only repeats a refused request is ended, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from unstuck.agents.command.agent_output import AgentOutput
from unstuck.agents.command.observation_queue import ObservationQueue
from unstuck.contract import Directive, Observation, Observer
from unstuck.errors import RecordError
from unstuck.processes import Process
from unstuck.text import Clean

_WORDS = (
    "Your turn was ended to tell you this, and what it had left running in the background has ended with it. "
    "You repeat yourself, {}\n\nGo on with the task."
)


class NudgedOutput:
    """Output of one attempt, whose agent is nudged where its observations call for it.

    ``parsed`` takes the output, of which ``printed`` are the bytes so far. ``process`` returns the process of the
    current turn. Only an agent that ``resumes`` its session is nudged.
    """

    def __init__(
        self,
        stream: str,
        attempt: str,
        observer: Observer,
        process: Callable[[], Process | None],
        *,
        resumes: bool,
        before: tuple[int, int],
    ) -> None:
        self.parsed = AgentOutput(stream, attempt, self._take, before=before)
        self._observer, self._process, self._resumes = observer, process, resumes
        self._queue = ObservationQueue(observer, self._nudged)
        self.printed = 0
        self._calls: set[str] = set()
        self._nudge: Directive | None = None
        self._sent: Directive | None = None
        self._ending: asyncio.Task[object] | None = None
        self._delivering: asyncio.Task[None] | None = None

    async def next_turn(self) -> Clean:
        """Return the prompt with which the session goes on after its process has ended; empty if it does not."""
        nudge, ending = self._nudge if not self.parsed.refused else None, self._ending
        if ending is not None:
            await ending
        await self._queue.drained()
        self._nudge = self._ending = None
        self._calls.clear()
        if nudge is None or ending is None:
            return Clean("")
        self.parsed.resume()
        self._sent = nudge
        return Clean(_WORDS.format(nudge.text))

    async def close(self) -> None:
        """Report what is due once the last process has ended, and return when it is recorded."""
        self.parsed.close()
        self._queue.close()
        if self._delivering is not None:
            await self._delivering

    def end_refused(self, said: Clean) -> None:
        """End a turn that only repeats a request, which its provider refuses as ``said``."""
        if said and not self._calls and self._ending is None and (process := self._process()) is not None:
            self.parsed.refused = said
            self._ending = asyncio.create_task(process.stop())

    def _take(self, observation: Observation) -> None:
        """Pass on an observation. Of a turn that is being ended only its usage counts."""
        if self._ending is not None and observation.kind != "usage":
            return
        if observation.kind in ("message", "action") and self._sent is not None:
            # The model has worked since, so it has the nudge.
            self._delivering = asyncio.create_task(self._deliver(self._sent))
            self._sent = None
        if observation.kind == "action":
            self._calls.add(observation.id)
        elif observation.kind in ("success", "failure"):
            self._calls.discard(observation.id)
        self._queue.add((observation,))
        self._end_turn()

    def _nudged(self, directive: Directive) -> None:
        self._nudge = self._nudge or directive
        self._end_turn()

    def _end_turn(self) -> None:
        """End the turn where a nudge is due, no call runs, and the session can go on."""
        if self._nudge is None or self._ending is not None or self._calls or self.parsed.ended or not self._resumes:
            return
        process = self._process()
        if process is not None and self.parsed.session:
            self._ending = asyncio.create_task(process.stop())

    async def _deliver(self, directive: Directive) -> None:
        with suppress(RecordError):
            await self._observer.delivered(directive)
