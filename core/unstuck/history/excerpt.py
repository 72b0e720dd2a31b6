"""Excerpt of a session: what was said and done around a step."""

from __future__ import annotations

from collections.abc import Callable

from unstuck.history.entries import MOST, Entries, Entry
from unstuck.history.locations import Source
from unstuck.history.session_reader import SessionReader

BEFORE, AFTER = 300, 300
"""Entries before the step, and after it."""


def excerpt_of(
    source: Source, step: int | None = None, given_up: Callable[[], bool] = lambda: False, *, root: str = ""
) -> tuple[Entry, ...]:
    """Return the entries around ``step``, else the last ones, as far as it was not ``given_up``.

    Paths below ``root`` are shown without it. Raises OSError, ForeignFile.
    """
    reader, entries, last = SessionReader(source), Entries(most=MOST if step is None else BEFORE + AFTER, root=root), 0
    for observation in reader.observations():
        if given_up():
            break
        entries.add(observation)
        last = last or (entries.total + AFTER if step is not None and entries.steps > step else 0)
        if last and entries.total >= last:
            break
    return entries.kept
