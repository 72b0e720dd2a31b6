"""Wake-ups of those who wait for a change of a task, an attempt, a question or a part of the run."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
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
        self._lines: defaultdict[str, dict[asyncio.Event, None]] = defaultdict(dict)

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
        if not subjects:
            for name in self._lines:
                while self._lines[name]:
                    self.wake_first(name)

    @contextmanager
    def line(self, name: str) -> Iterator[asyncio.Event]:
        """A place at the end of the line ``name``. Its event is set when its turn has come.

        A waiter that does not use its turn passes it on with ``wake_first``.
        """
        turn = asyncio.Event()
        self._lines[name][turn] = None
        try:
            yield turn
        except BaseException:
            if turn.is_set():
                self.wake_first(name)
            raise
        finally:
            self._lines[name].pop(turn, None)

    def wake_first(self, name: str) -> None:
        """Give the turn to the first of the line ``name``."""
        for turn in self._lines[name]:
            del self._lines[name][turn]
            turn.set()
            return

    def wake_lines(self) -> None:
        """Give the turn to the first of each line."""
        for name in self._lines:
            self.wake_first(name)
