"""Stop of the supervisor and the agents of a run before its deletion, with a stop report."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from unstuck.contract import Receipt
from unstuck.errors import RecordError, UnstuckError
from unstuck.eventlog import events as e
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.eventlog.storage.lock import Holder
from unstuck.processes import end_survivors, helpers_done, lives, until_over
from unstuck.runs.deletion.project_files import Identity

__all__ = ["end_processes", "end_supervisor"]

_PATIENCE_S = 30.0
_RECEIPTS = Wanted(types=frozenset({"stop_receipt"}))


async def end_supervisor(holder: Holder, folder: Path) -> Receipt:
    """End the supervisor of the run in ``folder``: by SIGTERM, or by SIGKILL after 30 s. Raises UnstuckError.

    The stop report has the processes of its agents, and the supervisor itself.
    """
    before = len(_receipts(folder))
    how = await _ended(holder)
    ended = [process for receipt in _receipts(folder)[before:] for process in receipt.ended]
    return Receipt(ended=(*ended, (holder.pid, holder.started, how)))


async def _ended(holder: Holder) -> str:
    """End the supervisor; return how it ended."""
    for number, how in ((signal.SIGTERM, "terminated"), (signal.SIGKILL, "killed")):
        with suppress(ProcessLookupError):
            os.kill(holder.pid, number)
        if await until_over(holder.pid, lambda: not lives(holder.pid, holder.started), _PATIENCE_S):
            return how
    raise UnstuckError(f"process {holder.pid}, which works on run {holder.run}, does not end")


async def end_processes(identities: Collection[Identity]) -> Receipt:
    """End orphans, agents without a supervisor. Raises UnstuckError where one does not end."""
    if not identities:
        return Receipt()
    await helpers_done(identities)
    receipt = await end_survivors(identities)
    alive = [f"{pid}" for pid, start in {*receipt.alive, *identities} if lives(pid, start)]
    if alive:
        raise UnstuckError(f"would not end: process {', '.join(alive)}; nothing was deleted")
    return receipt


def _receipts(folder: Path) -> list[e.StopReceipt]:
    """Return the stop reports of an event log, up to its damage if it has any."""
    found: list[e.StopReceipt] = []
    with suppress(RecordError):
        for record in RunReader(folder).records(_RECEIPTS):
            if isinstance(record.event, e.StopReceipt):
                found.append(record.event)
    return found
