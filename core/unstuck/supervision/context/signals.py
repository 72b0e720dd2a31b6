"""Wake-ups of those who wait for a change of a task, an attempt, a question or a part of the run."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from weakref import WeakValueDictionary


class Subject(Enum):
    """The kinds of things that change; those after ``TAKEOVER`` exist once in a run and have no id."""

    TASK = auto()
    ATTEMPT = auto()
    GATE = auto()
    TAKEOVER = auto()
    BASELINE = auto()
    COORDINATOR = auto()
    DELIVERY = auto()
    DISK_SPACE = auto()
    RECOVERY = auto()
    WATCH = auto()


class Signals:
    """One event per subject, held by those who wait for it and set once, at its next change.

    Take the event before looking at the state, and a new one after every wake-up: then no change is missed.
    """

    def __init__(self) -> None:
        self._next: WeakValueDictionary[tuple[Subject, str], asyncio.Event] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._next)

    def next(self, subject: Subject, id: str = "") -> asyncio.Event:
        """The event that is set at the next change of the subject."""
        event = self._next.get((subject, id))
        if event is None:
            event = self._next[subject, id] = asyncio.Event()
        return event

    def wake(self, subject: Subject, id: str = "") -> None:
        """Wake those who wait for this subject."""
        event = self._next.pop((subject, id), None)
        if event is not None:
            event.set()

    def wake_all(self, *subjects: Subject) -> None:
        """Wake those who wait for anything of these kinds, or of any kind."""
        for subject, id in [key for key in self._next if not subjects or key[0] in subjects]:
            self.wake(subject, id)
