"""Regular expressions that are compiled when they are first used: an import needs none, an output few of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Lazy", "kinds_of_lines", "lines_with"]

# Below this many characters searching costs less than making the kinds.
_SHORT = 4_096
_WITHOUT_DIGITS = dict.fromkeys(map(ord, "0123456789"))


class Lazy:
    """A regular expression by its text and flags; it has the methods of :class:`re.Pattern` that are used here."""

    match: Callable[[str], re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]
    findall: Callable[[str], list[Any]]
    finditer: Callable[[str], Iterator[re.Match[str]]]
    sub: Callable[..., str]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method


def lines_with(text: str, part: str) -> Iterator[str]:
    """Every line of ``text`` that holds ``part``, in order: a jump from one to the next, not a look at each line."""
    at = text.find(part)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        if end < 0:
            yield text[start:]
            return
        yield text[start:end]
        at = text.find(part, end)


def kinds_of_lines(text: str) -> str:
    """Each kind of line of ``text`` once, after a line feed: without digits, in which most lines of a log differ.

    Whatever part without digits is in a line of ``text`` is in here too, and searching here is many times cheaper.
    """
    if len(text) < _SHORT:
        return f"\n{text}"
    return "\n" + "\n".join(dict.fromkeys(text.translate(_WITHOUT_DIGITS).split("\n")))
