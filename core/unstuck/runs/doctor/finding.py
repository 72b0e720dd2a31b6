"""Finding: one line of a check-up."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A checked item and its value. ``ok`` is off for an obstacle, and ``mend`` is its remedy."""

    what: str
    value: str
    ok: bool = True
    mend: str = ""
