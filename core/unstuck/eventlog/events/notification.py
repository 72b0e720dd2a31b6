"""Events of what a person was told who did not look at the screen."""

from __future__ import annotations

from typing import Literal

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = ["NotificationSent"]


class NotificationSent(Event):
    """Somebody away from the screen was told about ``tasks``; none of them where it is about the whole run.

    ``way`` is how: ``bell``, ``osc9``, ``osc99``, ``osc777`` or ``command``.
    """

    kind: Literal["needs_you", "resolved", "run"] = "needs_you"
    way: str = ""
    tasks: tuple[str, ...] = ()
    text: Clean = Clean("")
