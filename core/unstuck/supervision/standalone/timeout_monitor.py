"""The time-out monitor: watches tasks by agent type, on one timer, without polling."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

from unstuck.arguments import checked
from unstuck.clock import Clock, SystemClock, iso
from unstuck.clock.deadlines import Deadlines
from unstuck.contract import Answer
from unstuck.errors import ArgumentError
from unstuck.settings.models import DEFAULT_TIMEOUTS

OnTimeout = Callable[[], object]
FALLBACK_S = 900.0
_LOG = logging.getLogger(__name__)


class Gates(Protocol):
    async def create_gate(
        self, gate_type: str, *, task_id: str, agent_id: str, project_id: str | None = None, context: Mapping[str, Any]
    ) -> str: ...


@dataclass(slots=True, eq=False)
class _Watch:
    task_id: str
    agent_id: str
    agent_type: str
    started: float
    started_at: float
    limit: float
    on_timeout: OnTimeout | None
    metadata: dict[str, Any] = field(default_factory=dict)


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

    ``check_interval`` (seconds) is accepted as an upper bound of how late that may be; deadlines are met exactly. Where
    the gate manager can be waited for, an answer that extends puts the task back under the monitor.

    Example::

        monitor = TimeoutMonitor(gates)
        await monitor.start()
        await monitor.monitor_task("task-1", "agent-1", "qa_engineer", timeout_seconds=60)
    """

    DEFAULT_TIMEOUTS: ClassVar[dict[str, float]] = dict(DEFAULT_TIMEOUTS)

    @checked
    def __init__(
        self,
        gate_manager: Gates | None = None,
        *,
        check_interval: float = 10.0,
        clock: Clock | None = None,
        fallback: float = FALLBACK_S,
    ) -> None:
        if not check_interval > 0:
            raise ArgumentError("check_interval must be above zero")
        self.check_interval = check_interval
        self._gates = gate_manager
        self._clock = clock or SystemClock()
        self._fallback = fallback
        self._deadlines = Deadlines(self._clock)
        self._watched: dict[str, _Watch] = {}
        self._asked: dict[str, _Watch] = {}

    async def start(self) -> None:
        """Begin to watch; calling it twice is harmless."""
        await self._deadlines.start()

    async def stop(self) -> None:
        """Stop watching. Open questions stay open."""
        await self._deadlines.stop()

    @checked
    async def monitor_task(
        self,
        task_id: str,
        agent_id: str,
        agent_type: str,
        timeout_seconds: float | None = None,
        on_timeout: OnTimeout | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Watch ``task_id`` from now on; the limit is by agent type unless given. Raises ArgumentError where it
        cannot be met.
        """
        limit = (
            timeout_seconds if timeout_seconds is not None else self.DEFAULT_TIMEOUTS.get(agent_type, self._fallback)
        )
        if not 0 < limit < math.inf:
            raise ArgumentError("timeout_seconds must be above zero, and finite")
        self._watch(
            _Watch(
                task_id=task_id,
                agent_id=agent_id,
                agent_type=agent_type,
                started=self._clock.monotonic(),
                started_at=self._clock.now(),
                limit=limit,
                on_timeout=on_timeout,
                metadata=dict(metadata or {}),
            )
        )

    @checked
    def complete_task(self, task_id: str) -> None:
        """Stop watching ``task_id``; unknown ids are fine."""
        self._asked.pop(task_id, None)
        if self._watched.pop(task_id, None) is not None:
            self._deadlines.cancel(task_id)

    def get_monitor_stats(self) -> dict[str, Any]:
        """``active_count``, ``running`` and per task its elapsed and remaining seconds."""
        now = self._clock.monotonic()
        return {
            "active_count": len(self._watched),
            "running": self._deadlines.running,
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

    def _watch(self, watch: _Watch) -> None:
        self.complete_task(watch.task_id)
        self._watched[watch.task_id] = watch
        self._deadlines.at(watch.task_id, watch.started + watch.limit, partial(self._time_is_up, watch))

    async def _time_is_up(self, watch: _Watch) -> None:
        """Open the gate, tell the caller, and wait for what is answered."""
        elapsed = self._clock.monotonic() - watch.started
        self._watched.pop(watch.task_id, None)
        self._asked[watch.task_id] = watch
        _LOG.info("task %s of %s: time is up after %.1f s", watch.task_id, watch.agent_id, elapsed)
        gate = ""
        try:
            gate = await self._ask(watch, elapsed)
        except Exception as error:
            _report(watch, error)
        try:
            result = watch.on_timeout() if watch.on_timeout is not None else None
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            _report(watch, error)
        if (when_answered := getattr(self._gates, "when_answered", None)) is not None and gate:
            when_answered(gate, partial(self._answered, watch))
            return
        wait = getattr(self._gates, "wait", None)
        self._answered(watch, await wait(gate) if wait is not None and gate else None)

    async def _ask(self, watch: _Watch, elapsed: float) -> str:
        if self._gates is None:
            return ""
        context = timeout_context(
            task_id=watch.task_id,
            agent_id=watch.agent_id,
            elapsed=elapsed,
            limit=watch.limit,
            started_at=watch.started_at,
        )
        return await self._gates.create_gate("timeout", task_id=watch.task_id, agent_id=watch.agent_id, context=context)

    def _answered(self, watch: _Watch, answer: Any) -> None:
        """More time is counted from the answer; a task that was completed or watched again meanwhile stays as it is."""
        if self._asked.get(watch.task_id) is not watch:
            return
        del self._asked[watch.task_id]
        if isinstance(answer, Answer) and answer.choice == "extend" and answer.number:
            watch.limit = self._clock.monotonic() - watch.started + answer.number
            self._watch(watch)


def _report(watch: _Watch, error: Exception) -> None:
    message = f"the time-out of task {watch.task_id} could not be followed up"
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})
