"""Writer of the saved rows of an open run: the process that writes a log also writes what a look at it prints."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from unstuck.clock import Clock
from unstuck.errors import RecordError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.log.log_format import START
from unstuck.eventlog.state import copied
from unstuck.rows.saved_rows import save_rows

_PAUSE_S = 0.2
_SHARE = 50
"""Least pause after a save, in times of what it took: the rows of many tasks are saved less often."""


class RowWriter:
    """Saves the rows of the run of ``journal`` soon after each record, until :meth:`close`."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._stale = False
        self._closing = asyncio.Event()
        self._work: asyncio.Future[None] | None = None
        journal.on_durable(self._changed)

    def _changed(self, record: Record) -> None:
        self._stale = True
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        while self._stale and not self._closing.is_set():
            began = time.monotonic()
            await self._save()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), max(_PAUSE_S, _SHARE * (time.monotonic() - began)))

    async def _save(self) -> None:
        self._stale = False
        end, state = self._journal.end, copied(self._journal.durable)
        if end == START:
            return
        with suppress(RecordError, TypeError, ValueError):  # values of an embedder that only the log can encode
            await asyncio.to_thread(save_rows, self._journal.folder, state, end, self._clock.now())

    async def close(self) -> None:
        """Save the last rows. Call it once the journal is closed."""
        self._closing.set()
        if self._work is not None:
            await self._work
        await self._save()
