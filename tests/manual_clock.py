"""A clock that moves only when a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any

_SAME = 1e-4


class ManualClock:
    """A clock for tests that moves only when it is advanced. Sleepers wake in the order of their deadlines."""

    def __init__(self, start: float = 1_000.0, wall: float = 1_800_000_000.0) -> None:
        self._time = start
        self._wall = wall - start
        self._asleep = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0
        self._registered = asyncio.Event()

    def now(self) -> float:
        return self._wall + self._time

    def monotonic(self) -> float:
        return self._time

    @property
    def sleepers(self) -> int:
        """The number of sleepers."""
        return sum(1 for _, _, future in self._sleepers if not future.done())

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait until ``seconds`` from the moment of this call, however late the waiting itself begins."""
        return self._sleep_until(self._time + seconds)

    async def _sleep_until(self, due: float) -> None:
        if due <= self._time:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (due, self._count, future))
        self._registered.set()
        await future

    async def slept_until(self, moment: float) -> None:
        """Wait until a sleeper waits for ``moment``, so that an advance wakes it."""
        while not any(abs(due - moment) < _SAME for due, _, future in self._sleepers if not future.done()):
            self._registered.clear()
            await self._registered.wait()

    async def advance(self, seconds: float) -> None:
        """Advance by ``seconds``: wake every sleeper that is due, and run the loop between two wake-ups."""
        end = self._time + seconds
        while True:
            await self.settle()
            due = next((entry for entry in sorted(self._sleepers) if not entry[2].done()), None)
            if due is None or due[0] > end:
                break
            self._sleepers.remove(due)
            heapq.heapify(self._sleepers)
            self._time = max(self._time, due[0])
            due[2].set_result(None)
        self._time = end
        await self.settle()

    def asleep(self) -> float:
        return self._asleep

    def suspend(self, seconds: float) -> None:
        """Simulate sleep of the machine: only the time of day advances."""
        self._wall += seconds
        self._asleep += seconds

    def jump(self, seconds: float) -> None:
        """Advance by ``seconds`` at once, as for a stopped process: sleepers wake late."""
        self._time += seconds

    @staticmethod
    async def settle(turns: int = 50) -> None:
        """Run the loop until everything that waits for no time has run."""
        for _ in range(turns):
            await asyncio.sleep(0)
