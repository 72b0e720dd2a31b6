"""Regular expressions of users and projects. RE2 matches them in linear time, whatever they look like."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import Pattern

LARGEST_PROGRAM = 1 << 17
"""Bytes of memory for one expression. It bounds the steps per character of text."""


class InvalidPattern(ValueError):
    """The text is no regular expression that the engine takes."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern[str]:
    """Return ``pattern`` compiled. Raises InvalidPattern, also for look-arounds and back-references."""
    import re2  # costs milliseconds, and few projects have patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = LARGEST_PROGRAM
    try:
        found: Pattern[str] = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        raise InvalidPattern(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
    except UnicodeEncodeError:
        raise InvalidPattern("holds half a character") from None
    return found


def matches(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` is found in ``text``. An invalid pattern is compared as text."""
    try:
        return compiled(pattern).search(text.encode("utf-8", "replace").decode()) is not None
    except InvalidPattern:
        return pattern in text
