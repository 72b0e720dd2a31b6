"""Parser of the lines in which aider reports its usage. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unstuck.contract import Observation

# A long line is broken at the width of a terminal.
_USAGE = re.compile(
    r"^(?:> )?Tokens:\s(?P<sent>[\d.,]{1,20}[kM]?)\ssent,(?:\s[\d.,]{1,20}[kM]?\scache\swrite,)?"
    r"(?:\s(?P<hit>[\d.,]{1,20}[kM]?)\scache\shit,)?\s(?P<received>[\d.,]{1,20}[kM]?)\sreceived\b"
    r"(?:\.\sCost:\s\$(?P<cost>\d{1,9}(?:\.\d{1,9})?)\smessage,)?",
    re.MULTILINE,
)
_FACTORS = {"k": 1_000, "M": 1_000_000}


def usage_in(printed: str) -> Iterator[Observation]:
    """Yield the usage of lines such as ``Tokens: 2.4k sent, 17 received. Cost: $0.01 message, $0.01 session.``"""
    for found in _USAGE.finditer(printed):
        tokens = max(0, _count(found["sent"]) - _count(found["hit"])) + _count(found["received"])
        yield Observation(kind="usage", tokens=tokens, cost=float(found["cost"]) if found["cost"] else None)


def _count(written: str | None) -> int:
    """Return the number in ``2.4k``; 0 for anything else."""
    number = (written or "0").replace(",", "")
    try:
        return int(float(number.rstrip("kM")) * _FACTORS.get(number[-1], 1))
    except ValueError:
        return 0
