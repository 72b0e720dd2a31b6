"""The time-out monitor: one timer for the nearest deadline of any number of tasks, no polling."""

from __future__ import annotations

import asyncio
import heapq
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from unstuck.clock import Clock, SystemClock, iso
from unstuck.settings import DEFAULT_TIMEOUTS

__all__ = ["TimeoutMonitor", "timeout_context"]

OnTimeout = Callable[[], object]
FALLBACK_S = 900.0


class _Gates(Protocol):
    async def create_gate(
        self, gate_type: str, *, task_id: str, agent_id: str, project_id: str | None = None, context: Mapping[str, Any]
    ) -> str: ...


@dataclass(slots=True)
class _Watch:
    task_id: str
    agent_id: str
    agent_type: str
    started: float
    started_at: float
    limit: float
    on_timeout: OnTimeout | None
    metadata: dict[str, Any] = field(default_factory=dict)
    live: bool = True


def timeout_context(*, task_id: str, agent_id: str, elapsed: float, limit: float, started_at: float) -> dict[str, Any]:
    """The context of a ``timeout`` gate; times in seconds, ``started_at`` since 1970."""
    return {
        "task_id": task_id,
        "agent_id": agent_id,
        "elapsed_seconds": round(elapsed, 1),
        "timeout_seconds": limit,
        "started_at": iso(started_at),
        "timeout_type": "task_timeout",
    }


class TimeoutMonitor:
    """Watches tasks and opens a ``timeout`` gate for each whose time is up.

    ``check_interval`` (seconds) is accepted as an upper bound of how late that may be; deadlines are met exactly.
    """

    DEFAULT_TIMEOUTS: ClassVar[dict[str, float]] = dict(DEFAULT_TIMEOUTS)

    def __init__(
        self,
        gate_manager: _Gates | None = None,
        *,
        check_interval: float = 10.0,
        clock: Clock | None = None,
        fallback: float = FALLBACK_S,
    ) -> None:
        self.check_interval = check_interval
        self._gates = gate_manager
        self._clock = clock or SystemClock()
        self._fallback = fallback
        self._watched: dict[str, _Watch] = {}
        self._heap: list[tuple[float, int, _Watch]] = []
        self._count = 0
        self._runner: asyncio.Task[None] | None = None
        self._nearer = asyncio.Event()
        self._callbacks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to watch; calling it twice is harmless."""
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop watching. Gates that are open stay open."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.cancel()
            await asyncio.gather(runner, return_exceptions=True)
        for follow in self._callbacks - {asyncio.current_task()}:
            follow.cancel()

    async def monitor_task(
        self,
        task_id: str,
        agent_id: str,
        agent_type: str,
        timeout_seconds: float | None = None,
        on_timeout: OnTimeout | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Watch ``task_id`` from now on; the limit is by agent type unless given. Raises ValueError below zero."""
        if timeout_seconds is not None and timeout_seconds <= 0:
            raise ValueError("timeout_seconds must be above zero")
        limit = (
            timeout_seconds if timeout_seconds is not None else self.DEFAULT_TIMEOUTS.get(agent_type, self._fallback)
        )
        self.complete_task(task_id)
        watch = _Watch(
            task_id=task_id,
            agent_id=agent_id,
            agent_type=agent_type,
            started=self._clock.monotonic(),
            started_at=self._clock.now(),
            limit=limit,
            on_timeout=on_timeout,
            metadata=dict(metadata or {}),
        )
        self._watched[task_id] = watch
        self._count += 1
        heapq.heappush(self._heap, (watch.started + limit, self._count, watch))
        self._nearer.set()

    def complete_task(self, task_id: str) -> None:
        """Stop watching ``task_id``; unknown ids are fine."""
        watch = self._watched.pop(task_id, None)
        if watch is not None:
            watch.live = False

    def get_monitor_stats(self) -> dict[str, Any]:
        """``active_count``, ``running`` and per task its elapsed and remaining seconds."""
        now = self._clock.monotonic()
        return {
            "active_count": len(self._watched),
            "running": self._runner is not None,
            "tasks": [
                {
                    "task_id": watch.task_id,
                    "agent_id": watch.agent_id,
                    "agent_type": watch.agent_type,
                    "elapsed_seconds": now - watch.started,
                    "remaining_seconds": max(0.0, watch.started + watch.limit - now),
                    "timeout_seconds": watch.limit,
                    "metadata": watch.metadata,
                }
                for watch in self._watched.values()
            ],
        }

    async def _run(self) -> None:
        while True:
            self._nearer.clear()
            while self._heap and not self._heap[0][2].live:
                heapq.heappop(self._heap)
            if not self._heap:
                await self._nearer.wait()
                continue
            due = self._heap[0][0] - self._clock.monotonic()
            if due > 0:
                await self._wait(due)
                continue
            self._fire(heapq.heappop(self._heap)[2])

    async def _wait(self, seconds: float) -> None:
        """Until ``seconds`` have passed or a nearer deadline has come in."""
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        nearer = asyncio.ensure_future(self._nearer.wait())
        try:
            await asyncio.wait((sleeping, nearer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            nearer.cancel()
            await asyncio.gather(sleeping, nearer, return_exceptions=True)

    def _fire(self, watch: _Watch) -> None:
        """What follows runs by itself: neither a slow callback nor one that raises may delay another deadline."""
        self._watched.pop(watch.task_id, None)
        watch.live = False
        elapsed = self._clock.monotonic() - watch.started
        follow = asyncio.ensure_future(self._follow(watch, elapsed))
        self._callbacks.add(follow)
        follow.add_done_callback(self._callbacks.discard)

    async def _follow(self, watch: _Watch, elapsed: float) -> None:
        """Open the gate, then tell the caller; what either raises is reported to the loop, as for any callback."""
        try:
            if self._gates is not None:
                context = timeout_context(
                    task_id=watch.task_id,
                    agent_id=watch.agent_id,
                    elapsed=elapsed,
                    limit=watch.limit,
                    started_at=watch.started_at,
                )
                await self._gates.create_gate(
                    "timeout", task_id=watch.task_id, agent_id=watch.agent_id, context=context
                )
        except Exception as error:
            _report(watch, error)
        try:
            result = watch.on_timeout() if watch.on_timeout is not None else None
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            _report(watch, error)


def _report(watch: _Watch, error: Exception) -> None:
    message = f"the time-out of task {watch.task_id} could not be followed up"
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})
