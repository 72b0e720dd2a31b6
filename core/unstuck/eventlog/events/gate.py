"""Events of questions and their answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from unstuck.contract import GateTypeName, Scope, Standing
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.event import Event, Object
from unstuck.text import Clean

__all__ = [
    "AnswerDelivered",
    "AnswerSent",
    "GateAnswered",
    "GateOpened",
    "GateWithdrawn",
    "HoldRefused",
    "PermissionRevoked",
    "TimerCancelled",
    "TimerStarted",
]


class GateOpened(Event):
    """A question was asked. ``standing`` is what a live agent does meanwhile, since ``stood_s`` seconds.

    In ``context``, ``checkpoint`` (for a permission ``saved``) names the checkpoint of the files. ``not_saved`` is the
    reason if there is none.
    """

    gate: str
    type: GateTypeName
    key: str = ""
    context: Object = Field(default_factory=dict)
    choices: tuple[str, ...] = ()
    attempt_id: str = ""
    report: str = ""
    standing: Standing = ""
    stood_s: float = 0.0


class GateAnswered(Event):
    """A question was answered. ``effect`` is what happens to the task; ``rule`` is the answer rule that was used.

    ``via`` is how the answer came in: ``screen``, ``attached_screen``, ``page``, ``command`` (to a live run), ``file``
    (into the log of a run that is not live), ``socket`` (of another program), ``program`` (that has imported Unstuck),
    ``fleet:WHO`` (a screen on another machine, with the name that it gave), ``option``, ``rule`` or ``timer``. It is
    empty in logs of earlier versions.
    """

    gate: str
    choice: str
    text: Clean = Clean("")
    number: float | None = None
    scope: Scope = "once"
    effect: Literal[
        "prepare", "skipped", "abandoned", "recheck", "integrate", "go_on", "tell", "stop", "remediate", "halt"
    ]
    rule: int | None = None
    climb: Climb | None = None
    via: str = ""


class TimerStarted(Event):
    """A countdown began: the user settings answer the question with ``choice`` after ``seconds``."""

    gate: str
    seconds: float
    choice: str


class TimerCancelled(Event):
    """A person is present. The question waits without a time limit."""

    gate: str


class GateWithdrawn(Event):
    """A question was withdrawn because its cause is gone."""

    gate: str
    reason: str


class PermissionRevoked(Event):
    """A person took back a permission rule that an answer had given. A later answer may give it again."""

    rule: Clean


class AnswerSent(Event):
    """An answer was sent to a live attempt, in reply to ``call`` of the agent process ``incarnation``."""

    gate: str
    call: str = ""
    incarnation: str = ""


class AnswerDelivered(Event):
    """The agent has received the answer."""

    gate: str


class HoldRefused(Event):
    """A held call was refused before the agent's own limit ended it. The question stays open."""

    gate: str
    count: int
