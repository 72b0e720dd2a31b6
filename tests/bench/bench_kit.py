"""Base of a benchmark: a name, one measurement, and what it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """``measure`` gives one measurement in ``unit``; with ``against``, both are taken in turns and their ratio is told.

    ``budget`` is what the result is hoped to stay within, for the reader: nothing fails when it does not.
    """

    name: str
    unit: str
    measure: Callable[[], float]
    against: Callable[[], float] | None = None
    budget: str = ""
    rounds: int = 5


def processor_seconds(action: Callable[[], object]) -> float:
    """As :func:`seconds`, of this thread's own work: what others do on a busy machine meanwhile does not count."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


def seconds(action: Callable[[], object]) -> float:
    """Return the duration of ``action`` in seconds."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
