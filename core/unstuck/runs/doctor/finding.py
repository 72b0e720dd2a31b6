"""One line of a check-up."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    """What was looked at and what was found. ``ok`` is off where it is in the way; ``mend`` is what helps then."""

    what: str
    value: str
    ok: bool = True
    mend: str = ""
