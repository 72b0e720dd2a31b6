"""The clock of the core: the only module that reads the time or waits for it."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "iso"]

# On Linux CLOCK_BOOTTIME counts the machine's sleep; on macOS CLOCK_MONOTONIC does.
_WITH_SLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC if sys.platform == "darwin" else None)
_AWAKE: int = getattr(time, "CLOCK_UPTIME_RAW", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """The time as supervision needs it. ``now`` is for people, ``monotonic`` for durations (both in seconds).

    ``monotonic`` stops while the machine sleeps; ``asleep`` counts the seconds of sleep since a fixed moment.

    Example::

        monitor = TimeoutMonitor(gates, clock=SystemClock())
    """

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    def asleep(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def asleep(self) -> float:
        """Seconds since the machine was started; 0.0 where the system does not say."""
        return time.clock_gettime(_WITH_SLEEP) - time.clock_gettime(_AWAKE) if _WITH_SLEEP is not None else 0.0

    async def sleep(self, seconds: float) -> None:
        import asyncio  # what only asks for the time does without

        await asyncio.sleep(max(0.0, seconds))


def iso(seconds: float) -> str:
    """``seconds`` since 1970 as ISO 8601 in UTC with milliseconds: ``2026-11-21T20:14:09.565Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
