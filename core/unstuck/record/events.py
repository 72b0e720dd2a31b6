"""Every event there is. The name in the log is the class name in snake case; the fields are the event's ``data``.

Events say what happened or what was decided, with the result: reading them back never diagnoses or decides anew. Those
of the error categories (``transient_error_retry`` and its kin) keep their published names and fields; ours follow the
same style. A field that a later version adds is ignored here, an event it adds is kept as :class:`Unknown`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from unstuck.contract import GateTypeName, Guidance, Level, Report, Standing, Task
from unstuck.escalation.climb import Climb
from unstuck.record.event import EVENTS, Event, Object, Unknown
from unstuck.text import Clean

__all__ = ["EVENTS", "Event", "Unknown"]

ClockName = Literal["wall", "idle"]
LivenessVerdict = Literal["ACTIVE", "WAITING", "STALLED", "UNKNOWN"]
BudgetName = Literal["tokens", "cost", "time"]
CheckResult = Literal["passed", "failed", "could_not_run", "none"]


# --- the run ---------------------------------------------------------------------------------------------------------


class RunStarted(Event):
    """A run began; its settings and plan are frozen here."""

    project: str
    kind: Literal["plan", "command", "embedded", "watch"] = "plan"
    settings: Object = Field(default_factory=dict)
    plan: Object = Field(default_factory=dict)
    version: str = ""
    pid: int = 0
    base: str = ""
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


class LogRepaired(Event):
    """A torn last record was moved aside."""

    file: str
    offset: int
    bytes: int


class RunsRemoved(Event):
    """Old runs were removed, because the settings keep only so many, so old, or so large; ``bytes`` is what is free."""

    runs: tuple[str, ...] = ()
    bytes: int = 0


class WorkflowFailed(Event):
    """The run was halted: nothing can mend it without a person."""

    reason: str
    details: Clean
    last_state: str = ""
    attempts: int | None = None
    last_issue: Clean | None = None


class BaselineChecked(Event):
    """The plan's shared check ran on the run's base, untouched by any agent."""

    result: CheckResult
    identity: str = ""
    headline: Clean = Clean("")


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


# --- a task ----------------------------------------------------------------------------------------------------------


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
    """The task's files are part of the run's branch."""

    task_id: str
    commit: str


class SetupFinished(Event):
    """The plan's ``setup`` ran in the task's fresh work tree."""

    passed: bool
    seconds: float = 0.0


class AttemptStarted(Event):
    """An attempt begins with this guidance; ``limit_s`` is the time it has, 0 where no clock runs."""

    guidance: Guidance
    limit_s: float = 0.0


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
    """What happens with an interrupted attempt."""

    choice: Literal["continue", "retry", "done", "skip", "abandon"]


class StepRecorded(Event):
    """One observation inside an attempt; ``repeats`` says how often what it does was there already."""

    kind: str
    tool: str = ""
    text: Clean = Clean("")
    exit_code: int | None = None
    identity: str = ""
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

    ``output`` names the file below the run's ``output/``, ``output_at`` the bytes of it (start, end).
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


class CheckFlaked(Event):
    """The check failed once and passed when it was run again."""

    command: str
    exit_code: int | None = None


# --- decisions -------------------------------------------------------------------------------------------------------


class DirectiveIssued(Event):
    """What comes next for a failed task, decided by ``line`` of the precedence table.

    ``limit`` is how often the rung may be used, 0 where nothing is counted.
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


class TransientErrorRetry(Event):
    """A passing trouble: wait ``delay_seconds``, then the same again."""

    error_type: str
    retry: int
    delay_seconds: float
    climb: Climb


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
    """Half of the idle limit has passed without a sign of life."""

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
    """The tree is safe under this id; ``progress`` names what differs from the baseline, where somebody goes on."""

    id: str
    reason: str
    files: int = 0
    not_covered: tuple[str, ...] = ()
    progress: tuple[str, ...] = ()
    purpose: Literal["baseline", "good", "directive"] = "directive"


class RestoreDone(Event):
    """The tree is what it was at ``target``; ``safety`` can undo it. Empty ``target``: nothing could be restored."""

    target: str
    safety: str = ""
    changed: int = 0
    note: Clean = Clean("")


class ResearchDone(Event):
    """What was gathered without a model."""

    insights: tuple[Clean, ...]


class DirectivePrepared(Event):
    """The next attempt's guidance is complete but for its id and number."""

    level: Level
    text: Clean
    approach: Clean | None = None
    session: str | None = None
    answers: tuple[str, ...] = ()


# --- gates -----------------------------------------------------------------------------------------------------------


class GateOpened(Event):
    """A question waits for an answer; ``standing`` is what a live agent does meanwhile."""

    gate: str
    type: GateTypeName
    key: str = ""
    context: Object = Field(default_factory=dict)
    choices: tuple[str, ...] = ()
    attempt_id: str = ""
    report: str = ""
    standing: Standing = ""


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
