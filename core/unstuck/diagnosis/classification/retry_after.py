"""Retry times that services ask for: a number of seconds, a time of day, or a spent quota."""

from __future__ import annotations

import re

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.matching.prefilter import IndexedText

_LONGEST = 2_000
_NUMBER = r"\d{1,6}(?:\.\d{1,6})?"
_UNIT = r"(?:ms|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)(?![a-z])"
_AFTER = Lazy(
    r"(?:retry[-_ ]?after|retrydelay|retry in|try again in|resets?[ _](?:in|after))(?:[-_ ]?sec(?:ond)?s)?\W{1,6}"
    rf"((?:{_NUMBER} ?{_UNIT}|{_NUMBER}(?![A-Za-z.\d]))(?:[ ,]{{0,2}}(?:and )?{_NUMBER} ?{_UNIT}){{0,3}})"
)
_AFTER_PARTS = ("etry", "ry again in", "eset")
_PART = Lazy(rf"({_NUMBER}) ?([a-z]{{0,2}})", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = Lazy(
    rf"(?:resets?|try again)(?: (?:at|on))? (?:({'|'.join(_MONTHS)})[a-z]{{0,6}}\.? (\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:, \d{4})?,? (?:at )?)?"
    r"(\d{1,2})(?::([0-5]\d))? ?([ap]m)\b(?: \(([A-Za-z_]{1,30}(?:/[A-Za-z_]{1,30}){0,2})\))?",
    re.IGNORECASE,
)
_USED_UP = Lazy(
    r"(?:usage|hour|daily|weekly|monthly|session) limit|hit your limit|quota (?:used up|will reset)|insufficient_quota"
    r"|exceeded your (?:current )?quota"
)
_EPOCH = Lazy(r"(?:limit reached\||\breset(?:s|s?_?[aA]t)\"?: ?)(\d{10})\b")
_STAMP = Lazy(
    r"\breset(?:s|s?_at|sAt|_time)?\"?:? (?:at )?\"?"
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))"
)


def retry_times(seen: IndexedText, headline: str) -> dict[str, str]:
    """Return ``retry_after`` in seconds, ``resets_at`` (the end of a limit) and ``used_up``, as far as known."""
    spent = _is_used_up(headline)
    known = {
        "retry_after": _retry_after(seen),
        "resets_at": _resets_at(seen),
        "used_up": "yes" if spent else "",
    }
    return {name: value for name, value in known.items() if value}


def _retry_after(seen: IndexedText) -> str:
    """Return the seconds that a service asks for, from ``41``, ``2h15m30s`` or ``3 hours 12 minutes``."""
    for part in _AFTER_PARTS:
        for line in lines_with(seen.text, part):
            if wait := _AFTER.search(line[:_LONGEST].lower()):
                return f"{sum(_seconds(*part.groups()) for part in _PART.finditer(wait[1])):g}"
    return ""


def _seconds(number: str, unit: str) -> float:
    unit = unit.lower() or "s"
    return float(number) * _SECONDS.get(unit, _SECONDS.get(unit[0], 1.0))


def _resets_at(seen: IndexedText) -> str:
    """Return the end of a limit: seconds since 1970, an ISO 8601 time, or ``10-06 15:00 Europe/Zagreb``.

    The last has a date and a time zone only where they are named.
    """
    for part in ("eset", "ry again", "limit reached|"):
        for line in lines_with(seen.text, part):
            line = line[:_LONGEST]
            if exact := _EPOCH.search(line) or _STAMP.search(line):
                return exact[1]
            if (time := _TIME.search(line)) and 1 <= int(time[3]) <= 12:
                hour = int(time[3]) % 12 + (12 if time[5].lower() == "pm" else 0)
                day = f"{_MONTHS.index(time[1].lower()) + 1:02}-{int(time[2]):02} " if time[1] else ""
                return f"{day}{hour:02}:{time[4] or '00'} {time[6] or ''}".strip()
    return ""


def _is_used_up(text: str) -> bool:
    """Return whether a quota is spent, unlike a limit of calls at once, which a wait of seconds restores."""
    return ("imit" in text or "uota" in text) and _USED_UP.search(text[:_LONGEST].lower()) is not None
