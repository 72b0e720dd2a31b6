"""Reset of a quota: the seconds until it is available again."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_LONGEST = 8 * 86400.0


def seconds_until(said: str, now: float) -> float:
    """The seconds from ``now`` (since 1970) to what a diagnosis has as ``resets_at``; 0.0 where that says nothing.

    A time of day is the next one in the time zone it names, or in this machine's own; a date is that of this year or
    the next. Nothing lies further off than eight days.
    """
    left = 0.0
    with suppress(ValueError, OSError, KeyError):
        left = _left(said, now)
    return left if 0 < left < _LONGEST else 0.0


def _left(said: str, now: float) -> float:
    if said.isdigit():
        return float(said) - now
    if said[10:11] == "T":
        return datetime.fromisoformat(said).timestamp() - now
    date, _, rest = said.partition(" ") if said[2:3] == "-" else ("", "", said)
    time, _, zone = rest.partition(" ")
    hour, minute = (int(part) for part in time.split(":"))
    here = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone) if zone else None)
    at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if date:
        month, day = (int(part) for part in date.split("-"))
        at = at.replace(month=month, day=day)
        return ((at if at > here else at.replace(year=at.year + 1)) - here).total_seconds()
    return ((at if at > here else at + timedelta(days=1)) - here).total_seconds()
