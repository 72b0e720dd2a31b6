"""Which run of a project is live, as far as its lock says."""

from __future__ import annotations

from unstuck.processes import is_alive
from unstuck.record.journal import LOG_NAME
from unstuck.record.lock import Holder, read_holder
from unstuck.workspace.project import Project

__all__ = ["live_run"]


def live_run(place: Project) -> Holder | None:
    """Who works a run here now; None where nobody does, or whoever holds the lock works no run.

    A holder on another machine is taken at its word: its processes cannot be seen from here.
    """
    holder = read_holder(place.home / "lock")
    if holder is None or not (place.runs / holder.run / LOG_NAME).exists():
        return None
    return holder if holder.host or is_alive(holder.pid, holder.started) else None
