"""Suggestions for a word that is none of the known ones."""

from __future__ import annotations

from collections.abc import Iterable

_LISTED = 12
_NEAREST = 3


def near(word: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` where a known word is near, else nothing."""
    from difflib import get_close_matches  # only a mistake needs it

    found = get_close_matches(word, known, n=1)
    return f" (did you mean `{found[0]}`?)" if found else ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` where a known word is near, else the known ones; of many, those most like it."""
    from difflib import get_close_matches

    known = list(known)
    if found := near(word, known):
        return found
    shown = known if len(known) <= _LISTED else [*get_close_matches(word, known, n=_NEAREST, cutoff=0.0), "…"]
    return f" (known: {', '.join(shown) or 'none'})"
