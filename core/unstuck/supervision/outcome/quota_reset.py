"""Reset of a quota: the seconds until it is available again."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_LONGEST = 8 * 86400.0


def seconds_until(said: str, now: float) -> float:
    """The seconds from ``now`` (since 1970) to what a diagnosis has as ``resets_at``; 0.0 where that says nothing.

    A time of day is the next one in the time zone it names, or in this machine's own. Nothing lies further off than
    eight days.
    """
    if said.isdigit():
        left = float(said) - now
        return left if 0 < left < _LONGEST else 0.0
    time, _, zone = said.partition(" ")
    with suppress(ValueError, OSError, KeyError):
        hour, minute = (int(part) for part in time.split(":"))
        here = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone) if zone else None)
        at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return ((at if at > here else at + timedelta(days=1)) - here).total_seconds()
    return 0.0
