"""Growth of a change whose failure stays: a sign that its approach does not fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

ATTEMPTS = 3
FACTOR = 2
LINES = 20


def grows(sizes: Sequence[int]) -> bool:
    """Return whether a change at least doubled, by 20 lines, over its last three attempts. ``sizes`` are in lines."""
    last = sizes[-ATTEMPTS:]
    rising = all(one < two for one, two in pairwise(last))
    return len(last) == ATTEMPTS and rising and last[-1] >= max(FACTOR * last[0], last[0] + LINES)


def growth(sizes: Sequence[int]) -> str:
    return f"the change grows ({', '.join(map(str, sizes[-ATTEMPTS:]))} lines) and the failure stays"
