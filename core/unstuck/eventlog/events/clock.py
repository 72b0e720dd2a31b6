"""Events of time and what is used up: time-outs, silence, sleep of the machine, usage and budgets."""

from __future__ import annotations

from typing import Literal

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = [
    "AgentTimeout",
    "BudgetName",
    "BudgetReached",
    "BudgetSet",
    "BudgetWarned",
    "ClockName",
    "LivenessJudged",
    "LivenessVerdict",
    "SilenceEnded",
    "SilenceNoticed",
    "Suspended",
    "TimeoutWarned",
    "UsageCounted",
]

ClockName = Literal["wall", "idle"]
LivenessVerdict = Literal["ACTIVE", "WAITING", "STALLED", "UNKNOWN"]
BudgetName = Literal["tokens", "cost", "time"]


class Suspended(Event):
    """The machine slept for so many ``seconds``; no clock of ours has counted them."""

    seconds: float


class UsageCounted(Event):
    """What an agent used since it was last counted; ``cost`` is None where it is not known.

    ``while_idle``: the counter moved though the agent was held, or no attempt of its task was at work.
    """

    tokens: int = 0
    cost: float | None = None
    while_idle: bool = False


class BudgetSet(Event):
    """The run's limits were set anew; None leaves one as it was."""

    tokens: float | None = None
    cost: float | None = None
    time: float | None = None

    @property
    def limits(self) -> dict[str, float]:
        """The limits by name."""
        return {name: limit for name, limit in self.model_dump().items() if limit is not None}


class BudgetWarned(Event):
    """Four fifths of a budget are used."""

    kind: BudgetName
    used: float
    limit: float


class BudgetReached(Event):
    """A budget is used up: no step begins and every agent is held until there is more, or the run ends."""

    kind: BudgetName
    used: float
    limit: float
    while_idle: bool = False


class AgentTimeout(Event):
    """An agent used up its time, by the ``clock`` of the whole attempt or by that of its silence.

    The idle clock says what it found the agent to be (``STALLED``) and by which ``signals``; ``last_sign`` is the last
    sign of life and how long ago it was.
    """

    agent_id: str
    task_id: str
    elapsed_ms: int
    clock: ClockName = "wall"
    limit_s: float = 0.0
    verdict: LivenessVerdict | None = None
    signals: tuple[Clean, ...] = ()
    last_sign: Clean = Clean("")


class TimeoutWarned(Event):
    """Four fifths of a limit have passed."""

    clock: ClockName
    elapsed_s: float
    limit_s: float
    last_sign: Clean = Clean("")


class SilenceNoticed(Event):
    """Half of the idle limit has passed without activity."""

    seconds: float
    limit_s: float


class SilenceEnded(Event):
    """A sign of life after a silence that was noticed."""

    seconds: float
    sign: Clean


class LivenessJudged(Event):
    """A silent agent was looked into at the end of the idle limit, and is not stalled."""

    verdict: LivenessVerdict
    signals: tuple[Clean, ...]
    silent_s: float
