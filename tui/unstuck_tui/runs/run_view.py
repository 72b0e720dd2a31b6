"""A run as a screen sees it, wherever it is worked. The widgets know a run by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from unstuck.clock import Clock
from unstuck.contract import Answer
from unstuck.errors import UnstuckError
from unstuck.escalation.limits import Limits
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import NotificationSent
from unstuck.eventlog.state import GateRow, State
from unstuck.supervision.context.next_step import can_progress
from unstuck.supervision.context.types import Back, Handed
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.supervision.recovery.review import Standstill
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean
from unstuck.workspace.project import Project

__all__ = ["LiveRun", "NoticeKind", "RunView", "agents_at_work", "limits_of", "meanwhile"]

NoticeKind = Literal["needs_you", "resolved", "run"]


class RunView(Protocol):
    """A run as its screen sees it: its durable state, and what a person can do to it."""

    @property
    def title(self) -> str:
        """The text in the place of the project's name; empty where that stands there."""

    @property
    def is_past(self) -> bool:
        """True for a replay."""

    @property
    def is_elsewhere(self) -> bool:
        """True where another process works it: leaving the screen changes nothing."""

    @property
    def clock(self) -> Clock:
        """The time that the countdowns go by."""

    @property
    def state(self) -> State:
        """The durable state; read it, never write it."""

    @property
    def log(self) -> Path:
        """The run's log file; the outputs of its attempts lie in ``output`` beside it."""

    @property
    def place(self) -> Project | None:
        """The project of the run; None where only its log is at hand."""

    @property
    def limits(self) -> Mapping[str, int]:
        """The number of tries on each escalation level, and under ``loop`` of the repetitions that are one."""

    @property
    def output_limit(self) -> int:
        """The bytes of an attempt's output that are kept."""

    @property
    def held(self) -> str:
        """The reason why nothing can be recorded for the moment; empty where it can."""

    @property
    def unrecorded(self) -> GateRow | None:
        """The question about a log that cannot be written: it is in no record itself."""

    @property
    def goes_on(self) -> bool:
        """True while the run does something in this process without the screen."""

    @property
    def rules(self) -> Limits:
        """The limits of the escalation levels."""

    async def changes(self, task: str) -> tuple[str, str]:
        """The checkpoint that the files of ``task`` are compared with, and the diff from there on; else empty."""

    @property
    def recovery(self) -> Standstill | None:
        """The decisions that are due before this process resumes the run; None where there are none."""

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        """Call ``see`` for every record that becomes durable, and ``trouble`` whenever ``held`` has changed.

        Returns what ends that.
        """

    async def answer(self, gate: str, answer: Answer) -> object:
        """Give ``gate`` its answer. Raises GateUnknown, GateClosed, AnswerRefused."""

    async def hold(self, task: str) -> str:
        """Hold the agent of ``task``; returns the gate that it then waits at. Raises UnstuckError."""

    async def step_in(self, task: str, answer: Answer) -> object:
        """Hold ``task`` and decide about it; ``extend`` gives it more time. Raises UnstuckError where it cannot."""

    async def choose_rung(self, task: str, level: NextRung) -> None:
        """Say what comes next for ``task``. Raises UnstuckError where it cannot be chosen."""

    async def hand_over(self, task: str) -> Handed:
        """Suspend the agent of ``task`` while a person works in its worktree. Raises UnstuckError."""

    async def give_back(self, handed: Handed) -> Back:
        """The person has left the tree; what they have changed in it."""

    async def keep_open(self, gate: str) -> object:
        """Stop the timer that would answer ``gate``: a person is there."""

    async def stop(self, reason: str) -> object:
        """End every agent of the run; it can be resumed."""

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        """A notification about ``tasks`` went out by ``way``; recorded where this process works the run."""


class LiveRun:
    """The run that this process works."""

    title = ""
    is_past = False
    is_elsewhere = False

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor, self._core = supervisor, supervisor.core
        self.rules = supervisor.core.limits
        self.limits = limits_of(self.rules, supervisor.core.settings.window_size)

    @property
    def clock(self) -> Clock:
        return self._core.clock

    @property
    def state(self) -> State:
        return self._supervisor.state

    @property
    def log(self) -> Path:
        return self._core.journal.path

    @property
    def place(self) -> Project:
        core = self._core
        return Project(core.root / core.subdirectory, core.root, core.repository, core.home)

    @property
    def output_limit(self) -> int:
        return self._core.settings.output_limit

    @property
    def held(self) -> str:
        return self._core.journal.held

    @property
    def unrecorded(self) -> GateRow | None:
        if not self.held:
            return None
        asked = self._core.head.open_gates()
        return next((row for row in asked if row.gate.type == "disk" and row.id not in self.state.gates), None)

    @property
    def goes_on(self) -> bool:
        state = self._core.head
        if state.run.kind == "watch":
            return bool(agents_at_work(state))
        accept = self._core.accept_unverified
        works = any(can_progress(state, row, accept_unverified=accept) for row in state.tasks.values())
        return state.run.state == "blocked" or (state.run.state == "running" and (works or not state.tasks))

    @property
    def recovery(self) -> Standstill | None:
        return self._supervisor.standstill

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        journal = self._core.journal
        journal.on_durable(see)
        journal.on_trouble(trouble)

        def unfollow() -> None:
            journal.remove_listener(see)
            journal.remove_listener(trouble)

        return unfollow

    async def changes(self, task: str) -> tuple[str, str]:
        return await self._supervisor.changes(task)

    async def answer(self, gate: str, answer: Answer) -> Any:
        return await self._supervisor.answer(gate, answer)

    async def hold(self, task: str) -> str:
        return await self._supervisor.hold(task)

    async def step_in(self, task: str, answer: Answer) -> object:
        return await self._supervisor.step_in(task, answer)

    async def choose_rung(self, task: str, level: NextRung) -> None:
        await self._supervisor.choose_rung(task, level)

    async def hand_over(self, task: str) -> Handed:
        return await self._supervisor.hand_over(task)

    async def give_back(self, handed: Handed) -> Back:
        return await self._supervisor.give_back(handed)

    async def keep_open(self, gate: str) -> None:
        await self._supervisor.keep_open(gate)

    async def stop(self, reason: str) -> None:
        await self._supervisor.stop(reason)

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        if self.held:
            return  # it would wait with all that matters more
        about = tasks[0] if len(tasks) == 1 else ""
        with suppress(UnstuckError):
            self._core.append(NotificationSent(kind=kind, way=way, tasks=tasks, text=text), task=about)


def limits_of(rules: Limits, window: int) -> dict[str, int]:
    """The number of tries on each escalation level, and of the repetitions that are a loop."""
    return {"retry": rules.max_retries, "pivot": rules.max_pivots, "research": rules.max_research, "loop": window}


def agents_at_work(state: State) -> list[str]:
    """The tasks whose agents are alive."""
    return sorted({attempt.task for attempt in state.attempts.values() if attempt.is_live})


def meanwhile(view: RunView) -> str:
    """A sentence about the run while nobody can see it."""
    if view.is_past:
        return "This is a replay."
    if view.recovery is not None and not view.recovery.is_over:
        return "Nothing begins before you have decided."
    words = {"ended": "The run is over.", "parked": "The run is paused."}
    return words.get(view.state.run.state, "The run continues meanwhile.")
