"""A run as a screen, a page or a remote view sees it, wherever it is worked. None of them knows more of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from unstuck.clock import Clock
from unstuck.contract import Answer
from unstuck.escalation.limits import Limits
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import FilesCollide
from unstuck.eventlog.state import GateRow, State
from unstuck.runs.view.output_files import Printed
from unstuck.runs.view.outputs import OutputKind, OutputTail
from unstuck.supervision.checkpointing import Since
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.text import Clean
from unstuck.workspace.project import Project

if TYPE_CHECKING:
    from unstuck.supervision.recovery.review import Standstill


NoticeKind = Literal["needs_you", "resolved", "run"]


class RunView(Protocol):
    """A run as a person sees it: its durable state with the open questions, the output, and what can be done."""

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
    def held(self) -> str:
        """The reason why nothing can be recorded for the moment; empty where it can."""

    @property
    def unrecorded(self) -> GateRow | None:
        """The open question about a log that cannot be written: it is in no record itself."""

    @property
    def goes_on(self) -> bool:
        """True while the run does something in this process without the screen."""

    @property
    def rules(self) -> Limits:
        """The limits of the escalation levels."""

    async def output(self, task: str, kind: OutputKind) -> OutputTail:
        """The end of the output of the last check or agent of ``task``, or of the last prompt; empty without one."""

    async def hooks(self) -> Mapping[str, bool]:
        """Agents, and whether their hooks are installed; empty where no sessions are waited for."""

    async def printed(self, attempts: Sequence[str]) -> Mapping[str, Printed]:
        """The output of these attempts so far, of those that have one."""

    async def changes(self, task: str, since: Since = "start") -> tuple[str, str]:
        """The checkpoint that the files of ``task`` are compared with, and the diff from there on; else empty."""

    @property
    def no_takeover(self) -> str:
        """The reason why no files can be edited by hand from here; empty where they can."""

    @property
    def recovery(self) -> Standstill | None:
        """The decisions that are due before this process resumes the run; None where there are none."""

    def absent(self, task: str) -> tuple[str, str]:
        """A word in the place of the state of ``task``, and its age, while nothing is heard of it; else empty ones."""

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

    async def start_takeover(self, task: str) -> Takeover:
        """Suspend the agent of ``task`` while a person works in its worktree. Raises UnstuckError."""

    async def end_takeover(self, taken: Takeover) -> TakeoverChanges:
        """The person has left the tree; what they have changed in it."""

    async def keep_open(self, gate: str) -> object:
        """Stop the timer that would answer ``gate``: a person is there."""

    async def stop(self, reason: str) -> object:
        """End every agent of the run; it can be resumed."""

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        """A notification about ``tasks`` went out by ``way``; recorded where this process works the run."""


def rows_after(state: State, record: Record) -> set[str]:
    """Return the tasks whose rows may look different after ``record``: its own, and those with files in common."""
    found, row = {record.task} - {""}, state.tasks.get(record.task)
    if isinstance(record.event, FilesCollide):
        found.add(record.event.other)
    if row is not None and row.collisions:
        found.update(one.other for one in row.collisions)
    return found


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
