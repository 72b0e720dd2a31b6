"""Events of decisions about a failure, and of the actions that follow them."""

from __future__ import annotations

from typing import Literal

from unstuck.contract import Level
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.event import Event
from unstuck.text import Clean

__all__ = [
    "AgentCrashed",
    "AgentFailure",
    "AgentReplaced",
    "AgentSeeksGuidance",
    "BackoffOver",
    "CheckpointCreated",
    "CommandRan",
    "ConfigurationError",
    "DirectiveIssued",
    "DirectivePrepared",
    "DivineResponseReceived",
    "OutageWait",
    "ResearchDone",
    "RestoreDone",
    "RungChosen",
    "SignalParseFailure",
    "TransientErrorEscalated",
    "TransientErrorResolved",
    "TransientErrorRetry",
]


class DirectiveIssued(Event):
    """The next step of a failed task was decided by ``line`` of the precedence table.

    ``limit`` is how often the escalation level may be used, 0 without a limit. ``command`` runs before the attempt.
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
    """A person chose the next escalation level of a task. ``first`` repeats the task, ``human`` asks a question.

    A live agent is stopped for it. A check that passes then still ends the task.
    """

    task_id: str
    level: Literal["first", "pivot", "research", "human"]


class TransientErrorRetry(Event):
    """A transient error: the task is retried after ``delay_seconds``. A ``quota`` wait ends with a question.

    ``check_alone`` means that the check is repeated, not the attempt.
    """

    error_type: str
    retry: int
    delay_seconds: float
    climb: Climb
    quota: bool = False
    check_alone: bool = False


class OutageWait(Event):
    """The provider of an agent reports an outage or a spent quota that short waits have not outlasted.

    The task is retried after ``delay_seconds``, without using up an escalation level. ``waited_seconds`` of the
    ``limit_seconds`` have been waited before; then a question is asked.
    """

    error_type: str
    message: Clean
    wait: int
    delay_seconds: float
    waited_seconds: float
    limit_seconds: float
    climb: Climb


class BackoffOver(Event):
    """The wait before a retry is over."""

    task_id: str


class TransientErrorResolved(Event):
    """A retried task no longer has its transient error."""

    error_type: str
    total_retries: int


class TransientErrorEscalated(Event):
    """A transient error persists. It counts as an ordinary failure from now on."""

    error_type: str
    reason: str
    climb: Climb


class AgentFailure(Event):
    """The agent itself failed, not its work. It is started again."""

    task_id: str
    agent_type: str
    error_type: str
    attempt: int
    climb: Climb


class AgentReplaced(Event):
    """The task goes on with ``agent`` in place of ``before``, which a question or a long wait would have followed.

    ``reason`` is what that would have been about: the ``agent`` itself, an ``outage``, or a failure that nothing was
    left for (``stuck``). ``why`` is the failure. ``skipped`` are agents that cannot be used, each with the reason.
    ``restore`` names the files to restore first.
    """

    task_id: str
    before: str
    agent: str
    agent_type: str
    reason: Literal["agent", "outage", "stuck"]
    climb: Climb
    why: Clean = Clean("")
    skipped: tuple[Clean, ...] = ()
    restore: Literal["", "passing"] = ""


class AgentCrashed(Event):
    """An agent process ended with an error."""

    agent_id: str
    task_id: str
    error_message: Clean


class SignalParseFailure(Event):
    """A status line of an agent could not be parsed."""

    agent_id: str
    task_id: str
    raw_output_sample: Clean


class ConfigurationError(Event):
    """The task cannot be done as it is configured."""

    task_id: str
    error_type: str


class AgentSeeksGuidance(Event):
    """An agent asked a question."""

    agent_id: str
    task_id: str
    question: Clean


class DivineResponseReceived(Event):
    """The question of an agent was answered."""

    task_id: str
    response: Clean


class CheckpointCreated(Event):
    """A checkpoint of the worktree was saved: ``files`` without the ``not_covered`` and the ``ignored`` paths.

    ``progress`` names what differs from the baseline if work continues from there. ``purpose`` is ``request`` if the
    agent asked for the checkpoint.
    """

    id: str
    reason: str
    files: int = 0
    not_covered: tuple[str, ...] = ()
    ignored: int = 0
    progress: tuple[str, ...] = ()
    purpose: Literal["baseline", "good", "directive", "question", "request"] = "directive"


class RestoreDone(Event):
    """The worktree was restored to the checkpoint ``target``. The checkpoint ``safety`` undoes that.

    An empty ``target`` means that nothing could be restored. ``changes`` names the first of the ``changed`` files, each
    with its change; ``kept`` the first of those that differ and stay, each with the reason.
    """

    target: str
    safety: str = ""
    changed: int = 0
    note: Clean = Clean("")
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class CommandRan(Event):
    """A command ran that the user settings name for this failure. ``note`` is its result in words."""

    command: Clean
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    note: Clean = Clean("")


class ResearchDone(Event):
    """Research ended with ``insights``, gathered without a model from ``targets``."""

    insights: tuple[Clean, ...]
    targets: tuple[Clean, ...] = ()


class DirectivePrepared(Event):
    """The guidance of the next attempt is complete except for its id and number."""

    level: Level
    text: Clean
    approach: Clean | None = None
    session: str | None = None
    answers: tuple[str, ...] = ()
