"""The timer of a screen's frames: soon after a change, and once a second while nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from math import inf

FRAME_S = 0.2
"""The least time between two drawings."""
_GATHER_S = 0.1
_SECOND_S = 1.0
_FULL_S = 0.8
_LATER_S = 0.25
_REST = 50
"""So much longer than a drawing took of the processor is the rest after it: two hundredths of a core at most."""
_GATHER = 25
_LONGEST_S = 0.5


class FrameTimer:
    """Calls ``draw``, saying whether a second has passed since everything was drawn, clocks and all.

    What changes now and then is drawn with the clocks: to paint once costs half of twice. So a drawing that comes late
    in a second is that second's, and while something changes the clocks wait a little for it. Where drawings are dear,
    as of thousands of changes, there are fewer of them. Make it where ``draw`` may run: it is called in the context of
    its making.
    """

    def __init__(self, draw: Callable[[bool], object], loop: asyncio.AbstractEventLoop) -> None:
        self._draw, self._loop, self._context = draw, loop, copy_context()
        self._drawn = self._full = self._loop.time()
        self._spent = self._spent_before = 0.0
        self._due = inf
        self._next: asyncio.TimerHandle | None = None
        self._by(self._full + _SECOND_S)

    def wake(self) -> None:
        """Something has changed: it is drawn soon, with all that comes until then."""
        dear = max(self._spent, self._spent_before)
        gathered = self._loop.time() + min(max(_GATHER_S, _GATHER * dear), _LONGEST_S)
        self._by(max(gathered, self._drawn + min(max(FRAME_S, _REST * dear), _LONGEST_S)))

    def spent(self, seconds: float) -> None:
        """So many seconds of the processor were spent on what was drawn last."""
        self._spent += seconds

    def close(self) -> None:
        """Draw no more."""
        self._due = -inf
        if self._next is not None:
            self._next.cancel()

    def _by(self, due: float) -> None:
        """Draw at ``due`` at the latest, in the loop's seconds."""
        if due < self._due:
            self.close()
            self._due = due
            self._next = self._loop.call_at(due, self._fire, context=self._context)

    def _fire(self) -> None:
        now = self._loop.time()
        is_full = now - self._full >= _FULL_S
        early = now < self._full + _SECOND_S
        self._drawn = now
        self._spent, self._spent_before = 0.0, self._spent
        if is_full:
            self._full = now
        self._due = inf
        self._by(self._full + _SECOND_S + (_LATER_S if early else 0.0))
        self._draw(is_full)
