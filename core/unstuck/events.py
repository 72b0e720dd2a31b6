"""The events of a run, for programs that read them.

A record holds its event, and a pattern tells which one it is::

    async for record in supervisor.events():
        match record.event:
            case CheckFinished(result="failed"):
                print(record.task_id, "is not done yet")
            case GateOpened(gate=id, type=kind):
                print(id, kind)
"""

from unstuck.eventlog.event import EVENTS as EVENTS
from unstuck.eventlog.event import Event as Event
from unstuck.eventlog.event import Unknown as Unknown
from unstuck.eventlog.events.clock import *  # noqa: F403
from unstuck.eventlog.events.decision import *  # noqa: F403
from unstuck.eventlog.events.gate import *  # noqa: F403
from unstuck.eventlog.events.run import *  # noqa: F403
from unstuck.eventlog.events.task import *  # noqa: F403
