"""The playback of a replay: records come as they came, and long pauses are cut."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from unstuck_tui.runs.replay.replayed_run import ReplayedRun

__all__ = ["Player"]

PAUSE_S = 2.0
AT_ONCE = 150


class Player:
    """Moves a run on by the time that has passed since it was last asked to; ``now`` is a monotonic clock."""

    def __init__(self, run: ReplayedRun, now: Callable[[], float] = monotonic) -> None:
        self._run, self._now = run, now
        self._last = now()

    def begin(self) -> None:
        """From now on time passes."""
        self._last = self._now()

    async def play(self, speed: float) -> bool:
        """Let ``speed`` seconds pass for each that has gone by. False where the run is over.

        No pause takes longer than two seconds, and of a flood of records no more come at once than can be shown.
        """
        now = self._now()
        ahead = self._run.clock.ahead + (now - self._last) * speed
        self._last = now
        seq, most = self._run.seq, self._run.seq + AT_ONCE
        while seq < len(self._run.index) and seq < most:
            gap = min(max(0.0, self._run.index.time_of(seq + 1) - self._run.index.time_of(seq)), PAUSE_S * speed)
            if ahead < gap:
                break
            ahead -= gap
            seq += 1
        if seq > self._run.seq:
            await self._run.go_to(seq)
        over = seq >= len(self._run.index)
        self._run.clock.ahead = 0.0 if over or seq == most else ahead
        return not over
