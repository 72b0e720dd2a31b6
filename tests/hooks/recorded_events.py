"""Records of a supervisor, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from unstuck.eventlog.envelope import Record
from unstuck.supervision.run.supervisor import Supervisor


class RecordedEvents:
    """Every record of ``supervisor``'s run from now on; ``patience`` is in seconds."""

    patience = 30.0

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.records: list[Record] = []
        self.moved = asyncio.Event()
        supervisor.core.journal.on_append(self._note)

    def _note(self, record: Record) -> None:
        self.records.append(record)
        self.moved.set()

    async def until(self, seen: Callable[[], object]) -> None:
        """Wait for a record after which ``seen()`` holds."""
        async with asyncio.timeout(self.patience):
            while not seen():
                self.moved.clear()
                await self.moved.wait()

    def of(self, event: type[Any]) -> list[Any]:
        """The events of this type so far."""
        return [record.event for record in self.records if isinstance(record.event, event)]
