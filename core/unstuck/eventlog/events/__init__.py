"""All event classes. The name in the log is the class name in snake case; the fields are the event's ``data``.

An event records what happened or what was decided, with the result. Reading a log never diagnoses or decides again.
The events of the error categories, such as ``transient_error_retry``, keep their published names and fields. Fields of
a later version are ignored; events of a later version are kept as :class:`Unknown`.
"""

from __future__ import annotations

from unstuck.eventlog.event import EVENTS, Event, Unknown
from unstuck.eventlog.events.clock import *  # noqa: F403
from unstuck.eventlog.events.decision import *  # noqa: F403
from unstuck.eventlog.events.gate import *  # noqa: F403
from unstuck.eventlog.events.run import *  # noqa: F403
from unstuck.eventlog.events.task import *  # noqa: F403

__all__ = ["EVENTS", "Event", "Unknown"]
