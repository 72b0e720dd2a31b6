"""Suggestions for a word that is none of the known ones."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(word: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` where a known word is near, else the known ones."""
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(word, known := list(known), n=1)
    return f" (did you mean `{near[0]}`?)" if near else f" (known: {', '.join(known[:12]) or 'none'})"
