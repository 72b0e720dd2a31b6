"""A host that takes no new task, because a person says so."""

from __future__ import annotations

from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.session import Fenced
from unstuck.fleet.shared_plan.entries import DrainEntry, OfferEntry, subject
from unstuck.fleet.shared_plan.placement import Placement


async def drain_host(credentials: Credentials, host: str, *, drained: bool) -> str:
    """Say that ``host`` is drained, or is not any more; return a line about it. Raises FleetError."""
    async with Placement(credentials).table() as table:
        while True:
            try:
                await table.write(subject("drain", host), DrainEntry(drained=drained))
                break
            except Fenced:
                continue
        known = table.value(subject("offer", host), OfferEntry) is not None
    said = f"{host} takes no new task, and finishes those that it has" if drained else f"{host} takes tasks again"
    return said if known else f"{said}; no host of this name has offered anything yet"
