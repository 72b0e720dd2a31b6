"""Events of what was decided about a failure, and of what was done for it."""

from __future__ import annotations

from typing import Literal

from unstuck.contract import Level
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = [
    "AgentCrashed",
    "AgentFailure",
    "AgentSeeksGuidance",
    "BackoffOver",
    "CheckpointCreated",
    "CommandRan",
    "ConfigurationError",
    "DirectiveIssued",
    "DirectivePrepared",
    "DivineResponseReceived",
    "ResearchDone",
    "RestoreDone",
    "RungChosen",
    "SignalParseFailure",
    "TransientErrorEscalated",
    "TransientErrorResolved",
    "TransientErrorRetry",
]


class DirectiveIssued(Event):
    """What comes next for a failed task, decided by ``line`` of the precedence table.

    ``limit`` is how often the rung may be used, 0 where nothing is counted; ``command`` is run before the attempt.
    """

    level: Level
    line: int
    climb: Climb
    hint: Clean = Clean("")
    approach: Clean = Clean("")
    fresh: bool = False
    restore: Literal["", "good", "baseline"] = ""
    checkpoint: str = ""
    reason: Clean = Clean("")
    answer: Clean = Clean("")
    answers: tuple[str, ...] = ()
    limit: int = 0
    command: Clean = Clean("")


class RungChosen(Event):
    """A person has said what comes next for a task; ``first`` is the same again, ``human`` that they want to be asked.

    Its agent, if one is at work, is ended for that; a check that passes then still ends the task.
    """

    task_id: str
    level: Literal["first", "pivot", "research", "human"]


class TransientErrorRetry(Event):
    """A passing trouble: wait ``delay_seconds``, then the same again; ``quota``: a long wait, asked about after it."""

    error_type: str
    retry: int
    delay_seconds: float
    climb: Climb
    quota: bool = False


class BackoffOver(Event):
    """The wait is over."""

    task_id: str


class TransientErrorResolved(Event):
    """A retried task got past its passing trouble."""

    error_type: str
    total_retries: int


class TransientErrorEscalated(Event):
    """The trouble does not pass; it is treated like any other failure now."""

    error_type: str
    reason: str
    climb: Climb


class AgentFailure(Event):
    """The agent failed, not its work; it is dispatched again."""

    task_id: str
    agent_type: str
    error_type: str
    attempt: int
    climb: Climb


class AgentCrashed(Event):
    """An agent died."""

    agent_id: str
    task_id: str
    error_message: Clean


class SignalParseFailure(Event):
    """An agent's signal line could not be read."""

    agent_id: str
    task_id: str
    raw_output_sample: Clean


class ConfigurationError(Event):
    """The task cannot be done as it is described."""

    task_id: str
    error_type: str


class AgentSeeksGuidance(Event):
    """An agent asks."""

    agent_id: str
    task_id: str
    question: Clean


class DivineResponseReceived(Event):
    """The question was answered."""

    task_id: str
    response: Clean


class CheckpointCreated(Event):
    """The tree is safe under this id: so many ``files``, without ``not_covered`` and so many ``ignored`` paths.

    ``progress`` names what differs from the baseline, where somebody goes on; a ``request`` is the agent's own.
    """

    id: str
    reason: str
    files: int = 0
    not_covered: tuple[str, ...] = ()
    ignored: int = 0
    progress: tuple[str, ...] = ()
    purpose: Literal["baseline", "good", "directive", "question", "request"] = "directive"


class RestoreDone(Event):
    """The tree is what it was at ``target``; ``safety`` can undo it. Empty ``target``: nothing could be restored.

    ``changes`` are the first of the ``changed`` files, each with what was done to it.
    """

    target: str
    safety: str = ""
    changed: int = 0
    note: Clean = Clean("")
    changes: tuple[str, ...] = ()


class CommandRan(Event):
    """A command that the user's own settings name for this failure was run; ``note`` says what came of it."""

    command: Clean
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    note: Clean = Clean("")


class ResearchDone(Event):
    """What was gathered without a model, and the ``targets`` that were looked into."""

    insights: tuple[Clean, ...]
    targets: tuple[Clean, ...] = ()


class DirectivePrepared(Event):
    """The next attempt's guidance is complete but for its id and number."""

    level: Level
    text: Clean
    approach: Clean | None = None
    session: str | None = None
    answers: tuple[str, ...] = ()
