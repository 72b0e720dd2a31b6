"""Events of a work tree that a person takes into their own hands, and gives back."""

from __future__ import annotations

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = ["HandedBack", "HandedOver"]


class HandedOver(Event):
    """A person works in the task's tree from now on; ``checkpoint`` holds its files as they were.

    The agent stands still at ``gate``. ``others`` are the tasks whose agents may change the same tree meanwhile.
    """

    gate: str
    checkpoint: str
    others: tuple[str, ...] = ()


class HandedBack(Event):
    """The person has left the tree: so many ``files`` are different from ``checkpoint`` on.

    The first of them stand in ``changes``, a line each, what they have more and less in ``diff``; ``trouble`` says why
    that could not be found out.
    """

    gate: str
    checkpoint: str
    files: int = 0
    changes: tuple[str, ...] = ()
    diff: Clean = Clean("")
    trouble: Clean = Clean("")
