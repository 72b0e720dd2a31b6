"""What an agent does, noted in its order; where that calls for words to it, they are handed on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from unstuck.agents.command.agent_output import MOST_STEPS, see
from unstuck.contract import Directive, Observation, Observer
from unstuck.errors import RecordError

__all__ = ["Ears"]

_MOST_WAITING = 1_000


class Ears:
    """Tells ``observer``; a nudge goes to ``nudged``. A result may wait until a question is asked, the rest for it."""

    def __init__(self, observer: Observer, nudged: Callable[[Directive], None]) -> None:
        self._observer, self._nudged = observer, nudged
        self._waiting: deque[Observation] = deque()
        self._told = 0
        self._working: asyncio.Task[None] | None = None

    def hear(self, observations: Iterable[Observation]) -> None:
        """Note these, after those that wait. Never blocks."""
        for observation in observations:
            self._told += 1
            if observation.kind != "usage" and self._told > MOST_STEPS:
                continue  # what is used is counted to the end: it costs
            is_result = observation.kind in ("success", "failure")
            if not (is_result or self._waiting) or len(self._waiting) >= _MOST_WAITING:
                see(self._observer, observation)
                continue
            self._waiting.append(observation)
            if self._working is None:
                self._working = asyncio.create_task(self._work())

    async def rest(self) -> None:
        """Return when everything is noted."""
        while self._working is not None:
            await asyncio.wait([self._working])

    def close(self) -> None:
        """Wait for nothing any more."""
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
