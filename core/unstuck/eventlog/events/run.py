"""Events of a run: start and end, log repairs, results, the baseline and its repair."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from unstuck.contract import CheckResult
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.eventlog.event import Event, Object
from unstuck.text import Clean

__all__ = [
    "BaselineChecked",
    "InfrastructureBlocked",
    "InfrastructureRestored",
    "LogRepaired",
    "NotificationSent",
    "RemediationDispatched",
    "RemediationFailed",
    "ResultsDelivered",
    "RunEnded",
    "RunParked",
    "RunResumed",
    "RunStarted",
    "RunsRemoved",
    "StopRequested",
    "TreesCleaned",
    "WorkflowFailed",
]


class RunStarted(Event):
    """A run started with these settings and this plan. ``base`` is the commit checked out on ``branch``."""

    project: str
    kind: Literal["plan", "command", "embedded", "watch"] = "plan"
    settings: Object = Field(default_factory=dict)
    plan: Object = Field(default_factory=dict)
    version: str = ""
    pid: int = 0
    base: str = ""
    branch: str = ""
    warnings: tuple[Clean, ...] = ()


class RunResumed(Event):
    """A paused, interrupted or killed run continues."""

    pid: int = 0
    version: str = ""


class RunParked(Event):
    """The run is paused: every remaining step waits for an answer, and no person is present.

    ``unwatched`` are start and end (seconds since 1970) of helpers of agents that were killed.
    """

    gates: tuple[str, ...] = ()
    unwatched: tuple[tuple[float, float], ...] = ()


class RunEnded(Event):
    """The run ended, with or without an outcome for every task. ``exit_code`` is that of the command.

    ``unwatched`` are start and end (seconds since 1970) of helpers of agents that were killed.
    """

    exit_reason: str
    exit_code: int
    counts: dict[str, int] = Field(default_factory=dict)
    unwatched: tuple[tuple[float, float], ...] = ()


class StopRequested(Event):
    """A person, a signal or a limit requested the stop of the run, or of the attempt ``attempt_id``."""

    reason: str
    attempt_id: str = ""


class LogRepaired(Event):
    """A torn end of the log was moved into ``file``."""

    file: str
    offset: int
    bytes: int


class ResultsDelivered(Event):
    """The results of the run, up to ``tip``, are in ``commit`` of ``branch``. No ``commit`` means no delivery."""

    tip: str
    branch: str = ""
    commit: str = ""


class TreesCleaned(Event):
    """Worktrees without work of their own were removed. ``kept`` names the others, ``of`` another run."""

    removed: tuple[str, ...] = ()
    kept: tuple[Clean, ...] = ()
    of: str = ""


class RunsRemoved(Event):
    """Old runs were removed because they exceed the limits in the settings. ``bytes`` is the space freed."""

    runs: tuple[str, ...] = ()
    bytes: int = 0


class WorkflowFailed(Event):
    """The run was halted and needs a person. ``message`` is the text for them.

    ``context`` holds the task with its agent, its attempts and its failure, where a task led to the halt.
    """

    reason: str
    details: Clean
    last_state: str = ""
    attempts: int | None = None
    last_issue: Clean | None = None
    message: Clean = Clean("")
    context: Object = Field(default_factory=dict)


class BaselineChecked(Event):
    """The baseline check ran: the plan's check on the base of the run. ``extent`` is how far it came."""

    result: CheckResult
    identity: str = ""
    headline: Clean = Clean("")
    extent: Extent = UNKNOWN_EXTENT


class InfrastructureBlocked(Event):
    """The baseline check fails. No task starts until it passes."""

    issue: Clean
    reported_by: str


class RemediationDispatched(Event):
    """The remediation agent was started to repair the baseline. ``attempt`` counts from 1."""

    attempt: int
    issue: Clean


class RemediationFailed(Event):
    """The remediation agent ended and the baseline check still fails."""

    attempt: int
    issue: Clean


class InfrastructureRestored(Event):
    """The baseline check passes again."""

    attempts_used: int


class NotificationSent(Event):
    """A notification about ``tasks`` was sent while the terminal had no focus. No tasks means the whole run.

    ``way`` is ``bell``, ``osc9``, ``osc99``, ``osc777`` or ``command``.
    """

    kind: Literal["needs_you", "resolved", "run"] = "needs_you"
    way: str = ""
    tasks: tuple[str, ...] = ()
    text: Clean = Clean("")
