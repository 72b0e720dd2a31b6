"""Whose processor time it is, the screen's or the run's: told callback by callback, while both share one event loop.

Everything of the screen runs in a context that knows Textual's app, in one of Textual's threads, or as a listener of
the run. What is neither's (``rest``) has to be next to nothing, or something was forgotten.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from textual._context import active_app

__all__ = ["MeteredLoop", "Spent", "metering", "write"]

RUNS_THREADS = ("unstuck-log",)
SCREENS_THREADS = ("textual-input", "textual-output", "terminal-output")
_run_handle = asyncio.Handle._run


@dataclass(frozen=True)
class Spent:
    """Seconds of processor time: of a ``process``, and of that the ``screen``'s part and the ``run``'s."""

    process: float
    screen: float
    run: float

    def since(self, before: Spent) -> Spent:
        return Spent(self.process - before.process, self.screen - before.screen, self.run - before.run)

    @property
    def rest(self) -> float:
        return self.process - self.screen - self.run


class MeteredLoop(asyncio.SelectorEventLoop):
    """An event loop that keeps account of whom it works for.

    The loop's own work in a turn is the screen's as soon as any callback of the screen ran in that turn.
    """

    def __init__(self) -> None:
        super().__init__()
        self._screens = self._runs = 0.0
        self._in_threads = {True: 0.0, False: 0.0}
        self._is_screens_turn = False

    def spent(self) -> Spent:
        """Return the use so far. Call it from a callback of the run: that callback counts when it is over."""
        threads = {thread.name: _used_by(thread) for thread in threading.enumerate()}
        screen = sum(threads.get(name, 0.0) for name in SCREENS_THREADS) + self._in_threads[True]
        run = sum(threads.get(name, 0.0) for name in RUNS_THREADS) + self._in_threads[False]
        return Spent(time.process_time(), self._screens + screen, self._runs + run)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        of_screen = active_app.get(None) is not None

        def metered() -> Any:
            begun = time.thread_time()
            try:
                return func(*args)
            finally:
                self._in_threads[of_screen] += time.thread_time() - begun

        return super().run_in_executor(executor, metered)

    def listening(self, listener: Callable[[Any], None]) -> Callable[[Any], None]:
        """``listener``, which the run calls and the screen owns."""

        def metered(record: Any) -> None:
            begun = time.thread_time()
            listener(record)
            self._screens += time.thread_time() - begun

        return metered

    def run_handle(self, handle: asyncio.Handle) -> None:
        if active_app in handle._context:
            self._is_screens_turn = True
            _run_handle(handle)
            return
        begun, before = time.thread_time(), self._screens
        _run_handle(handle)
        self._runs += time.thread_time() - begun - (self._screens - before)

    def _run_once(self) -> None:
        begun, before = time.thread_time(), self._screens + self._runs
        self._is_screens_turn = False
        super()._run_once()
        own = time.thread_time() - begun - (self._screens + self._runs - before)
        if self._is_screens_turn:
            self._screens += own
        else:
            self._runs += own


def write(file: str, parts: Mapping[str, Iterable[Spent]]) -> None:
    """Write the seconds of each part as JSON."""
    Path(file).write_text(json.dumps({name: [*map(astuple, seconds)] for name, seconds in parts.items()}))


@contextmanager
def metering() -> Iterator[None]:
    """Loops of this kind see every callback of theirs."""
    asyncio.Handle._run = lambda handle: handle._loop.run_handle(handle)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        asyncio.Handle._run = _run_handle  # type: ignore[method-assign]


def _used_by(thread: threading.Thread) -> float:
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident)) if thread.ident is not None else 0.0
