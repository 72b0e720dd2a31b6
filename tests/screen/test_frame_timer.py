"""When the screen is drawn, on a loop whose time only this file moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from unstuck_tui.screens.frame_timer import FRAME_S, FrameTimer


class Timer:
    def __init__(self, when: float, call: Callable[[], object]) -> None:
        self.when, self.call, self.is_cancelled = when, call, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Time:
    """Runs what is due, in order; ``drawn`` are the times of all drawings, ``full`` those with the clocks."""

    def __init__(self) -> None:
        self.now, self.timers, self.drawn, self.full = 0.0, list[Timer](), list[float](), list[float]()
        loop: Any = self
        self.pace, self.costs = FrameTimer(self._draw, loop), 0.0

    def _draw(self, is_full: bool) -> None:
        self.drawn.append(self.now)
        self.pace.spent(self.costs)
        if is_full:
            self.full.append(self.now)

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], object], *, context: Any) -> Any:
        self.timers.append(Timer(when, callback))
        return self.timers[-1]

    def run(self, until: float, changes: Iterable[float] = ()) -> None:
        """Let time pass, with a change at each of these moments."""
        self.timers += [Timer(when, self.pace.wake) for when in changes]
        while True:
            self.timers = [timer for timer in self.timers if not timer.is_cancelled]
            due = min(self.timers, key=lambda timer: timer.when, default=None)
            if due is None or due.when > until:
                break
            self.timers.remove(due)
            self.now = max(self.now, due.when)
            due.call()
        self.now = until


def test_while_nothing_changes_only_the_clocks_are_drawn() -> None:
    """Once a second, and nothing in between."""
    time = Time()
    time.run(10.5)
    assert time.drawn == time.full == [float(second) for second in range(1, 11)]


def test_a_change_is_seen_soon() -> None:
    """Whatever the second is doing, nobody waits longer for a change than a frame."""
    for hundredth in range(100):
        time = Time()
        change = 3 + hundredth / 100
        time.run(5, [change])
        assert any(change <= drawn <= change + FRAME_S + 1e-9 for drawn in time.drawn)


def test_what_changes_once_a_second_is_drawn_once_a_second() -> None:
    """Whenever in the second it comes: after a while the clocks are drawn with it, and nothing is drawn twice."""
    for hundredth in range(0, 100, 7):
        time = Time()
        time.run(30, [second + hundredth / 100 for second in range(30)])
        settled = [drawn for drawn in time.drawn if drawn > 10]
        assert len(settled) <= 21
        assert set(settled) <= set(time.full)


def test_what_changes_all_the_time_is_drawn_five_times_a_second() -> None:
    """A storm of changes costs no more than that, and the clocks are drawn every second all the same."""
    time = Time()
    time.run(10, [number / 50 for number in range(500)])
    assert 45 <= len(time.drawn) <= 51
    gaps = [later - earlier for earlier, later in zip(time.full, time.full[1:], strict=False)]
    assert all(0.8 <= gap <= 1.25 for gap in gaps)


def test_dear_drawings_are_fewer() -> None:
    """A drawing of 8 ms is followed by 400 ms of rest; nobody waits longer than half a second for one, however dear."""
    for costs, most in ((0.008, 26), (0.1, 21)):
        time = Time()
        time.costs = costs
        time.run(10, [number / 50 for number in range(500)])
        assert 15 <= len(time.drawn) <= most
        assert max(later - earlier for earlier, later in zip(time.drawn, time.drawn[1:], strict=False)) <= 0.53


def test_a_long_burst_of_dear_changes_is_drawn_once() -> None:
    """Changes that come for 150 ms in each second are gathered where a drawing takes 8 ms."""
    time = Time()
    time.costs = 0.008
    time.run(30, [second + place / 100 for second in range(30) for place in range(15)])
    assert len([drawn for drawn in time.drawn if drawn > 10]) <= 21


def test_a_screen_that_is_gone_is_not_drawn() -> None:
    """After the end nothing is drawn, whatever changes."""
    time = Time()
    time.pace.close()
    time.run(5, [1, 2, 3])
    assert not time.drawn
