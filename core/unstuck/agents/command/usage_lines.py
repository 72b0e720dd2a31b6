"""Parser of the lines in which aider reports its usage. Pure."""

from __future__ import annotations

import re

from unstuck.contract import Observation

_USAGE = re.compile(
    r"(?:> )?Tokens: (?P<sent>[\d.,]+[kM]?) sent,(?: [\d.,]+[kM]? cache write,)?(?: (?P<hit>[\d.,]+[kM]?) cache hit,)?"
    r" (?P<received>[\d.,]+[kM]?) received\.?(?: Cost: \$(?P<cost>\d+(?:\.\d+)?) message, .*)?"
)
_FACTORS = {"k": 1_000, "M": 1_000_000}


class UsageLines:
    """Reads usage from lines such as ``Tokens: 2.4k sent, 17 received. Cost: $0.01 message, $0.01 session.``

    A long one is broken at the width of a terminal.
    """

    def __init__(self) -> None:
        self._begun = ""

    def read(self, line: str) -> Observation | None:
        """Return the usage that ends in ``line``; None for any other line."""
        begun, self._begun = self._begun, ""
        if not begun and not line.startswith(("Tokens: ", "> Tokens: ")):
            return None
        whole = f"{begun} {line}".strip()
        if not begun and not whole.endswith(("session.", "received.")):
            self._begun = whole
            return None
        found = _USAGE.fullmatch(whole)
        if found is None:
            return None
        tokens = max(0, _count(found["sent"]) - _count(found["hit"])) + _count(found["received"])
        return Observation(kind="usage", tokens=tokens, cost=float(found["cost"]) if found["cost"] else None)


def _count(written: str | None) -> int:
    """Return the number in ``2.4k``; 0 for anything else."""
    number = (written or "0").replace(",", "")
    try:
        return int(float(number.rstrip("kM")) * _FACTORS.get(number[-1], 1))
    except ValueError:
        return 0
