"""Events of a task and its attempts."""

from __future__ import annotations

from typing import Literal

from unstuck.contract import CheckResult, Guidance, Report, Task
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.eventlog.event import Event, Object
from unstuck.text import Clean

__all__ = [
    "AgentSpawned",
    "AttemptEnded",
    "AttemptInterrupted",
    "AttemptStarted",
    "CheckFinished",
    "CheckFlaked",
    "LoopWarned",
    "RecoveryDecided",
    "RecoveryProposed",
    "ResultIntegrated",
    "SetupFinished",
    "StaleReport",
    "StepRecorded",
    "StopReceipt",
    "TaskAdded",
    "TaskEnded",
    "TaskReopened",
    "TaskUnblocked",
]


class TaskAdded(Event):
    """A task is known; ``shared_verify`` says that its check is the plan's own."""

    work: Task
    after_skip: Literal["block", "run", "skip"] = "block"
    mode: Literal["orchestrated", "direct"] = "orchestrated"
    shared_verify: bool = False


class TaskUnblocked(Event):
    """Everything the task needs is done."""

    task_id: str


class TaskReopened(Event):
    """A skipped task is offered again."""

    task_id: str


class TaskEnded(Event):
    """The task has its outcome."""

    task_id: str
    status: Literal["succeeded", "unverified", "skipped", "abandoned", "failed", "cancelled"]
    reason: Clean = Clean("")
    commit: str = ""


class ResultIntegrated(Event):
    """The task's files are part of the run's branch, but for what lies in other repositories: those are ``left``."""

    task_id: str
    commit: str
    left: tuple[str, ...] = ()


class SetupFinished(Event):
    """The plan's ``setup`` ran in the task's fresh work tree; ``evidence`` is the end of what a failed one said."""

    passed: bool
    seconds: float = 0.0
    command: str = ""
    exit_code: int | None = None
    output: str = ""
    evidence: Clean = Clean("")


class AttemptStarted(Event):
    """An attempt begins with this guidance; ``limit_s`` is the time it has, 0 where no clock runs.

    ``note`` is the end of its text where that is for this attempt alone: what became of the one before.
    """

    guidance: Guidance
    limit_s: float = 0.0
    note: str = ""


class AgentSpawned(Event):
    """The attempt's process exists; it acts only after this is durable. ``start`` is seconds since 1970."""

    pid: int
    start: float


class AttemptEnded(Event):
    """The attempt is over; its report is the agent's own account."""

    report: Report
    seconds: float = 0.0


class StopReceipt(Event):
    """The attempt was stopped: (pid, start, how) of every process that ended, (pid, start) of those that would not."""

    ended: tuple[tuple[int, float, str], ...] = ()
    alive: tuple[tuple[int, float], ...] = ()


class StaleReport(Event):
    """Somebody reported about an attempt that is over; it changed nothing."""

    attempt_id: str
    how: str


class AttemptInterrupted(Event):
    """The supervisor went away under the attempt; ``used_s`` is how much of its time it had used by then."""

    reason: str
    used_s: float = 0.0


class RecoveryDecided(Event):
    """What happens with an interrupted attempt; ``adopt``: it has survived its supervisor and goes on.

    ``gate`` is the question that was answered so; empty where nobody was asked.
    """

    choice: Literal["continue", "retry", "done", "skip", "abandon", "adopt"]
    gate: str = ""


class RecoveryProposed(Event):
    """What an evaluator would do with an interrupted attempt, and why: shown as a proposal and never acted on."""

    choice: Literal["continue", "retry", "done", "skip", "abandon", "adopt", "stop"]
    reason: Clean = Clean("")
    evaluator: Clean = Clean("")


class StepRecorded(Event):
    """One observation inside an attempt; ``repeats`` says how often what it does was there already.

    Of a failure its diagnosis is there as well: ``identity``, ``error_type``, ``headline`` and ``location``.
    """

    kind: str
    tool: str = ""
    text: Clean = Clean("")
    exit_code: int | None = None
    identity: str = ""
    error_type: str = ""
    headline: Clean = Clean("")
    location: str = ""
    agent_id: str = ""
    role: str = ""
    repeats: int = 0


class LoopWarned(Event):
    """The agent repeats itself; it is told."""

    pattern: str
    repeats: int
    evidence: Clean


class CheckFinished(Event):
    """The supervisor ran the task's check; ``diagnosis`` is that of its failure or of the agent's own error.

    ``output`` names the file below the run's ``output/``, ``output_at`` the bytes of it (start, end). ``extent`` says
    how far a failed check came. ``weakened`` lists what the task changed in its tests or in the settings of the check,
    ``protected`` the protected files that it changed.
    """

    result: CheckResult
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    problem: Clean = Clean("")
    trouble: str = ""
    diagnosis: Object | None = None
    evidence: Clean = Clean("")
    circular: bool = False
    weakened: tuple[Clean, ...] = ()
    protected: tuple[Clean, ...] = ()
    extent: Extent = UNKNOWN_EXTENT


class CheckFlaked(Event):
    """The check failed once and passed when it was run again without a change.

    ``test`` names the test that failed, or else its place or message; ``seen`` counts how often it was flaky in this
    project, this time included.
    """

    command: str
    exit_code: int | None = None
    test: Clean = Clean("")
    seen: int = 1
