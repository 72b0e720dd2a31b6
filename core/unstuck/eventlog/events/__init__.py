"""Every event there is. The name in the log is the class name in snake case; the fields are the event's ``data``.

Events say what happened or what was decided, with the result: reading them back never diagnoses or decides anew. Those
of the error categories (``transient_error_retry`` and its kin) keep their published names and fields; ours follow the
same style. A field that a later version adds is ignored here, an event it adds is kept as :class:`Unknown`.
"""

from __future__ import annotations

from unstuck.eventlog.event import EVENTS, Event, Unknown
from unstuck.eventlog.events.clock import *  # noqa: F403
from unstuck.eventlog.events.decision import *  # noqa: F403
from unstuck.eventlog.events.gate import *  # noqa: F403
from unstuck.eventlog.events.notification import *  # noqa: F403
from unstuck.eventlog.events.run import *  # noqa: F403
from unstuck.eventlog.events.takeover import *  # noqa: F403
from unstuck.eventlog.events.task import *  # noqa: F403

__all__ = ["EVENTS", "Event", "Unknown"]
