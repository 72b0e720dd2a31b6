"""Which run of a project is live, as far as its lock says."""

from __future__ import annotations

from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.storage.lock import Holder, read_holder
from unstuck.runs.queries.run_list import is_live
from unstuck.workspace.project import Project

__all__ = ["live_run"]


def live_run(place: Project) -> Holder | None:
    """Who works a run here now; None where nobody does, or whoever holds the lock works no run."""
    holder = read_holder(place.home / "lock")
    if holder is None or not (place.runs / holder.run / LOG_NAME).exists():
        return None
    return holder if is_live(place, holder.run) else None
