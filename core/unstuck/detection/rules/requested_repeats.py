"""Repetitions that a person asks for, such as *run it ten times*: these are no loop."""

from __future__ import annotations

import re

MOST = 1_000

_SPELT = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_WORDS = {word: number for number, word in enumerate(_SPELT.split(), 1)} | {
    "dozen": 12,
    "fifty": 50,
    "hundred": 100,
    "few": 5,
    "several": 10,
    "many": 20,
}
_TIMES = re.compile(
    rf"\b(\d{{1,4}}|{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?: more| consecutive)?"
    r"(?: ?x\b| (?:times|runs|iterations|rounds|attempts|repetitions|tries)\b)",
    re.IGNORECASE,
)


def times_asked_for(message: str) -> int:
    """Return the largest number of repetitions that ``message`` asks for; 0 where it names none."""
    numbers = (_WORDS.get(found.lower()) or int(found) for found in _TIMES.findall(message))
    return min(MOST, max(numbers, default=0))
