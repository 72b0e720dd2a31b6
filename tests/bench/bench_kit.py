"""Base of a benchmark: a name, one measurement, and what it is compared with."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any


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


class Turns:
    """Rounds in which each of some loads is run once, one after the other; every row looks at the same rounds.

    A row of its own would run again what other rows have run, too, and would compare what ran minutes apart.
    """

    def __init__(self, loads: Mapping[str, Callable[[], Any]]) -> None:
        self._loads = loads
        self._rounds: list[dict[str, Any]] = []

    def look(self, figure: Callable[..., float], *names: str) -> Callable[[], float]:
        """Return a measurement whose n-th call gives the ``figure`` of what the loads ``names`` gave in round n."""
        numbers = count()

        def measure() -> float:
            number = next(numbers)
            while len(self._rounds) <= number:
                self._rounds.append({name: _tried(load) for name, load in self._loads.items()})
            found = [self._rounds[number][name] for name in names]
            for one in found:
                if isinstance(one, Exception):
                    raise one
            return figure(*found)

        return measure


def _tried(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # of the rows of this load alone
        return error


def processor_time() -> float:
    """Seconds that this process and its ended children have used."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


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
