"""The clock of a rehearsal at another speed."""

from __future__ import annotations

import time

import pytest

from unstuck.clock import PacedClock


def test_times_and_durations_pass_at_one_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header, the age of a question and an attempt's duration agree at three times the speed."""
    moment = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0 + moment[0])
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    clock = PacedClock(3)
    now, monotonic = clock.now(), clock.monotonic()
    assert now == 1_700_000_000.0 + 1_000.0
    moment[0] += 10
    assert (clock.now() - now, clock.monotonic() - monotonic) == (30.0, 30.0)
