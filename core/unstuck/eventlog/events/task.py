"""Events of a task and its attempts."""

from __future__ import annotations

from typing import Literal

from unstuck.contract import CheckResult, Guidance, Report, Task
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.eventlog.event import Event, Object
from unstuck.text import Clean

__all__ = [
    "AgentSpawned",
    "ApproachEnded",
    "AttemptEnded",
    "AttemptInterrupted",
    "AttemptStarted",
    "CheckFinished",
    "CheckFlaked",
    "CheckProved",
    "FilesCollide",
    "HandedBack",
    "HandedOver",
    "HostAwaited",
    "LoopTold",
    "LoopWarned",
    "ProofStarted",
    "RecoveryDecided",
    "RecoveryProposed",
    "ResultIntegrated",
    "SessionNamed",
    "SetupFinished",
    "StaleReport",
    "StepRecorded",
    "StopReceipt",
    "TaskAdded",
    "TaskBaselineChecked",
    "TaskEnded",
    "TaskReopened",
    "TaskUnblocked",
    "TerminalAnswered",
    "TerminalAsked",
]


class TaskAdded(Event):
    """A task was added. ``shared_verify`` is true if its check is the check of the plan.

    ``failover`` are the agents that go on with it where its own cannot, in their order.
    """

    work: Task
    after_skip: Literal["block", "run", "skip"] = "block"
    mode: Literal["orchestrated", "direct"] = "orchestrated"
    shared_verify: bool = False
    failover: tuple[str, ...] = ()


class TaskUnblocked(Event):
    """Every task that this one needs has succeeded."""

    task_id: str


class TaskReopened(Event):
    """A skipped task was opened again."""

    task_id: str


class TaskEnded(Event):
    """The task ended with ``status``."""

    task_id: str
    status: Literal["succeeded", "unverified", "skipped", "abandoned", "failed", "cancelled"]
    reason: Clean = Clean("")
    commit: str = ""


class ResultIntegrated(Event):
    """The result of a task was merged into the branch of the run, except in the repositories ``left``."""

    task_id: str
    commit: str
    left: tuple[str, ...] = ()


class SetupFinished(Event):
    """The ``setup`` command ran in a new worktree. ``evidence`` is the end of the output of a failed one."""

    passed: bool
    seconds: float = 0.0
    command: str = ""
    exit_code: int | None = None
    output: str = ""
    evidence: Clean = Clean("")


class TaskBaselineChecked(Event):
    """The check of a task ran before the first attempt, on the files of ``checkpoint``.

    ``headline`` and ``identity`` describe its failure, ``extent`` is how far it came. ``seconds`` is 0 where the result
    is that of another task with the same files.
    """

    result: CheckResult
    checkpoint: str
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    problem: Clean = Clean("")
    headline: Clean = Clean("")
    identity: str = ""
    extent: Extent = UNKNOWN_EXTENT


class AttemptStarted(Event):
    """An attempt started with this guidance. ``limit_s`` is its time limit, 0 without one.

    ``note`` is the end of the guidance that is only for this attempt: the result of the one before. ``phase`` is the
    number of the task in its plan, and how many the plan has; zeros outside a plan of several.
    """

    guidance: Guidance
    limit_s: float = 0.0
    note: str = ""
    phase: tuple[int, int] = (0, 0)


class AgentSpawned(Event):
    """The process of an attempt exists. It acts once this event is on disk. ``start`` is in seconds since 1970."""

    pid: int
    start: float


class SessionNamed(Event):
    """The agent of an attempt named its own session, with which it can go on after an interruption."""

    session: str


class TerminalAsked(Event):
    """An agent that runs elsewhere asks the person in its own terminal: a permission, or a question of its own."""

    text: Clean


class TerminalAnswered(Event):
    """The question in the agent's own terminal has its answer, or the agent works on without one."""


class HostAwaited(Event):
    """A task of a shared plan waits for a host that can take it; without a ``reason``, ``host`` has."""

    reason: Clean
    host: str = ""


class AttemptEnded(Event):
    """An attempt ended. ``report`` is the agent's own account."""

    report: Report
    seconds: float = 0.0


class ApproachEnded(Event):
    """One of the approaches of an attempt that are worked at the same time ended, or was ended for another's sake.

    ``slot`` counts them from 1. ``headline`` is its failure, ``output`` the output of its check. ``stopped``: no check
    has judged its work, because another one has passed or its agent failed itself.
    """

    slot: int
    approach: Clean
    result: Literal["passed", "failed", "stopped"]
    headline: Clean = Clean("")
    output: str = ""


class StopReceipt(Event):
    """Stop report of an attempt: (pid, start, how) of each process that ended, (pid, start) of each one still alive."""

    ended: tuple[tuple[int, float, str], ...] = ()
    alive: tuple[tuple[int, float], ...] = ()


class StaleReport(Event):
    """A report arrived for an attempt that was over already. It changed nothing."""

    attempt_id: str
    how: str


class AttemptInterrupted(Event):
    """The supervisor ended during the attempt, which had used ``used_s`` seconds of its time limit."""

    reason: str
    used_s: float = 0.0


class RecoveryDecided(Event):
    """The next step of an interrupted attempt was decided. ``adopt`` continues an orphan.

    ``gate`` is the question that was answered; empty if none was asked.
    """

    choice: Literal["continue", "retry", "done", "skip", "abandon", "adopt"]
    gate: str = ""


class RecoveryProposed(Event):
    """An evaluator proposed the next step of an interrupted attempt. The proposal is shown and never applied."""

    choice: Literal["continue", "retry", "done", "skip", "abandon", "adopt", "stop"]
    reason: Clean = Clean("")
    evaluator: Clean = Clean("")


class StepRecorded(Event):
    """An observation during an attempt. ``repeats`` is how often the same step occurred before.

    A failure has its diagnosis: ``identity``, ``error_type``, ``headline`` and ``location``.
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
    """A loop inside an attempt was detected. ``LoopTold`` follows once the agent has been told.

    ``deaf`` is who cannot be told within the attempt, if anybody: the agent, or its sub-agent that repeats itself.
    """

    pattern: str
    repeats: int
    evidence: Clean
    deaf: Literal["", "agent", "subagent"] = ""


class LoopTold(Event):
    """The agent has received the warning about the loop ``pattern``."""

    pattern: str


class CheckFinished(Event):
    """The check of a task ran. ``diagnosis`` is that of its failure or of the agent's own error.

    ``output`` is a file in the ``output/`` folder of the run, ``output_at`` its bytes (start, end). ``extent`` is how
    far a failed check came. ``weakened`` lists what the task changed in its tests or in the settings of
    the check, ``protected`` the protected files that it changed. Of an attempt that ended badly or changed nothing,
    ``ending`` is how it ended and ``said`` the agent's last words; ``untouched`` is true if it changed no file.
    ``files`` is a hash of the files after a check that did not pass. ``approach`` is that of the attempt where the
    agent stated none, ``size`` the number of changed lines since the baseline. ``tests`` are the numbers of tests that
    passed and that ran, zeros where no known test runner says so. ``unread`` is true if the agent's program did not
    read its first prompt.
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
    ending: Clean = Clean("")
    said: Clean = Clean("")
    untouched: bool = False
    files: str = ""
    approach: Clean = Clean("")
    size: int = 0
    tests: tuple[int, int] = (0, 0)
    unread: bool = False


class ProofStarted(Event):
    """The check is being proved: ``paths`` are replaced meanwhile, and are those of ``checkpoint`` at the end."""

    checkpoint: str
    paths: tuple[str, ...] = ()


class CheckProved(Event):
    """The check ran on the files without the work and on those with the tests as they were.

    ``problem`` says what speaks against it, ``note`` why there is no proof. All are empty where the proof was cut off.
    """

    without_work: CheckResult = "none"
    old_tests: CheckResult = "none"
    problem: Clean = Clean("")
    note: Clean = Clean("")


class CheckFlaked(Event):
    """The check failed once and passed when it was run again without a change.

    ``test`` names the test that failed, or else its place or message; ``seen`` counts how often it was flaky in this
    project, this time included.
    """

    command: str
    exit_code: int | None = None
    test: Clean = Clean("")
    seen: int = 1


class FilesCollide(Event):
    """The task changes ``paths`` that the live task ``other`` has changed before it.

    No ``paths`` mean that they have no changed file in common any more.
    """

    other: str
    paths: tuple[Clean, ...] = ()


class HandedOver(Event):
    """A takeover began: a person edits the task's worktree by hand. ``checkpoint`` holds the files from before.

    The agent waits at the question ``gate``. ``others`` are tasks whose agents may change the same worktree meanwhile.
    """

    gate: str
    checkpoint: str
    others: tuple[str, ...] = ()


class HandedBack(Event):
    """A takeover ended with ``files`` changed since ``checkpoint``.

    ``changes`` names the first of them, one per line, and ``diff`` holds their differences. ``trouble`` is the reason
    if the differences are unknown.
    """

    gate: str
    checkpoint: str
    files: int = 0
    changes: tuple[str, ...] = ()
    diff: Clean = Clean("")
    trouble: Clean = Clean("")
