"""The frozen values that flow between an agent, the supervisor and a person, and the protocols between them.

Every text that came from outside is ``Clean``: only :func:`unstuck.text.admit` makes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from unstuck.diagnosis.model import Diagnosis
from unstuck.text import Clean

__all__ = [
    "ACCEPT_CHANGES",
    "ANSWER_LIMIT",
    "BELIEVE_CHECK",
    "CHECK",
    "CONTRADICTED",
    "DISTRUST_CHECK",
    "EDIT_CHECK",
    "HELD",
    "QUOTA",
    "REFUSE_CHANGES",
    "WEAKENED",
    "Actor",
    "Agent",
    "Answer",
    "Capabilities",
    "CheckResult",
    "Choice",
    "Diagnosis",
    "Directive",
    "Gate",
    "GateStatus",
    "GateTypeName",
    "Guidance",
    "Level",
    "Observation",
    "Observer",
    "Outcome",
    "OutcomeStatus",
    "Receipt",
    "Report",
    "Standing",
    "Task",
    "TaskSession",
    "Verdict",
]

Actor = Literal["human", "timer", "policy", "agent"]
Level = Literal["first", "retry", "pivot", "research", "human", "continue"]
Choice = Literal[
    "show_me", "skip", "abandon", "retry", "extend", "continue", "stop", "choose", "allow", "deny", "done", "adopt"
]
GateTypeName = Literal[
    "stuck", "timeout", "loop_detected", "question", "permission",
    "remediation", "budget", "integration", "recovery", "disk",
]  # fmt: skip
GateStatus = Literal["open", "answered", "sent", "delivered", "withdrawn"]
Standing = Literal["", "held", "frozen", "runs_on"]
CheckResult = Literal["passed", "failed", "could_not_run", "contradicted", "none"]
OutcomeStatus = Literal["succeeded", "unverified", "skipped", "abandoned", "failed", "cancelled"]

ANSWER_LIMIT = 20_000
"""Characters of an answer: of a longer one, what an agent is told would leave out the middle."""
CHECK = "check"
"""The key of a question about a check that could not run, or whose output contradicts its exit code."""
CONTRADICTED = "check_contradicted"
"""The ``error_type`` in the context of a question about a contradicted check."""
DISTRUST_CHECK, BELIEVE_CHECK, EDIT_CHECK = 1, 2, 3
"""The options of a question about a contradicted check: it failed, it passed, or another command takes its place."""
WEAKENED = "check_weakened"
"""The ``error_type`` of a question about a check that passed after protected files were changed."""
ACCEPT_CHANGES, REFUSE_CHANGES = 1, 2
"""The options of a question about changed protected files."""
HELD = "held"
"""The key of a question that a person has opened: their task stands still, or does not begin."""
QUOTA = "quota"
"""The key of the question whether a task goes on after a long wait for a quota."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be done. ``verify`` is a shell command; without one a task may end unverified, never succeeded.

    ``timeout_s`` limits an attempt, ``idle_s`` its silence, both in seconds and None for the settings' limits.
    """

    id: str
    prompt: Clean
    agent: str = ""
    agent_type: str = "default"
    needs: tuple[str, ...] = ()
    verify: str | None = None
    timeout_s: float | None = None
    idle_s: float | None = None
    isolation: Literal["shared", "worktree"] = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an agent can be made to do decides what a rung becomes for it.

    ``hold``: ``step`` waits inside a call; ``freeze`` stops its process group, by methods ``freeze`` and ``thaw`` that
    take the attempt's id; ``none`` lets it run on.
    ``tell``: text reaches it during an attempt. ``resume``: a session can be continued. ``fresh``: a new one can be
    started. ``stop``: an attempt can be ended from outside. ``may_restore``: its files may be set back unasked.
    ``signals``: it has to end with a signal line, and is told how.
    """

    hold: Literal["step", "freeze", "none"] = "none"
    tell: bool = False
    resume: bool = False
    fresh: bool = False
    stop: bool = False
    may_restore: bool = False
    signals: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """All that one attempt is told; recorded whole in ``attempt_started``.

    ``session`` is the agent's own session to continue, None to start afresh; ``answers`` are the gates whose answers
    the text carries.
    """

    attempt: str
    number: int
    level: Level
    text: Clean
    workdir: Path
    approach: Clean | None = None
    session: str | None = None
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something an agent did or said, as hooks, streams and detection see it.

    ``at`` is monotonic seconds from the caller; ``id`` the agent's tool-use id (the same one twice changes nothing,
    empty is no id); ``tree`` a hash of the work tree. ``tokens`` and ``cost`` (US dollars) come with ``usage`` and are
    those since the last one; a cost that is not known is None. Plain ``str`` is accepted for every text at run time.
    """

    kind: Literal["action", "success", "failure", "message", "usage", "alive"]
    text: Clean = Clean("")
    at: float = 0.0
    id: str = ""
    task_id: str = ""
    agent_id: str = ""
    tool: str = "bash"
    role: Literal["agent", "user", "system"] | None = None
    approach: Clean | None = None
    exit_code: int | None = None
    tree: str | None = None
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The agent is going round in circles.

    ``pattern`` is the stable id that *not a loop* is said about; ``nudge`` means tell the agent, otherwise open the
    gate; ``resets_on`` says what would count as progress.
    """

    kind: Literal["loop", "circular_fix", "blocked", "waiting"]
    pattern: str
    steps: tuple[str, ...]
    repeats: int
    evidence: Clean
    resets_on: Clean
    nudge: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a stop did: ``ended`` holds (pid, start time, how), ``alive`` those (pid, start time) that would not."""

    ended: tuple[tuple[int, float, str], ...] = ()
    alive: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """An attempt's own account; it never decides success.

    ``how`` says how the attempt ended; ``error`` is the text a failure is diagnosed from; ``output`` is the path of
    the raw output below the run's directory, ``output_at`` the bytes of it (start, end) and ``output_lost`` why some
    could not be kept; ``question``, ``options`` and ``context`` come with ``needs_guidance`` and ``blocked``;
    ``phase`` is what the agent was at, in its own words; ``alternatives`` are other approaches it sees. ``tokens`` and
    ``cost`` are those of the attempt that no observation has told of.
    """

    exit_code: int | None = None
    session: str | None = None
    error: Clean | None = None
    approach: Clean | None = None
    signal: Literal["complete", "blocked", "needs_guidance"] | None = None
    how: Literal["ended", "crashed", "timed_out", "stopped", "not_started", "no_signal", "bad_signal"] = "ended"
    question: Clean | None = None
    options: tuple[Clean, ...] = ()
    context: Clean | None = None
    phase: Clean | None = None
    alternatives: tuple[Clean, ...] = ()
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    output_lost: Clean = Clean("")
    sample: Clean | None = None
    tokens: int = 0
    cost: float | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended. ``attempts`` counts those that were started; ``level`` is the last rung."""

    task: str
    status: OutcomeStatus
    attempts: int
    level: Level
    last: Diagnosis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """The only thing that flows towards an agent."""

    kind: Literal["start", "go_on", "tell", "deny", "stop", "end"]
    text: Clean = Clean("")
    guidance: Guidance | None = None
    gate: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was decided at a gate. ``number`` is seconds for ``extend`` and a position from 1 for ``choose``.

    ``text`` goes to the agent; with ``choose`` it is what the option takes, such as a new check.
    """

    choice: Choice
    text: Clean = Clean("")
    number: float | None = None
    scope: Literal["once", "pattern", "task"] = "once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A question that waits. There is one open gate per (task, type, key); ``acts_at`` is monotonic seconds.

    ``standing`` is what the agent does meanwhile: held in its next call, frozen, or it runs on; empty where none is at
    work, and in logs that do not say.
    """

    id: str
    type: GateTypeName
    task: str
    key: str
    context: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    choices: tuple[str, ...] = ()
    attempt: str | None = None
    standing: Standing = ""
    acts_at: float | None = None
    status: GateStatus = "open"
    answer: Answer | None = None
    by: Actor | None = None


class Observer(Protocol):
    """What an agent's adapter talks to during an attempt."""

    def see(self, observation: Observation) -> None:
        """Take note; never blocks. For streams that cannot be held."""

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        """Take note and say what to do: go_on, tell, deny or stop. May hold, for at most ``within`` seconds."""

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        """Ask a person whether the agent may do this action, and wait: go_on, deny (with the reason) or stop.

        ``why`` is what the agent says about it. Where nobody may be asked it is denied.
        """

    async def next_answer(self) -> Directive:
        """Wait for a person's words that no step of this attempt has taken along: tell or deny, with the text.

        For agents that can be told something at any time.
        """

    async def delivered(self, directive: Directive) -> None:
        """The bytes were printed, or the prompt was accepted."""

    async def spawned(self, pid: int, start: float) -> None:
        """The attempt's process exists (``start``: seconds since 1970); returns when that is durable."""


@runtime_checkable
class Agent(Protocol):
    """A real agent, attached."""

    @property
    def can(self) -> Capabilities: ...

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Work on ``task`` once; cancelling does what ``stop`` does first."""

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt; returns when it is dead."""


class TaskSession(Observer, Protocol):
    """The one mechanism: ``supervise()`` and the hook bridge both drive it."""

    async def begin(self) -> Directive:
        """Start or end."""

    async def end(self, attempt: str, report: Report) -> Directive:
        """Check, diagnose, decide, prepare: start or end."""
