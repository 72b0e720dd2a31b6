"""When a run is opened again: what was running is not any more, and says so."""

from __future__ import annotations

from unstuck.processes import end_survivors
from unstuck.record import events as e
from unstuck.supervision.core import Core

__all__ = ["interrupt_running"]


async def interrupt_running(core: Core) -> None:
    """End what survived of a dead supervisor's agents and record each running attempt as interrupted."""
    running = [row for row in core.head.tasks.values() if row.state == "running"]
    attempts = [core.head.attempts[row.attempt] for row in running]
    identities = [(attempt.pid, attempt.spawned) for attempt in attempts if attempt.pid]
    if identities:
        receipt = await end_survivors(identities)
        if receipt.ended or receipt.alive:
            core.append(e.StopReceipt(ended=receipt.ended, alive=receipt.alive))
    for row in running:
        if row.gate:
            event = e.GateWithdrawn(gate=row.gate, reason="the attempt has ended")
            core.append(event, task=row.id, attempt=row.attempt)
        core.append(e.AttemptInterrupted(reason="the supervisor ended"), task=row.id, attempt=row.attempt)
