"""Excerpt of a session: what was said and done around a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Literal

from unstuck.contract import Observation
from unstuck.history.locations import Source
from unstuck.history.session_reader import SessionReader
from unstuck.text import Clean

BEFORE, AFTER = 300, 300
"""Entries before the step, and after it."""

EntryKind = Literal["asked", "said", "call", "passed", "failed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, a call or a result. ``step`` is the number of the next result, or of this one."""

    step: int
    at: float
    kind: EntryKind
    text: Clean
    agent_id: str = ""
    exit_code: int | None = None


def excerpt_of(source: Source, step: int, given_up: Callable[[], bool] = lambda: False) -> list[Entry]:
    """Return the entries around ``step``; none once it is ``given_up``. Reads the session up to there.

    Raises OSError, ForeignFile.
    """
    entries = takewhile(lambda entry: not given_up(), _entries(source))
    before: deque[Entry] = deque(maxlen=BEFORE)
    for entry in entries:
        before.append(entry)
        if entry.step >= step and entry.kind in ("passed", "failed"):
            break
    return [*before, *islice(entries, AFTER)]


def _entries(source: Source) -> Iterator[Entry]:
    step = 0
    for observation in SessionReader(source).observations():
        kind = _kind(observation)
        if kind is not None:
            yield Entry(step, observation.at, kind, observation.text, observation.agent_id, observation.exit_code)
        step += kind in ("passed", "failed")


def _kind(observation: Observation) -> EntryKind | None:
    match observation.kind:
        case "message":
            return "asked" if observation.role == "user" else "said"
        case "action":
            return "call"
        case "success":
            return "passed"
        case "failure":
            return "failed"
    return None
