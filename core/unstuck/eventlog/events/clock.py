"""Events of clocks and budgets: time limits, silence, sleep of the machine, usage."""

from __future__ import annotations

from typing import Literal

from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = [
    "AgentTimeout",
    "AttemptBudgetReached",
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
    """The machine slept for ``seconds``. No time limit counts them."""

    seconds: float


class UsageCounted(Event):
    """An agent used ``tokens`` and ``cost`` (US dollars, None if unknown) since the last such event.

    ``while_idle`` is true if the agent was held, or no attempt of its task was at work. ``priced``: the cost is that of
    the tokens by the user's prices, not the agent's own. ``written`` of the tokens were written.
    """

    tokens: int = 0
    cost: float | None = None
    while_idle: bool = False
    priced: bool = False
    written: int = 0


class BudgetSet(Event):
    """The limits of the run changed, or those of each task and attempt. None leaves a limit as it was."""

    tokens: float | None = None
    cost: float | None = None
    time: float | None = None
    task_tokens: float | None = None
    task_cost: float | None = None
    attempt_tokens: float | None = None
    attempt_cost: float | None = None

    @property
    def limits(self) -> dict[str, float]:
        """The limits that changed, by name."""
        return {name: limit for name, limit in self.model_dump().items() if limit is not None}


class BudgetWarned(Event):
    """A budget is used to four fifths."""

    kind: BudgetName
    used: float
    limit: float


class BudgetReached(Event):
    """A budget is used up. Every agent is held until the limit is raised or the run ends."""

    kind: BudgetName
    used: float
    limit: float
    while_idle: bool = False


class AttemptBudgetReached(Event):
    """The budget of an attempt, or of its task (``scope``), is used up. The attempt is stopped and checked."""

    scope: Literal["attempt", "task"]
    kind: BudgetName
    used: float
    limit: float


class AgentTimeout(Event):
    """An attempt reached its time limit (``clock`` is ``wall``) or its idle limit (``idle``).

    For the idle limit, ``verdict`` (``STALLED``) follows from ``signals``. ``last_sign`` is the last sign of life and
    its age.
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
    """An attempt has used four fifths of a time limit."""

    clock: ClockName
    elapsed_s: float
    limit_s: float
    last_sign: Clean = Clean("")


class SilenceNoticed(Event):
    """An agent has shown no sign of life for half of the idle limit."""

    seconds: float
    limit_s: float


class SilenceEnded(Event):
    """An agent showed a sign of life after a recorded silence."""

    seconds: float
    sign: Clean


class LivenessJudged(Event):
    """A silent agent was examined at the idle limit and is not stalled."""

    verdict: LivenessVerdict
    signals: tuple[Clean, ...]
    silent_s: float
