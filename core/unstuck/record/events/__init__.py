"""Every event there is. The name in the log is the class name in snake case; the fields are the event's ``data``.

Events say what happened or what was decided, with the result: reading them back never diagnoses or decides anew. Those
of the error categories (``transient_error_retry`` and its kin) keep their published names and fields; ours follow the
same style. A field that a later version adds is ignored here, an event it adds is kept as :class:`Unknown`.
"""

from __future__ import annotations

from unstuck.record.event import EVENTS, Event, Unknown
from unstuck.record.events.clock import *  # noqa: F403
from unstuck.record.events.decision import *  # noqa: F403
from unstuck.record.events.gate import *  # noqa: F403
from unstuck.record.events.hands import *  # noqa: F403
from unstuck.record.events.notice import *  # noqa: F403
from unstuck.record.events.run import *  # noqa: F403
from unstuck.record.events.task import *  # noqa: F403

__all__ = ["EVENTS", "Event", "Unknown"]
