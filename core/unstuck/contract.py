"""Frozen values that flow between an agent, the supervisor and a person, and the protocols between them.

Every text from outside is ``Clean``, which only :func:`unstuck.text.admit` returns. Values that a caller makes take
plain text: the supervisor admits it when it takes the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from unstuck.arguments import check_fields
from unstuck.diagnosis.enums import Claim
from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import ArgumentError
from unstuck.text import Clean, admit

if TYPE_CHECKING:
    _Given = TypeVar("_Given", contravariant=True)
    _Kept = TypeVar("_Kept", covariant=True)

    class _Admitted(Generic[_Given, _Kept]):
        """A field that callers give as plain text, and that holds clean text once the supervisor has taken it."""

        def __get__(self, instance: object, owner: type | None = None) -> _Kept: ...

        def __set__(self, instance: object, value: _Given) -> None: ...

    Text = _Admitted[str, Clean]
    OptionalText = _Admitted[str | None, Clean | None]
    Texts = _Admitted[tuple[str, ...], tuple[Clean, ...]]
else:
    Text, OptionalText, Texts = Clean, Clean | None, tuple[Clean, ...]

Actor = Literal["human", "timer", "policy", "agent"]
Level = Literal["first", "retry", "pivot", "research", "human", "continue"]
Choice = Literal[
    "show_me", "skip", "abandon", "retry", "extend", "continue", "stop", "choose", "allow", "deny", "done", "adopt",
    "check",
]  # fmt: skip
GateTypeName = Literal[
    "stuck", "timeout", "loop_detected", "question", "permission",
    "remediation", "budget", "integration", "recovery", "disk",
]  # fmt: skip
Scope = Literal["once", "pattern", "task", "run", "always"]
GateStatus = Literal["open", "answered", "sent", "delivered", "withdrawn"]
Standing = Literal["", "held", "frozen", "runs_on"]
CheckResult = Literal["passed", "failed", "could_not_run", "contradicted", "none"]
OutcomeStatus = Literal["succeeded", "unverified", "skipped", "abandoned", "failed", "cancelled"]

ANSWER_LIMIT = 20_000
"""Largest number of characters of an answer. A prompt would omit the middle of a longer one."""
AGENT = "agent"
"""Key of a question about the agent's own failure, which a person has to cure."""
CHECK = "check"
"""Key of a question about a check that could not run, or whose output contradicts its exit code."""
CONTRADICTED = "check_contradicted"
"""``error_type`` in the context of a question about a contradicted check."""
DISTRUST_CHECK, BELIEVE_CHECK, EDIT_CHECK = 1, 2, 3
"""Options of a question about a contradicted check: it failed, it passed, or another command replaces it."""
WEAKENED = "check_weakened"
"""``error_type`` of a question about a check that passed after protected files were changed."""
PROOF = "<proof>"
"""Among the paths of such a question: the check is believed without a proof."""
ACCEPT_CHANGES, REFUSE_CHANGES = 1, 2
"""Options of a question about changed protected files."""
DENIED = "denied"
"""Key of a question about a call that the agent's own permissions do not allow."""
HELD = "held"
"""Key of a question that a person opened: the task is held, or does not start."""
IN_WAIT = "in_wait"
"""In the context of such a question: the task waited for a service, and continues with the same attempt again."""
QUOTA = "quota"
"""Key of the question whether a task continues after a long quota wait, or after an outage that lasts."""
OUTAGE_LASTS = "agent_outage"
"""``error_type`` in the context of a question about an outage that lasted for the whole ``outage_limit``."""

APART = "~"
"""Between the id of an attempt and the number of one of its approaches, in the names of files; no task has it."""

PROMPT_LIMIT = 1 << 20
"""Largest number of characters of a task's prompt, equal to the size limit of a plan file."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})
_NO_TEXT: Any = Clean("")
_NONE: Any = None
_NO_TEXTS: Any = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task: its prompt, and the check that decides whether it is done.

    ``check`` is a shell command; without one a task may end unverified, never succeeded. ``timeout_seconds`` is the
    time limit of an attempt and ``idle_seconds`` its idle limit. None means the limits of the settings. ``verify``,
    ``timeout_s`` and ``idle_s`` are their old names, which are accepted until version 1.0.

    Raises ArgumentError for a wrong value.

    Example::

        task = Task(id="greet", prompt="Write the greeting.", check="grep hello greeting.txt")
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

    def __init__(
        self,
        *,
        id: str,
        prompt: str,
        agent: str = "",
        agent_type: str = "default",
        needs: Iterable[str] = (),
        check: str | None = None,
        timeout_seconds: float | None = None,
        idle_seconds: float | None = None,
        isolation: Literal["shared", "worktree"] = "shared",
        verify: str | None = None,
        timeout_s: float | None = None,
        idle_s: float | None = None,
    ) -> None:
        """Create a task. Raises ArgumentError where a value has the wrong type."""
        check = verify if check is None else check
        limit = timeout_s if timeout_seconds is None else timeout_seconds
        idle = idle_s if idle_seconds is None else idle_seconds
        texts = {"id": id, "prompt": prompt, "check": "" if check is None else check, "agent": agent}
        for name, text in (texts | {"agent_type": agent_type}).items():
            if not isinstance(text, str):
                raise ArgumentError(f"a task's {name} must be text, not {type(text).__name__}")
        for name, seconds in (("timeout_seconds", limit), ("idle_seconds", idle)):
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if seconds is not None and not (number and seconds >= 0):
                raise ArgumentError(f"a task's {name} must be a number above 0, not {seconds!r}")
        names: tuple[object, ...] = (
            (needs,) if isinstance(needs, str) or not isinstance(needs, Iterable) else tuple(needs)
        )
        if not all(isinstance(need, str) for need in names):
            raise ArgumentError("a task's needs must be a list of text")
        if isolation not in ("shared", "worktree"):
            raise ArgumentError(f"a task's isolation must be 'shared' or 'worktree', not {type(isolation).__name__}")
        values = {
            "id": id,
            "prompt": admit(prompt, limit=PROMPT_LIMIT),
            "agent": agent,
            "agent_type": agent_type,
            "needs": names,
            "verify": check,
            "timeout_s": limit,
            "idle_s": idle,
            "isolation": isolation,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def check(self) -> str | None:
        """The shell command of its check."""
        return self.verify

    @property
    def timeout_seconds(self) -> float | None:
        """The time limit of an attempt."""
        return self.timeout_s

    @property
    def idle_seconds(self) -> float | None:
        """The idle limit of an attempt."""
        return self.idle_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of an agent. They decide how each escalation level works for it.

    ``hold``: ``step`` waits inside a call; ``freeze`` suspends its process group, by methods ``freeze`` and ``thaw``
    that take the attempt's id; with ``none`` it works on.
    ``tell``: text reaches it during an attempt. ``resume``: a session can be continued. ``fresh``: a new session can be
    started. ``stop``: an attempt can be ended from outside. ``may_restore``: its files may be restored without a
    question. ``signals``: it has to end with a status line, which its prompt explains.

    Raises ArgumentError for a wrong value.

    Example::

        can = Capabilities(hold="freeze", stop=True, fresh=True)
    """

    hold: Literal["step", "freeze", "none"] = "none"
    tell: bool = False
    resume: bool = False
    fresh: bool = False
    stop: bool = False
    may_restore: bool = False
    signals: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An approach that is worked at the same time as others, with the text for its agent.

    Example::

        print([way.approach for way in guidance.ways])
    """

    approach: Clean
    text: Clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Complete input of one attempt, recorded in ``attempt_started``.

    ``session`` is the agent's own session to continue, None for a new one. ``answers`` are the gates whose answers are
    in the text. ``allowed`` are the permission rules that persons have given for it. ``ways`` are the approaches that
    are worked at the same time, ``approach`` the first of them; empty for one.

    Example::

        async def agent(guidance: Guidance) -> None:
            (guidance.workdir / "notes.txt").write_text(guidance.text)
    """

    attempt: str
    number: int
    level: Level
    text: Clean
    workdir: Path
    approach: Clean | None = None
    session: str | None = None
    answers: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An action or a message of an agent, as hooks, streams and detection report it.

    ``at`` is in monotonic seconds of the caller. ``id`` is the agent's tool-use id: a repeated id changes nothing, and
    empty means none. ``tree`` is a hash of the worktree. ``tokens`` and ``cost`` (US dollars, None if unknown) come
    with ``usage`` and count since the last one; ``written`` is the part of the tokens that was written.
    ``asks`` is a question to the person in the agent's own terminal, without a text its end. ``session`` is the agent's
    own session, once it is known. Plain ``str`` is accepted for every text at run time.

    Raises ArgumentError for a wrong value.

    Example::

        step = Observation(kind="failure", text="1 failed", tool="bash", exit_code=1, task_id="greet")
    """

    kind: Literal["action", "success", "failure", "message", "usage", "alive", "asks"]
    text: Text = _NO_TEXT
    at: float = 0.0
    id: str = ""
    task_id: str = ""
    agent_id: str = ""
    tool: str = "bash"
    role: Literal["agent", "user", "system"] | None = None
    approach: OptionalText = _NONE
    exit_code: int | None = None
    tree: str | None = None
    tokens: int = 0
    cost: float | None = None
    written: int = field(default=0, compare=False)
    session: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Result of loop detection.

    ``pattern`` is the stable id that a person can mark as *not a loop*. With ``nudge`` the agent gets a warning,
    otherwise a question is opened. ``resets_on`` describes what would count as progress.

    Example::

        if verdict is not None and not verdict.nudge:
            print(verdict.evidence)
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
    """Stop report: ``ended`` holds (pid, start time, how), ``alive`` the (pid, start time) of processes still alive.

    Raises ArgumentError for a wrong value.

    Example::

        print([pid for pid, _, how in receipt.ended])
    """

    ended: tuple[tuple[int, float, str], ...] = ()
    alive: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A call that the agent's own permissions did not allow.

    ``rules`` allow it. ``cure`` says how, in one sentence; with ``grants`` the adapter can apply the rules itself.

    Raises ArgumentError for a wrong value.

    Example::

        Denial(what=admit("curl example.org"), rules=("Bash(curl:*)",))
    """

    what: Clean
    rules: tuple[str, ...]
    cure: Clean = Clean("")
    grants: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The agent's own account of an attempt. It never decides success.

    ``how`` is the way the attempt ended, ``error`` the text that a failure is diagnosed from. ``output`` is the path of
    the raw output below the run's directory, ``output_at`` its bytes (start, end), and ``output_lost`` the reason if
    some are missing. ``question``, ``options`` and ``context`` come with ``needs_guidance`` and ``blocked``. ``phase``
    is the current step in the agent's own words, ``alternatives`` are other approaches. ``cause`` is the cause that the
    agent states, ``summary`` the first sentence of its last message. ``tokens`` and ``cost`` are usage that no
    observation has reported. ``last_message`` is the agent's last message, ``model`` the model it names. ``claim`` is
    what it claims about the work; the supervisor sets it, and it is empty in old logs. ``said`` are the agent's last
    words, ``program`` is the name of a known agent, and ``marked`` is true if the agent itself marked ``error`` as one.
    ``denied`` are the calls that were not allowed, in their order. ``unread`` is true if the program got the prompt by
    its file alone and did not read it.

    Raises ArgumentError for a wrong value.

    Example::

        return Report(signal="needs_guidance", question="Which port?", options=("80", "8080"))
    """

    exit_code: int | None = None
    session: str | None = None
    error: OptionalText = _NONE
    approach: OptionalText = _NONE
    signal: Literal["complete", "blocked", "needs_guidance"] | None = None
    how: Literal[
        "ended", "crashed", "timed_out", "stopped", "not_started", "no_signal", "bad_signal", "over_budget"
    ] = "ended"
    question: OptionalText = _NONE
    options: Texts = _NO_TEXTS
    context: OptionalText = _NONE
    phase: OptionalText = _NONE
    alternatives: Texts = _NO_TEXTS
    cause: str = ""
    summary: OptionalText = _NONE
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    output_lost: Text = _NO_TEXT
    sample: OptionalText = _NONE
    said: Text = _NO_TEXT
    program: str = ""
    marked: bool = False
    tokens: int = 0
    cost: float | None = None
    receipt: Receipt | None = None
    last_message: OptionalText = _NONE
    model: str = ""
    claim: Claim | Literal[""] = ""
    denied: tuple[Denial, ...] = ()
    unread: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """End of a task. ``attempts`` is the number of attempts started, ``level`` the last escalation level.

    Example::

        outcome = await supervisor.supervise(task, agent)
        print(outcome.task_id, outcome.status, outcome.attempts)
    """

    task: str
    status: OutcomeStatus
    attempts: int
    level: Level
    last: Diagnosis | None = None

    @property
    def task_id(self) -> str:
        """The id of its task."""
        return self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """An instruction to an agent. Nothing else flows towards an agent.

    ``loop`` is the pattern of the repetition that the text is about; empty for any other text.

    Example::

        if directive.kind == "tell":
            print(directive.text)
    """

    kind: Literal["start", "go_on", "tell", "deny", "stop", "end"]
    text: Clean = Clean("")
    guidance: Guidance | None = None
    gate: str | None = None
    outcome: Outcome | None = None
    loop: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer to a question. ``number`` is in seconds for ``extend`` and a position from 1 for ``choose``.

    ``text`` goes to the agent. With ``choose`` it is the value that the option needs, such as a new check. A permission
    may hold for the task, for the run, or in every project of the user (``always``).

    Raises ArgumentError for a wrong value.

    Example::

        await supervisor.answer(gate.id, Answer(choice="retry", text="Keep the public names."))
    """

    choice: Choice
    text: Text = _NO_TEXT
    number: float | None = None
    scope: Scope = "once"

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A question. At most one is open per (task, type, key). ``acts_at`` is in monotonic seconds.

    ``standing`` is what the agent does meanwhile: held in its next call, suspended (``frozen``), or working on
    (``runs_on``). It is empty without a live agent, and in old logs.

    Example::

        for row in supervisor.state.open_gates():
            print(row.gate.id, row.gate.choices)
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

    @property
    def task_id(self) -> str:
        """The id of its task; empty for a question about the whole run."""
        return self.task


class Observer(Protocol):
    """Supervisor side of an attempt, called by the adapter of an agent.

    Example::

        directive = await observer.step(Observation(kind="action", text="pytest -q"))
    """

    def see(self, observation: Observation) -> None:
        """Record an observation without blocking. For streams that cannot be held."""

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        """Record an observation and return go_on, tell, deny or stop. May hold for at most ``within`` seconds."""

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        """Ask a person to permit an action and wait. Returns go_on, deny (with the reason) or stop.

        ``why`` is the agent's own reason. The action is denied if no question may be asked.
        """

    async def next_answer(self) -> Directive:
        """Wait for an answer that no step of this attempt has delivered. Returns tell or deny with the text.

        For agents that accept text at any time.
        """

    async def delivered(self, directive: Directive) -> None:
        """Confirm that the text was printed or the prompt accepted."""

    async def spawned(self, pid: int, start: float) -> None:
        """Record the attempt's process (``start``: seconds since 1970). Returns once that is on disk."""


@runtime_checkable
class Agent(Protocol):
    """Adapter of a real agent.

    Example::

        class Writer:
            can = Capabilities(stop=True)

            async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
                return Report(last_message="Done.")

            async def stop(self, attempt: str) -> Receipt:
                return Receipt()
    """

    @property
    def can(self) -> Capabilities: ...

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Work on ``task`` once. Cancelling stops the agent first, as ``stop`` does."""

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt. Returns when its processes have ended."""


class TaskSession(Observer, Protocol):
    """The attempts of one task, driven by ``supervise()`` or by the hook bridge.

    Example::

        session = supervisor.session(task, Capabilities(fresh=True))
        directive = await session.begin()
    """

    async def begin(self) -> Directive:
        """Begin the task. Returns start or end."""

    async def end(self, attempt: str, report: Report) -> Directive:
        """End an attempt: check, diagnose, decide and prepare. Returns start or end."""
