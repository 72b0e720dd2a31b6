"""Events of a takeover: a person edits a worktree by hand."""

from __future__ import annotations

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = ["HandedBack", "HandedOver"]


class HandedOver(Event):
    """A takeover began: a person edits the task's worktree by hand. ``checkpoint`` holds the files from before.

    The agent waits at the question ``gate``. ``others`` are tasks whose agents may change the same worktree meanwhile.
    """

    gate: str
    checkpoint: str
    others: tuple[str, ...] = ()


class HandedBack(Event):
    """A takeover ended with ``files`` changed since ``checkpoint``.

    ``changes`` names the first of them, one per line, and ``diff`` holds their differences. ``trouble`` is the reason
    if the differences are unknown.
    """

    gate: str
    checkpoint: str
    files: int = 0
    changes: tuple[str, ...] = ()
    diff: Clean = Clean("")
    trouble: Clean = Clean("")
