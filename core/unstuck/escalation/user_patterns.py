"""Whether a user's pattern is about a failure. Pure."""

from __future__ import annotations

import re

__all__ = ["matches"]


def matches(pattern: str, headline: str) -> bool:
    """Whether ``pattern`` is found in ``headline``; one that is no regular expression is compared as text."""
    try:
        return re.search(pattern, headline) is not None
    except re.error:
        return pattern in headline
