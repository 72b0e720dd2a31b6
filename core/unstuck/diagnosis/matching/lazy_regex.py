"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class Lazy:
    """Regular expression with the methods of :class:`re.Pattern` that are used here."""

    match: Callable[[str], re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]
    fullmatch: Callable[[str], re.Match[str] | None]
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
    """Yield every line of ``text`` that contains ``part``, in order."""
    at = text.find(part)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        if end < 0:
            yield text[start:]
            return
        yield text[start:end]
        at = text.find(part, end)
