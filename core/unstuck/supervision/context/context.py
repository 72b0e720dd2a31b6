"""What a session works with: the journal, the clock, the settings and the services, put together once per run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unstuck.clock import Clock
from unstuck.contract import Actor, Agent, Answer, Gate, Observer, Task
from unstuck.detection import LoopDetector
from unstuck.escalation.limits import Limits
from unstuck.eventlog.events import Event
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.state import State, TaskRow
from unstuck.settings.models import Settings
from unstuck.supervision.checks.check import Verifier
from unstuck.supervision.context.next_step import working
from unstuck.supervision.context.types import Handed, Question
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import Repository
from unstuck.workspace.worktrees.worktrees import Worktrees

__all__ = ["Core", "GatePolicy", "limits_of"]

GatePolicy = Callable[[Gate], "tuple[int, Answer] | None"]


def limits_of(settings: Settings) -> Limits:
    """The ladder's limits as the settings have them."""
    handler = settings.failure_handler
    return Limits(
        max_retries=handler.max_retries,
        max_pivots=handler.max_pivots,
        max_research=handler.max_research,
        max_attempts=handler.max_attempts,
        task_failure_limit=settings.task_failure_limit,
        skip_to_ask=tuple(handler.skip_to_ask),
        resume_after_quota=settings.after_quota == "resume",
        auto_resolve=tuple((rule.pattern, rule.action, rule.command) for rule in handler.auto_resolve),
        patterns=tuple((way.pattern, way.approach, way.confidence) for way in handler.patterns),
    )


@dataclass(slots=True, kw_only=True)
class Core:
    """One run's parts. ``policy`` answers gates by rule; ``person`` says whether somebody watches.

    ``survivors`` are the attempts that have outlived a killed supervisor, until their task is taken up, with the gate
    about each. ``asking`` are the questions that are about to be opened, by attempt (empty: the whole run), and
    ``stand_still`` makes the agent of an attempt do as these and the record say. ``questioned`` asks what a person
    wants to be asked about an attempt, with how its agent stands meanwhile. ``observers`` hear what the agent of an
    attempt does, and ``calls`` are the gates for whose answers calls of agents wait, with how many. ``cut_off`` are the
    attempts that this process has found interrupted, and ``chosen`` what was said beforehand of what becomes of them,
    by task or pattern. ``in_hands`` are the trees that a person has taken over, by the question their agents wait at,
    also those that were given back and may be taken again; ``taken`` are the questions whose trees a person has now.
    """

    root: Path
    home: Path
    folder: Path
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
    environ: Mapping[str, str]
    subdirectory: Path = Path()
    setup: str = ""
    policy: GatePolicy = lambda gate: None
    person: bool = False
    survivors: dict[str, tuple[Agent, str]] = field(default_factory=dict)
    asking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    stand_still: dict[str, Callable[[], None]] = field(default_factory=dict)
    questioned: dict[str, Callable[[Question], None]] = field(default_factory=dict)
    in_hands: dict[str, Handed] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    observers: dict[str, Observer] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    cut_off: frozenset[str] = frozenset()
    chosen: Mapping[str, str] = field(default_factory=dict)
    baseline_check: Callable[..., Awaitable[None]] | None = None
    setup_fails: Callable[[], Awaitable[bool]] | None = None
    making_ready: asyncio.Semaphore = field(init=False)
    _changed: dict[str, asyncio.Event] = field(default_factory=dict)
    _busy: tuple[int, tuple[TaskRow, ...]] = (-1, ())

    def __post_init__(self) -> None:
        # A hundred tasks that are ready at once do not all make their trees before the first may start.
        self.making_ready = asyncio.Semaphore(self.settings.max_parallel)

    @property
    def head(self) -> State:
        """What has been decided."""
        return self.journal.head

    @property
    def run(self) -> str:
        return self.journal.run

    @property
    def may_ask(self) -> bool:
        """Whether a gate may be opened for a person at all."""
        return self.settings.ask != "never"

    @property
    def accept_unverified(self) -> bool:
        return self.settings.unverified == "accept"

    def limit_of(self, task: Task) -> float:
        """The time limit of an attempt at ``task``, in seconds."""
        return task.timeout_s or self.settings.timeout_for(task.agent_type)

    def time_left(self, row: TaskRow) -> float:
        """The time limit of the next attempt at ``row``: one that goes on has what the interrupted ones have left.

        A tenth of the limit is always left, or it could not even begin.
        """
        limit = self.limit_of(row.task)
        return max(limit - row.used, limit / 10)

    def idle_limit_of(self, task: Task) -> float:
        """How long an attempt at ``task`` may show no activity, in seconds."""
        return task.idle_s or self.settings.idle_timeout

    def row(self, task: str) -> TaskRow:
        return self.head.tasks[task]

    def append(self, event: Event, *, task: str = "", attempt: str = "", actor: Actor = "policy") -> int:
        """Record an event about ``task``; returns its sequence number."""
        return self.journal.append(event, actor=actor, task=task, attempt=attempt).seq

    def changed(self, task: str) -> asyncio.Event:
        """The event that is set when something about ``task`` may have changed."""
        return self._changed.setdefault(task, asyncio.Event())

    def wake(self, task: str = "") -> None:
        """Wake the session of ``task``, or all of them."""
        for event in [self.changed(task)] if task else list(self._changed.values()):
            event.set()

    def tree_of(self, row: TaskRow) -> Path:
        """The work tree in which ``row`` is worked on."""
        if row.task.isolation == "worktree" and self.worktrees is not None:
            return self.worktrees.path(row.id)
        return self.root

    def workdir(self, tree: Path) -> Path:
        """Where in ``tree`` the agent and its check run: where the user stood."""
        return tree / self.subdirectory

    def busy(self) -> tuple[TaskRow, ...]:
        """The tasks that use their trees, looked for once per record: hundreds of sessions may ask after each."""
        if self._busy[0] != self.head.seq:
            self._busy = (self.head.seq, working(self.head))
        return self._busy[1]
