"""Deadlines: one timer for the nearest of any number of moments, and no wake-up between them."""

from __future__ import annotations

import asyncio
import heapq
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from unstuck.clock import Clock
from unstuck.clock.waits import first_of

Then = Callable[[], object]
_SLACK = 64
_BATCH = 64


@dataclass(slots=True, eq=False)
class _Deadline:
    key: str
    then: Then
    live: bool = True


class Deadlines:
    """Calls back at monotonic moments, each known by a key; a callback may be a coroutine function.

    Callbacks run separately: a slow one or one that raises delays no other. An exception is reported to
    the loop, as for any callback. ``on_wake`` is called whenever the timer has come to its end.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.on_wake: Callable[[], None] = lambda: None
        self._live: dict[str, _Deadline] = {}
        self._heap: list[tuple[float, int, _Deadline]] = []
        self._count = 0
        self._nearer = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._following: set[asyncio.Future[None]] = set()

    @property
    def running(self) -> bool:
        """Return whether the timer runs."""
        return self._runner is not None

    def __len__(self) -> int:
        return len(self._live)

    async def start(self) -> None:
        """Start the timer; a second call does nothing."""
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop the timer and cancel the callbacks that still run."""
        runner, self._runner = self._runner, None
        current = asyncio.current_task()
        ending = [task for task in (runner, *self._following) if task is not None and task is not current]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def at(self, key: str, moment: float, then: Then) -> None:
        """Call ``then`` at ``moment`` (monotonic seconds); replaces the earlier deadline of ``key``."""
        self.cancel(key)
        deadline = _Deadline(key, then)
        self._live[key] = deadline
        self._count += 1
        heapq.heappush(self._heap, (moment, self._count, deadline))
        if self._heap[0][2] is deadline:
            self._nearer.set()

    def cancel(self, key: str) -> None:
        """Cancel the deadline of ``key``; an unknown key is ignored."""
        deadline = self._live.pop(key, None)
        if deadline is None:
            return
        deadline.live = False
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            # A deadline that is often moved must not keep its old entries until their moments.
            self._heap = [entry for entry in self._heap if entry[2].live]
            heapq.heapify(self._heap)

    async def _run(self) -> None:
        called = 0
        while True:
            self._nearer.clear()
            while self._heap and not self._heap[0][2].live:
                heapq.heappop(self._heap)
            if not self._heap:
                await self._nearer.wait()
                continue
            left = self._heap[0][0] - self._clock.monotonic()
            if left > 0:
                await self._wait(left)
                continue
            deadline = heapq.heappop(self._heap)[2]
            del self._live[deadline.key]
            self._call(deadline)
            del deadline  # nothing of it is kept until the next one is due
            called += 1
            if called % _BATCH == 0:
                # Thousands that are due at once leave turns to others, and are not all kept until the last is called.
                await asyncio.sleep(0)

    async def _wait(self, seconds: float) -> None:
        """Wait until ``seconds`` have passed or a nearer deadline has been added."""
        is_due, _ = await first_of(self._clock.sleep(seconds), self._nearer.wait())
        if is_due:
            self.on_wake()

    def _call(self, deadline: _Deadline) -> None:
        try:
            result = deadline.then()
        except Exception as error:
            _report(deadline.key, error)
            return
        if inspect.isawaitable(result):
            following = asyncio.ensure_future(_followed(deadline.key, result))
            self._following.add(following)
            following.add_done_callback(self._following.discard)


async def _followed(key: str, work: Awaitable[object]) -> None:
    try:
        await work
    except Exception as error:
        _report(key, error)


def _report(key: str, error: Exception) -> None:
    message = f"the deadline of {key} could not be followed up"
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})
