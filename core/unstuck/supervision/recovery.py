"""When a run is opened again: what was running is not any more, and says so."""

from __future__ import annotations

from unstuck.processes import end_survivors
from unstuck.record import events as e
from unstuck.supervision.core import Core

__all__ = ["interrupt_running"]


async def interrupt_running(core: Core) -> None:
    """End what survived of a dead supervisor's agents and record each running attempt as interrupted."""
    until = core.head.mono
    attempts = [attempt for attempt in core.head.attempts.values() if attempt.is_live]
    identities = [(attempt.pid, attempt.spawned) for attempt in attempts if attempt.pid]
    if identities:
        receipt = await end_survivors(identities)
        if receipt.ended or receipt.alive:
            core.append(e.StopReceipt(ended=receipt.ended, alive=receipt.alive))
    for attempt in attempts:
        for row in core.head.open_gates():
            if row.gate.attempt == attempt.id:
                event = e.GateWithdrawn(gate=row.id, reason="the attempt has ended")
                core.append(event, task=attempt.task, attempt=attempt.id)
        # Up to its last record, which is all that is known: the clock of a machine begins anew when it is started.
        used = core.row(attempt.task).used + attempt.used(until)
        interrupted = e.AttemptInterrupted(reason="the supervisor ended", used_s=round(used, 3))
        core.append(interrupted, task=attempt.task, attempt=attempt.id)
