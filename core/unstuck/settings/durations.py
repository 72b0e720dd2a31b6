"""Durations as people write them: ``90``, ``15m``, ``1h30m``, ``2m 10s``, ``250ms``."""

from __future__ import annotations

import re

from unstuck.settings.messages import shown

LONGEST_S = 366 * 86_400.0

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_PART = re.compile(rf"({_NUMBER})\s?(ms|[dhms])\s?")
_DURATION = re.compile(rf"[+-]?{_NUMBER}|-?(?:{_PART.pattern})+")
_MOST_CHARACTERS = 64


def parse_duration(text: str | float) -> float:
    """Seconds. A bare number is seconds; units run from large to small, each at most once.

    Raises ValueError, with a sentence that says what is allowed, also for zero, less, and more than 366 days.
    """
    seconds = _seconds(text)
    if seconds <= 0:
        raise ValueError(f"must be more than zero, not {shown(text)}")
    if not seconds <= LONGEST_S:
        raise ValueError(f"must be at most 366 days, not {shown(text)}")
    return seconds


def _seconds(text: str | float) -> float:
    if isinstance(text, int | float) and not isinstance(text, bool):
        # An integer may be too large to become a float.
        return float(min(max(text, -1.0), 2 * LONGEST_S))
    written = text.strip().lower() if isinstance(text, str) and len(text) <= _MOST_CHARACTERS else ""
    if not _DURATION.fullmatch(written):
        raise _not_a_duration(text)
    parts = _PART.findall(written)
    if not parts:
        return float(written)
    sizes = [_UNITS[unit] for _, unit in parts]
    if sizes != sorted(set(sizes), reverse=True):
        raise _not_a_duration(text)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if written.startswith("-") else total


def _not_a_duration(text: object) -> ValueError:
    return ValueError(f"must be a duration such as 90 (seconds), 15m, 1h30m, 2m 10s or 250ms, not {shown(text)}")
