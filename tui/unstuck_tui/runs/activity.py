"""The output of agents in the last minute, by attempt."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from unstuck.runs.view.output_files import Printed

BUCKETS, BUCKET_S = 10, 6
_UNCOUNTED = 1 << 16
"""Bytes that are assumed where there was output and nobody knows how much: a file's time is set for each 64 KiB."""


class Activity:
    """Bytes that each attempt has printed in each of the last ten spans of six seconds; one that ends is dropped."""

    def __init__(self) -> None:
        self._sizes: dict[str, Printed] = {}
        self._grown: dict[str, deque[tuple[int, int]]] = {}

    def measured(self, sizes: Mapping[str, Printed], now: float) -> None:
        """Note the output of all attempts at work by ``now`` (monotonic, seconds)."""
        bucket = int(now // BUCKET_S)
        for attempt, printed in sizes.items():
            before = self._sizes.get(attempt, printed)
            # A full file grows no more, and only its time tells of output.
            more = printed.size - before.size or (_UNCOUNTED if printed.at > before.at else 0)
            if more > 0:
                self._grown.setdefault(attempt, deque(maxlen=BUCKETS * BUCKET_S)).append((bucket, more))
        self._sizes = dict(sizes)
        self._grown = {attempt: grown for attempt, grown in self._grown.items() if attempt in sizes}

    def of(self, attempt: str, now: float) -> list[int]:
        """The bytes of each span, the latest one last; empty where nothing is known of ``attempt``."""
        if attempt not in self._sizes:
            return []
        first = int(now // BUCKET_S) - BUCKETS + 1
        amounts = [0] * BUCKETS
        for bucket, more in self._grown.get(attempt, ()):
            if 0 <= bucket - first < BUCKETS:
                amounts[bucket - first] += more
        return amounts
