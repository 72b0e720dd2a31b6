"""State of a run: frozen rows in mutable maps. Only the fold changes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from unstuck.arguments import checked
from unstuck.contract import (
    APART,
    Actor,
    Answer,
    CheckResult,
    Gate,
    GateStatus,
    Guidance,
    Level,
    OutcomeStatus,
    Report,
    Task,
)
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.summary_rows import Decided, Page, SignatureRow

TaskState = Literal[
    "blocked", "ready", "running", "judging", "undecided", "backoff", "preparing", "waiting", "parked",
    "interrupted", "ended",
]  # fmt: skip
AttemptState = Literal["starting", "live", "held", "stopping", "ended", "interrupted"]
RunState = Literal["new", "running", "blocked", "draining", "parked", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """The last check of a task. ``ending``, ``said`` and ``untouched`` are about the attempt before it.

    ``approach`` is that of the attempt where the agent stated none, ``size`` in lines. ``output`` is a file in the
    ``output/`` folder of the run.
    """

    result: CheckResult
    command: str = ""
    exit_code: int | None = None
    problem: str = ""
    trouble: str = ""
    evidence: str = ""
    output: str = ""
    circular: bool = False
    weakened: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    ending: str = ""
    said: str = ""
    untouched: bool = False
    approach: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBaseline:
    """Result of ``command`` on the files from before a task's work, with how far it came."""

    command: str
    result: CheckResult
    identity: str = ""
    headline: str = ""
    extent: Extent = UNKNOWN_EXTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Results of a check that passed: without the work, and with the tests as they were."""

    without_work: CheckResult = "none"
    old_tests: CheckResult = "none"
    problem: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Knowledge about the files of a task: equal to ``checkpoint``, or else how far the check came with them."""

    checkpoint: str = ""
    extent: Extent = UNKNOWN_EXTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """A change of agents after so many ``attempts``: ``agent`` goes on in place of ``before``, and ``why``."""

    before: str
    agent: str
    reason: str
    why: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """Files that a task and the task ``other`` both change. ``is_later``: the other one changed them first."""

    other: str
    paths: tuple[str, ...]
    is_later: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveRow:
    """A decided directive and the progress of its preparation. ``instead_of`` is an agent that another one replaces."""

    level: Level
    hint: str = ""
    approach: str = ""
    fresh: bool = False
    restore: Literal["", "good", "baseline", "passing"] = ""
    checkpoint: str = ""
    reason: str = ""
    line: int = 0
    answer: str = ""
    answers: tuple[str, ...] = ()
    saved: str = ""
    progress: tuple[str, ...] = ()
    restored: str | None = None
    restored_note: str = ""
    insights: tuple[str, ...] | None = None
    command: str = ""
    ran: str | None = None
    instead_of: str = ""
    approaches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One attempt. ``started`` is the monotonic time of its record; ``pid`` and ``spawned`` are its process.

    ``deadline`` is the monotonic time at which its ``limit`` (seconds) is reached, and ``warn_at`` that of the warning;
    None without a limit. Both move by the time that the attempt is held: since ``held_since``, and ``held`` seconds
    before. ``timed_out`` names the clock that ended it. ``repeats`` is how often its current step occurred before.
    ``tokens`` and ``cost`` (US dollars, None if unknown) are its reported usage. ``note`` is the end of its guidance
    that is only for this attempt. ``own_check`` is the result of the check as the agent ran it last, with nothing
    done since; ``asked`` while it runs. ``spawns`` are the processes of its approaches where several are worked at the
    same time, ``ways`` those of them that have ended: slot and result. ``awaits`` is why no host of a shared plan works
    it yet, ``host`` the one that does.
    """

    id: str
    task: str
    guidance: Guidance
    started: float
    started_seq: int = 0
    limit: float = 0.0
    deadline: float | None = None
    warn_at: float | None = None
    held_since: float | None = None
    held: float = 0.0
    timed_out: str = ""
    tokens: int = 0
    written: int = 0
    cost: float | None = None
    state: AttemptState = "starting"
    pid: int = 0
    spawned: float = 0.0
    session: str = ""
    asks: str = ""
    awaits: str = ""
    host: str = ""
    report: Report | None = None
    steps: int = 0
    repeats: int = 0
    begun: str = ""
    turn: int = 0
    seconds: float | None = None
    check: str = ""
    signature: str = ""
    headline: str = ""
    checkpoint: str = ""
    note: str = ""
    own_check: Literal["", "asked", "passed", "failed"] = ""
    spawns: tuple[tuple[int, float], ...] = ()
    ways: tuple[tuple[int, str], ...] = ()

    @property
    def is_live(self) -> bool:
        """True if its agent may still work, also after an answer has ended the task."""
        return self.state not in ("ended", "interrupted")

    @property
    def shown(self) -> str:
        """Name of its output: of several approaches, of the one that passed, else of the first that still works."""
        ended = dict(self.ways)
        working = (slot for slot in range(1, len(self.guidance.ways) + 1) if slot not in ended)
        slot = next((slot for slot, result in self.ways if result == "passed"), None) or next(working, 1)
        return self.id if slot == 1 else f"{self.id}{APART}{slot}"

    def used(self, mono: float) -> float:
        """Return the seconds of its time limit used at ``mono``, without the time it was held."""
        until = mono if self.held_since is None else self.held_since
        return max(0.0, until - self.started - self.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task, with everything that its next step depends on.

    ``saved`` is the checkpoint of the open question, ``none`` if there could be none. ``backoff_quota``: the wait is
    for a quota; ``backoff_check``: only the check is repeated after it; ``backoff_outage``: it is for an outage, and so
    many seconds may still be waited after it; ``backoff_since`` is the time of its start. ``used`` are the seconds that
    interrupted attempts used of the next attempt's time limit. ``left`` are the files that the last of them left, one
    per line. ``failures`` are those of the present approach that retries have answered, oldest first. ``chosen`` is the
    escalation level that a person chose. ``loads`` is the last checkpoint that is known to load: its tests ran, or its
    check passed. ``files`` describes the present files, ``before`` those at the start of the last checked attempt.
    ``files_hash`` is that of the files after the last check that did not pass, unless ``files`` says more.
    ``paid`` is the number of attempts before the last answer, which do not count for the budget of the task.
    ``collisions`` are with tasks that change the same files; with one that has ended they mean nothing.
    ``accepted`` are protected paths that a person allowed the task to change; ``refused``: it may not. ``flaky`` is the
    test that last failed and then passed without a change. ``proving``: the checkpoint and the paths that are put back
    at the end of a proof. ``failover`` are the agents that may go on with it, ``failovers`` the changes so far.
    """

    task: Task
    after_skip: Literal["block", "run", "skip"] = "block"
    mode: Literal["orchestrated", "direct"] = "orchestrated"
    shared_verify: bool = False
    failover: tuple[str, ...] = ()
    failovers: tuple[Failover, ...] = ()
    state: TaskState = "ready"
    status: OutcomeStatus | None = None
    reason: str = ""
    attempts: int = 0
    attempt: str = ""
    level: Level = "first"
    climb: Climb = field(default_factory=Climb)
    report: Report | None = None
    check: CheckRow | None = None
    diagnosis: Diagnosis | None = None
    failures: tuple[Diagnosis, ...] = ()
    directive: DirectiveRow | None = None
    prepared: Guidance | None = None
    gate: str = ""
    session: str | None = None
    baseline: str = ""
    baseline_check: TaskBaseline | None = None
    good: str = ""
    loads: str = ""
    files: Standing = Standing()
    before: Standing = Standing()
    saved_at: int = 0
    saved: str = ""
    integrated: str = ""
    set_up: bool = False
    backoff_until: float = 0.0
    backoff_delay: float = 0.0
    backoff_quota: bool = False
    backoff_check: bool = False
    backoff_outage: float | None = None
    backoff_since: str = ""
    used: float = 0.0
    left: tuple[str, ...] = ()
    chosen: str = ""
    accepted: tuple[str, ...] = ()
    refused: bool = False
    flaky: str = ""
    proving: tuple[str, tuple[str, ...]] | None = None
    proof: Proof | None = None
    files_hash: str = ""
    paid: int = 0
    collisions: tuple[Collision, ...] = ()
    changed: int = 0

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def agents_left(self) -> tuple[str, ...]:
        """The agents that may still go on with it, in their order."""
        tried = {self.task.agent, *(change.before for change in self.failovers)}
        return tuple(name for name in self.failover if name not in tried)

    def agent_of(self, number: int) -> str:
        """Return the name of the agent of attempt ``number``."""
        later = (change.before for change in self.failovers if number <= change.attempts)
        return next(later, self.task.agent or self.task.agent_type)

    @property
    def passed_before_work(self) -> bool:
        """True if its check passed before any work and was not proved since: it cannot show success."""
        before, proof = self.baseline_check, self.proof
        proved = proof is not None and proof.without_work == "failed"
        return before is not None and before.result == "passed" and before.command == self.task.verify and not proved


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """A gate with its times (ISO 8601) and the effect of its answer. ``since`` is monotonic, in seconds.

    ``holds`` are the tasks whose work waits for it. ``handed`` is the checkpoint from before the first takeover.
    ``via`` is how the answer came in.
    """

    gate: Gate
    opened: str
    since: float = 0.0
    closed: str = ""
    effect: str = ""
    rule: int | None = None
    report: str = ""
    holds: tuple[str, ...] = ()
    handed: str = ""
    via: str = ""

    @property
    def id(self) -> str:
        return self.gate.id

    @property
    def status(self) -> GateStatus:
        return self.gate.status

    @property
    def answer(self) -> Answer | None:
        return self.gate.answer

    @property
    def by(self) -> Actor | None:
        return self.gate.by


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """The run. ``base`` and ``branch`` were checked out at its start. Results up to the commit ``delivered`` are done.

    ``remediation`` is the number of the current repair attempt, ``blocked`` the failure of the baseline. ``restored``
    is the record since which the baseline passes again; checkpoints before it hold a failing baseline.

    ``limits`` are the budgets by name, ``over`` is the one that is used up. ``tokens`` and ``cost`` (US dollars, None
    if no agent reports it) are sums over all agents. ``worked`` are the seconds that the run was open before ``since``
    (monotonic), the start of the present session. ``ended`` is the time of its end (ISO 8601).

    ``unwatched`` are start and end (seconds since 1970) of helpers that were killed: what they looked after may answer.

    ``check_rules`` maps the command of a contradicted check to its result, ``failed`` or ``passed``. ``check_edits``
    maps it to the command that a person put in its place.
    """

    id: str = ""
    state: RunState = "new"
    kind: str = "plan"
    project: str = ""
    started: str = ""
    ended: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    base: str = ""
    branch: str = ""
    delivered: str = ""
    baseline: str = ""
    baseline_identity: str = ""
    baseline_extent: Extent = UNKNOWN_EXTENT
    blocked: str = ""
    remediation: int = 0
    remediation_failed: int = 0
    restored: int = 0
    stopping: str = ""
    failed: str = ""
    exit_reason: str = ""
    exit_code: int | None = None
    pid: int = 0
    limits: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    cost: float | None = None
    worked: float = 0.0
    since: float | None = None
    warned: tuple[str, ...] = ()
    over: str = ""
    check_rules: dict[str, Literal["failed", "passed"]] = field(default_factory=dict)
    check_edits: dict[str, str] = field(default_factory=dict)
    unwatched: tuple[tuple[float, float], ...] = ()

    def check_now(self, command: str) -> str:
        """Return the check that replaces ``command`` after all edits."""
        seen = {command}
        while (edited := self.check_edits.get(command)) and edited not in seen:
            seen.add(edited)
            command = edited
        return command

    def used(self, kind: str, mono: float) -> float:
        """Return the used part of the budget ``kind`` at the monotonic time ``mono``."""
        if kind == "time":
            return self.worked + (max(0.0, mono - self.since) if self.since is not None else 0.0)
        return float(self.tokens if kind == "tokens" else self.cost or 0.0)


class _Gates(dict[str, GateRow]):
    """Questions by id, oldest first, with the ids of the open ones and of those of each task beside them."""

    def __init__(self, rows: Mapping[str, GateRow]) -> None:
        super().__init__()
        self.open: dict[str, None] = {}
        self.by_task: dict[str, dict[str, None]] = {}
        for id, row in rows.items():
            self[id] = row

    def __reduce__(self) -> tuple[type[_Gates], tuple[dict[str, GateRow]]]:
        return _Gates, (dict(self),)  # a copy fills a dictionary before its lists

    def __setitem__(self, id: str, row: GateRow) -> None:
        before = self.get(id)
        if (
            before is not None
            and (before.gate.task, before.status) != (row.gate.task, row.status)
            and row.status == "open"
        ):
            # Opened again, it is the youngest one; a log that was edited may even give it to another task.
            del self[id], self.by_task[before.gate.task][id]
            self.open.pop(id, None)
        super().__setitem__(id, row)
        self.by_task.setdefault(row.gate.task, {})[id] = None
        if row.status == "open":
            self.open[id] = None
        else:
            self.open.pop(id, None)


@dataclass(slots=True)
class State:
    """State of a run, folded from its log. ``unknown`` counts events of a later version.

    ``seq`` and ``mono`` are the number and the monotonic time of the last record. ``signatures`` are the failures by
    identity. ``decided`` (decisions without a question) and ``pages`` (notifications) are keyed by record number.

    Example::

        print({row.id: row.status for row in supervisor.state.tasks.values()})
    """

    seq: int = 0
    mono: float = field(default=0.0, compare=False)
    run: RunRow = field(default_factory=RunRow)
    tasks: dict[str, TaskRow] = field(default_factory=dict)
    attempts: dict[str, AttemptRow] = field(default_factory=dict)
    gates: dict[str, GateRow] = field(default_factory=dict)
    signatures: dict[str, SignatureRow] = field(default_factory=dict)
    decided: dict[int, Decided] = field(default_factory=dict)
    pages: dict[int, Page] = field(default_factory=dict)
    unknown: int = 0

    def __post_init__(self) -> None:
        self.gates = _Gates(self.gates)

    @property
    def _gates(self) -> _Gates:
        assert isinstance(self.gates, _Gates)
        return self.gates

    def open_gates(self) -> tuple[GateRow, ...]:
        """Return the open questions, oldest first."""
        return tuple(self.gates[id] for id in self._gates.open)

    @checked
    def gates_of(self, task: str) -> tuple[GateRow, ...]:
        """Return the questions of ``task``, oldest first; those of the whole run without one."""
        return tuple(self.gates[id] for id in self._gates.by_task.get(task, ()))

    def agents(self) -> list[tuple[int, float]]:
        """Return the agents of all attempts: process id and start, in seconds since 1970."""
        return [(row.pid, row.spawned) for row in self.attempts.values() if row.pid]


def later_of(state: State, task: str) -> tuple[str, ...]:
    """Return the later tasks of the collisions of ``task``, each once."""
    row = state.tasks.get(task)
    found = collisions_of(state, row) if row is not None else ()
    return tuple(dict.fromkeys(task if one.is_later else one.other for one in found))


def collisions_of(state: State, row: TaskRow) -> tuple[Collision, ...]:
    """Return the collisions of ``row`` with tasks that have not ended."""
    others = {task for task, other in state.tasks.items() if other.state != "ended"} if row.collisions else set()
    return tuple(one for one in row.collisions if one.other in others) if row.state != "ended" else ()


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[State]:
    return TypeAdapter(State)


def dump(state: State) -> bytes:
    """Return ``state`` as JSON for a snapshot."""
    return _adapter().dump_json(state, fallback=dict, warnings=False)


def load(raw: bytes) -> State | None:
    """Return the state that :func:`dump` wrote, None if it does not fit this version."""
    try:
        return _adapter().validate_json(raw)
    except ValidationError:
        return None


def copied(state: State) -> State:
    """Return a second state with the same frozen rows in maps of its own."""
    return replace(
        state,
        tasks=dict(state.tasks),
        attempts=dict(state.attempts),
        signatures=dict(state.signatures),
        decided=dict(state.decided),
        pages=dict(state.pages),
    )
