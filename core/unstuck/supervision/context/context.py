"""The context of one run: its places, its services and the state that its parts share."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.clock import Clock
from unstuck.contract import Actor, Agent, Answer, Gate, Observer, Task
from unstuck.detection import LoopDetector
from unstuck.escalation.limits import Limits
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import Event, TaskAdded
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.state import State, TaskRow
from unstuck.settings.models import Settings
from unstuck.supervision.checks.check import Check, Verifier
from unstuck.supervision.context.next_step import is_working, working
from unstuck.supervision.context.signals import Signals, Subject
from unstuck.supervision.context.types import RUN, Question, Takeover
from unstuck.workspace.git.repository import Repository
from unstuck.workspace.worktrees.worktrees import Worktrees

if TYPE_CHECKING:
    from unstuck.workspace.checkpoints.manager import CheckpointStore


Price = tuple[float, float, bool]
"""US dollars per million tokens read and written, and whether the agent reports no cost itself."""
GatePolicy = Callable[[Gate], "tuple[int, Answer] | None"]


def limits_of(settings: Settings) -> Limits:
    handler = settings.failure_handler
    return Limits(
        max_retries=handler.max_retries,
        max_pivots=handler.max_pivots,
        max_research=handler.max_research,
        max_attempts=handler.max_attempts,
        parallel=settings.pivot.parallel,
        task_failure_limit=settings.task_failure_limit,
        skip_to_ask=tuple(handler.skip_to_ask),
        outage_limit=settings.outage_limit,
        resume_after_quota=settings.after_quota == "resume",
        auto_resolve=tuple((rule.pattern, rule.action, rule.command) for rule in handler.auto_resolve),
        patterns=tuple((way.pattern, way.approach, way.confidence) for way in handler.patterns),
        learned=settings.memory.order == "learned",
    )


@dataclass(slots=True, kw_only=True)
class LiveAttempts:
    """The attempts at work in this process: their agents, the questions about them, and the calls that wait.

    All but ``calls`` are by attempt.
    """

    orphans: dict[str, tuple[Agent, str]] = field(default_factory=dict)
    """Agents that outlived a killed supervisor, until their task is taken up, each with its gate."""
    asking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """Questions about to be opened; ``RUN`` stands for the whole run."""
    keep_time: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Suspends or continues the agent and its clocks, as the questions and the log demand."""
    ask: dict[str, Callable[[Question], None]] = field(default_factory=dict)
    """Asks a question that a person wants to be asked."""
    observers: dict[str, Observer] = field(default_factory=dict)
    """Take what the agent does."""
    calls: dict[str, int] = field(default_factory=dict)
    """The number of calls of agents that wait for the answer to a gate, by gate."""

    def asking_about(self, attempt: str) -> asyncio.Task[None] | None:
        """The question about ``attempt``, or about the whole run, that is about to be opened."""
        return self.asking.get(attempt) or self.asking.get(RUN)


@dataclass(slots=True)
class SharedBaseline:
    """Result of one check on files that several tasks start from; ``check`` is None until it ran."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    check: Check | None = None


@dataclass(slots=True, kw_only=True)
class Takeovers:
    """The worktrees that a person edits by hand, by the gate at which their agents wait."""

    by_gate: dict[str, Takeover] = field(default_factory=dict)
    """Those that were given back, too: they may be taken again."""
    active: set[str] = field(default_factory=set)
    """The gates whose worktrees a person has now."""

    def has(self, task: str) -> bool:
        """Return whether a person edits the files of ``task`` now."""
        return any(self.by_gate[gate].task == task for gate in self.active)


@dataclass(slots=True, kw_only=True)
class RecoveryChoices:
    """Choices of how interrupted attempts continue."""

    interrupted: frozenset[str] = frozenset()
    """The attempts that this process has found interrupted."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """The choices made beforehand, by task or pattern."""


@dataclass(slots=True, kw_only=True)
class RunContext:
    """One run's places, services and shared state, passed to every part of supervision.

    ``policy`` answers gates by rule. ``watched`` says whether a person watches, ``deciding`` how many
    requests of a person are being carried out. ``baseline_check`` and ``setup_fails``
    are there where the run has a check or a setup of its own.
    """

    root: Path
    home: Path
    folder: Path
    subdirectory: Path = Path()
    environ: Mapping[str, str]
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices of the agents of a plan, by their names in it."""

    journal: Journal
    settings: Settings
    limits: Limits
    clock: Clock
    verifier: Verifier
    detector: LoopDetector
    memory: Memory
    repository: Repository | None
    checkpoints: Callable[[Path], CheckpointStore]
    worktrees: Worktrees | None = None
    signals: Signals = field(default_factory=Signals)

    policy: GatePolicy = lambda gate: None
    watched: bool = False
    deciding: int = 0
    setup: str = ""
    baseline_check: Callable[..., Awaitable[None]] | None = None
    setup_fails: Callable[[], Awaitable[bool]] | None = None
    agent_for: Callable[[Task, Mapping[str, str]], Agent] | None = None
    """Makes the agent that a task names, with more variables; None where a caller gives each task its agent."""
    slots: set[int] = field(default_factory=set)
    """Numbers of the approaches that are worked at the same time."""
    agent_types: Mapping[str, str] = field(default_factory=dict)
    """Types of the agents of a plan, by their names in it."""
    unfit: Callable[[str], str] = lambda agent: ""
    """Returns why an agent of the plan cannot be used; nothing where it can."""
    remediates: bool = False
    """True if an agent is named that repairs the baseline."""

    live: LiveAttempts = field(default_factory=LiveAttempts)
    takeovers: Takeovers = field(default_factory=Takeovers)
    recovery: RecoveryChoices = field(default_factory=RecoveryChoices)
    baselines: defaultdict[tuple[str, str], SharedBaseline] = field(default_factory=lambda: defaultdict(SharedBaseline))
    """By the command of the check and the tree of the files."""
    tree_locks: defaultdict[Path, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """Keep a second task out of a tree in which one prepares its attempt."""
    worktree_slots: asyncio.Semaphore = field(init=False)
    """Bounds how many of the tasks that are ready at once prepare their worktrees together."""
    _busy: dict[str, None] = field(default_factory=dict)
    _dependents: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.worktree_slots = asyncio.Semaphore(self.settings.max_parallel)
        for row in self.head.tasks.values():
            self._index_needs(row)
        self._find_busy()
        self.journal.on_append(self._note)

    def _index_needs(self, row: TaskRow) -> None:
        for need in row.task.needs:
            self._dependents[need].append(row.id)

    def _find_busy(self) -> None:
        self._busy = dict.fromkeys(row.id for row in working(self.head))

    def _note(self, record: Record) -> None:
        """Keep the index of the tasks at work. Where one ceases, the first of those in line may start."""
        row, before = self.head.tasks.get(record.task), len(self._busy)
        if row is None:
            self._find_busy()
        elif is_working(self.head, row):
            self._busy[row.id] = None
        else:
            self._busy.pop(row.id, None)
        if row is not None and isinstance(record.event, TaskAdded):
            self._index_needs(row)
        if row is not None and row.state == "ended":
            for dependent in self._dependents.get(row.id, ()):
                self.signals.wake(Subject.TASK, dependent)
        if len(self._busy) < before:
            self.signals.wake_lines()

    @property
    def head(self) -> State:
        """The state with all decisions, durable or pending."""
        return self.journal.head

    @property
    def run(self) -> str:
        return self.journal.run

    @property
    def person(self) -> bool:
        """Return whether a person is there: one watches, or a request of one is being carried out."""
        return self.watched or self.deciding > 0

    @property
    def may_ask(self) -> bool:
        """Return whether a gate may be opened for a person at all."""
        return self.settings.ask != "never"

    @property
    def accept_unverified(self) -> bool:
        return self.settings.unverified == "accept"

    def limit_of(self, task: Task) -> float:
        """The time limit of an attempt at ``task``, in seconds."""
        return task.timeout_s or self.settings.timeout_for(task.agent_type)

    def time_left(self, row: TaskRow) -> float:
        """The time limit of the next attempt at ``row``, less the time of the attempts that it continues.

        At least a tenth of the limit is left, so that it can begin.
        """
        limit = self.limit_of(row.task)
        return max(limit - row.used, limit / 10)

    def idle_limit_of(self, task: Task) -> float:
        """The limit of seconds without a sign of life for an attempt at ``task``."""
        return task.idle_s or self.settings.idle_timeout

    def row(self, task: str) -> TaskRow:
        return self.head.tasks[task]

    def append(self, event: Event, *, task: str = "", attempt: str = "", actor: Actor = "policy") -> int:
        """Record an event about ``task``; returns its sequence number."""
        return self.journal.append(event, actor=actor, task=task, attempt=attempt).seq

    def tree_of(self, row: TaskRow) -> Path:
        if row.task.isolation == "worktree" and self.worktrees is not None:
            return self.worktrees.path(row.id)
        return self.root

    def workdir(self, tree: Path) -> Path:
        """The directory in ``tree`` for the agent and its check: the user's own, relative to the root."""
        return tree / self.subdirectory

    def busy(self) -> tuple[TaskRow, ...]:
        """The tasks that use their trees."""
        return tuple(self.head.tasks[task] for task in self._busy)
