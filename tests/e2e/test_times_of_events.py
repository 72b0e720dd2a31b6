"""Times are those of the person's own zone, carry it, and are read again by ``--since``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.e2e.conftest import Unstuck

from unstuck_tui.cli.common import moment_of

ZONES = {"America/New_York": "-0[45]", "Asia/Kolkata": r"\+05:30", "UTC": "Z"}


@pytest.mark.parametrize("zone", sorted(ZONES))
def test_a_time_that_is_shown_can_be_given_to_since(unstuck: Unstuck, zone: str) -> None:
    """The column of `unstuck events` in a zone: each time names it, and --since reads it as it stands."""
    unstuck.environment["TZ"] = zone
    lines = unstuck("run", "--headless", "--check", "true", "--", "true").out.splitlines()
    assert any(re.match(rf"\d\d:\d\d:\d\d{ZONES[zone]}  task", line) for line in lines)
    events = unstuck("events").out.splitlines()
    times = [line.split()[1] for line in events]
    assert all(re.fullmatch(rf"\d\d:\d\d:\d\d{ZONES[zone]}", time) for time in times)
    later = unstuck("events", "--since", times[-1]).out.splitlines()
    assert later == [line for line in events if line.split()[1] == times[-1]]
    shown = unstuck("show").out
    assert re.search(rf"started \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d{ZONES[zone]}", shown)
    assert re.search(rf"    \d\d:\d\d:\d\d{ZONES[zone]}  first", shown)


def test_a_time_that_is_still_to_come_is_yesterdays() -> None:
    """After midnight a time of the evening before is read as that, in the zone that it names."""
    for minutes in (-90, 90):
        then = datetime.now(UTC) + timedelta(minutes=minutes)
        for zone in (timezone(timedelta(hours=14)), UTC, timezone(timedelta(hours=-11, minutes=-30))):
            said = then.astimezone(zone).strftime("%H:%M:%S%z")
            gone = then if minutes < 0 else then - timedelta(days=1)
            assert moment_of(said) == pytest.approx(gone.timestamp(), abs=1.0)
