"""Similarity of approaches by their keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from unstuck.arguments import checked

STOP_WORDS = frozenset({"with", "using", "the", "a", "an", "and", "or", "but", "in", "on", "at", "to", "for", "trying"})
WORD = re.compile(r"[a-z0-9_]+")
FILLER = frozenset(
    {"i", "will", "am", "is", "are", "be", "now", "then", "still", "ll", "m", "my", "it", "this", "that", "of"}
)
SUFFIX = re.compile(r"(?:ings?|ations?|ions?|e[sd]|[esd])$")
SIMILAR = 0.3
ATTEMPTS = 3
ENOUGH = 2


def keywords(approach: str) -> frozenset[str]:
    """Return the lower-case words of an approach without stop words."""
    return frozenset(WORD.findall(approach.lower())) - STOP_WORDS


def stems(text: str) -> frozenset[str]:
    """Return the keywords of a text without fillers and endings."""
    return frozenset(map(_stem, keywords(text) - FILLER))


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    return SUFFIX.sub("", word) if len(word) > 4 else word


def similarity(one: str, two: str) -> float:
    """Jaccard similarity of two approaches' keywords, 0.0 to 1.0; 0.0 where one has no keywords."""
    first, second = keywords(one), keywords(two)
    return len(first & second) / len(first | second) if first and second else 0.0


@checked
def is_circular_fix(approach: str, history: Iterable[str]) -> bool:
    """Return whether at least two of the last three approaches in ``history`` (oldest first) resemble this one."""
    last = list(history)[-ATTEMPTS:]
    return sum(similarity(approach, earlier) > SIMILAR for earlier in last) >= ENOUGH
