"""Event of a notification."""

from __future__ import annotations

from typing import Literal

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = ["NotificationSent"]


class NotificationSent(Event):
    """A notification about ``tasks`` was sent while the terminal had no focus. No tasks means the whole run.

    ``way`` is ``bell``, ``osc9``, ``osc99``, ``osc777`` or ``command``.
    """

    kind: Literal["needs_you", "resolved", "run"] = "needs_you"
    way: str = ""
    tasks: tuple[str, ...] = ()
    text: Clean = Clean("")
