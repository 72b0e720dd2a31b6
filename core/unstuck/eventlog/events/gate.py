"""Events of questions and their answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from unstuck.contract import GateTypeName, Standing
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
    "TimerCancelled",
    "TimerStarted",
]


class GateOpened(Event):
    """A question waits for an answer; ``standing`` is what a live agent does meanwhile, and has done for ``stood_s``.

    ``context`` says in ``checkpoint`` (``saved`` for a permission) where the files are safe, else why not in
    ``not_saved``.
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
    """The first answer wins. ``effect`` is what it does to the task; ``rule`` the answer rule that gave it."""

    gate: str
    choice: str
    text: Clean = Clean("")
    number: float | None = None
    scope: Literal["once", "pattern", "task"] = "once"
    effect: Literal[
        "prepare", "skipped", "abandoned", "recheck", "integrate", "go_on", "tell", "stop", "remediate", "halt"
    ]
    rule: int | None = None
    climb: Climb | None = None


class TimerStarted(Event):
    """The gate will be answered by itself in ``seconds``, with ``choice``, because the user's settings say so."""

    gate: str
    seconds: float
    choice: str


class TimerCancelled(Event):
    """Somebody is there: the gate waits for ever."""

    gate: str


class GateWithdrawn(Event):
    """The gate's cause is gone."""

    gate: str
    reason: str


class AnswerSent(Event):
    """The answer is on its way into a live attempt: the call that carries it, and whose."""

    gate: str
    call: str = ""
    incarnation: str = ""


class AnswerDelivered(Event):
    """The agent has the answer."""

    gate: str


class HoldRefused(Event):
    """A held call was sent back before the agent's own limit ran out; the gate stays open."""

    gate: str
    count: int
