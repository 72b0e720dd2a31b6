"""Events of a whole run: its beginning and end, its budget, its record, the ground it stands on."""

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
    """A run began; its settings and plan are frozen here. ``base`` and ``branch`` are what was checked out."""

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
    """A run that was parked, interrupted or killed goes on."""

    pid: int = 0
    version: str = ""


class RunParked(Event):
    """Nothing can go on without a person, and none is there."""

    gates: tuple[str, ...] = ()


class RunEnded(Event):
    """Every task has its outcome, or the run was ended; ``exit_code`` is the command's."""

    exit_reason: str
    exit_code: int
    counts: dict[str, int] = Field(default_factory=dict)


class StopRequested(Event):
    """Somebody or some limit wants the run (or one attempt of it) to stop."""

    reason: str
    attempt_id: str = ""


class LogRepaired(Event):
    """A torn last record was moved aside."""

    file: str
    offset: int
    bytes: int


class ResultsDelivered(Event):
    """The run's results, up to ``tip``, are at ``commit`` of a person's branch; where that is empty they were left."""

    tip: str
    branch: str = ""
    commit: str = ""


class TreesCleaned(Event):
    """Work trees that held nothing of their own are gone; ``kept`` says which stayed and why. Maybe another run's."""

    removed: tuple[str, ...] = ()
    kept: tuple[Clean, ...] = ()
    of: str = ""


class RunsRemoved(Event):
    """Old runs were removed, because the settings keep only so many, so old, or so large; ``bytes`` is what is free."""

    runs: tuple[str, ...] = ()
    bytes: int = 0


class WorkflowFailed(Event):
    """The run was halted: nothing can mend it without a person, who reads ``message``."""

    reason: str
    details: Clean
    last_state: str = ""
    attempts: int | None = None
    last_issue: Clean | None = None
    message: Clean = Clean("")


class BaselineChecked(Event):
    """The plan's shared check ran on the run's base, untouched by any agent; ``extent`` says how far it came."""

    result: CheckResult
    identity: str = ""
    headline: Clean = Clean("")
    extent: Extent = UNKNOWN_EXTENT


class InfrastructureBlocked(Event):
    """The ground itself is broken: no task starts until it is restored."""

    issue: Clean
    reported_by: str


class RemediationDispatched(Event):
    """The remediation agent was sent to mend the ground; ``attempt`` counts from 1."""

    attempt: int
    issue: Clean


class RemediationFailed(Event):
    """The remediation agent ended and the shared check still fails."""

    attempt: int
    issue: Clean


class InfrastructureRestored(Event):
    """The shared check passes again."""

    attempts_used: int
