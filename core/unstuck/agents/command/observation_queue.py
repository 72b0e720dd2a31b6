"""Queue of an attempt's observations: judged in their order, and nudges are passed on to the agent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from unstuck.agents.command.agent_output import MOST_STEPS, see
from unstuck.contract import Directive, Observation, Observer
from unstuck.errors import RecordError

_MOST_WAITING = 1_000


class ObservationQueue:
    """Queues observations in order and passes nudges of the main agent to ``nudged``.

    A result may wait for a question.
    """

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
                        if directive.kind in ("tell", "deny") and not observation.agent_id:
                            self._nudged(directive)
                else:
                    see(self._observer, observation)
                self._waiting.popleft()
        finally:
            self._working = None
