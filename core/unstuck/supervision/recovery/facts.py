"""Facts about an unfinished run, from its state and the observations of its trees. Pure.

The same facts stand on the screen, in the command line's listing, in the questions and before an evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from unstuck.contract import Choice
from unstuck.eventlog.state import AttemptRow, GateRow, State, TaskRow
from unstuck.supervision.context.next_step import fallen, next_step
from unstuck.text import Clean, admit, one_line

RecoveryChoice = Literal["continue", "retry", "done", "skip", "abandon", "adopt", "stop"]
CHOICES: tuple[RecoveryChoice, ...] = ("continue", "retry", "done", "skip", "abandon", "adopt", "stop")
"""The ways in which an interrupted attempt can continue; the last two are for orphans."""
_FOR_LIVE = ("adopt", "stop")
_NEXT = {
    "start": "begins",
    "check": "is checked again",
    "decide": "is decided about",
    "integrate": "is brought to the run's branch",
    "finish": "is done",
    "checkpoint": "is prepared",
    "restore": "is set back",
    "run": "is prepared",
    "research": "is prepared",
    "prepare": "is prepared",
    "ask": "asks",
    "unblock": "begins",
    "skip": "is skipped",
    "wait_needs": "waits for another task",
    "wait_slot": "waits for its turn",
    "wait_tree": "waits for its turn",
    "wait_budget": "waits for the budget",
    "wait_backoff": "waits, then tries again",
    "wait_gate": "waits for an answer",
    "wait_ground": "waits for the baseline check",
    "halted": "is stopped",
}


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, defer_build=True)


class FileChange(_Facts):
    """Change of one file since a checkpoint; ``added`` and ``removed`` are lines, None where it is no text."""

    path: Clean
    status: Literal["changed", "added", "deleted"] = "changed"
    added: int | None = None
    removed: int | None = None

    def __str__(self) -> str:
        lines = "" if self.added is None else f" +{self.added} -{self.removed}"
        return f"{self.status} {self.path}{lines}"


class SavedFacts(_Facts):
    """A checkpoint (``created`` in ISO 8601) and what has changed since: at most fifty of ``total`` files are named.

    ``others`` files more have changed since by others' work in the tree, such as a person's.
    """

    id: str
    reason: Clean = Clean("")
    created: str = ""
    changes: tuple[FileChange, ...] = ()
    total: int = 0
    added: int = 0
    removed: int = 0
    others: int = 0


class ProcessFacts(_Facts):
    """A process of the attempt that is still at work, known by its id and its start (ISO 8601).

    ``agent``: it is the agent's own, and not one that it has started.
    """

    pid: int
    since: str
    name: Clean = Clean("")
    command: Clean = Clean("")
    agent: bool = False


class CheckFacts(_Facts):
    """The task's check: what it says now, where a person had it run, and not what it said then."""

    command: Clean = Clean("")
    result: Literal["passed", "failed", "could_not_run", "not_run", "none"] = "not_run"
    said: Clean = Clean("")


class Proposal(_Facts):
    """Proposal of an evaluator, with its reason."""

    choice: RecoveryChoice
    reason: Clean = Clean("")
    evaluator: Clean = Clean("")


class Possible(_Facts):
    """A choice; ``refused`` says why it cannot be taken, and is empty where it can."""

    choice: RecoveryChoice
    refused: Clean = Clean("")


class Observed(_Facts):
    """Observations of one task outside the event log; ``trouble`` says what could not be looked at, and why.

    ``ran`` is for how many seconds its last attempt gave signs of life.
    """

    ran: float = 0.0
    tree: Clean = Clean("")
    back: SavedFacts | None = None
    last: SavedFacts | None = None
    under_way: str = ""
    processes: tuple[ProcessFacts, ...] = ()
    check: CheckFacts | None = None
    trouble: Clean = Clean("")


class TaskRecovery(_Facts):
    """A task whose attempt was cut off. ``ran`` is in seconds; ``back`` is where it would be set back to.

    ``saved`` is the checkpoint of what it has left, empty before that was made and where it could not be.
    """

    task: str
    attempt: str
    number: int
    level: str
    agent: str
    ran: float
    tree: Clean = Clean("")
    under_way: str = ""
    trouble: Clean = Clean("")
    saved: str = ""
    back: SavedFacts | None = None
    last: SavedFacts | None = None
    processes: tuple[ProcessFacts, ...] = ()
    check: CheckFacts = CheckFacts()
    gate: str = ""
    choices: tuple[Possible, ...] = ()
    proposal: Proposal | None = None

    @property
    def possible(self) -> tuple[RecoveryChoice, ...]:
        return tuple(one.choice for one in self.choices if not one.refused)

    @property
    def refused(self) -> dict[str, str]:
        """The reason against each of the other choices."""
        return {one.choice: one.refused for one in self.choices if one.refused}

    @property
    def usual(self) -> RecoveryChoice:
        """The choice that loses nothing: without its agent, what still runs would be waited for in vain."""
        if not self.processes:
            return "continue"
        return "adopt" if any(one.agent for one in self.processes) else "stop"


class OpenQuestion(_Facts):
    """A question that was open when the run was cut off, and still is."""

    gate: str
    type: str
    task: str
    opened: str
    problem: Clean = Clean("")


class Onward(_Facts):
    """A task that needs no decision: its state, and its next step."""

    task: str
    state: str
    next: str


class RecoveryState(_Facts):
    """The whole of it. ``died``: no end of the run is on record, so its supervisor was killed; ``seq``: its last."""

    run: str
    died: bool
    seq: int
    tasks: tuple[TaskRecovery, ...] = ()
    gates: tuple[OpenQuestion, ...] = ()
    onward: tuple[Onward, ...] = ()

    def of(self, task: str) -> TaskRecovery | None:
        """Return the facts about ``task`` if its attempt was cut off."""
        return next((one for one in self.tasks if one.task == task), None)


def was_cut_off(row: TaskRow) -> bool:
    """Return whether an attempt of the task has begun and not ended; of a run that nobody works any more."""
    return row.state in ("running", "interrupted")


def reconstruct(
    state: State, observed: Mapping[str, Observed], *, git: bool, died: bool | None = None
) -> RecoveryState:
    """Return what the run has left. ``observed`` is by task; a task that nobody has looked at has its record alone.

    ``died`` is what the record said before the run was opened again, where it was.
    """
    rows = [row for row in state.tasks.values() if was_cut_off(row)]
    asked = {row.gate.task: row for row in state.open_gates() if row.gate.type == "recovery"}
    others = [row for row in state.open_gates() if row.gate.type != "recovery"]
    said = {row.id for row in rows} | {row.gate.task for row in others}
    return RecoveryState(
        run=state.run.id,
        died=state.run.state in ("running", "blocked", "draining") if died is None else died,
        seq=state.seq,
        tasks=tuple(_task(state, row, observed.get(row.id, Observed()), asked.get(row.id), git=git) for row in rows),
        gates=tuple(_question(row) for row in others),
        onward=tuple(
            _onward(state, row) for row in state.tasks.values() if row.state != "ended" and row.id not in said
        ),
    )


def _task(state: State, row: TaskRow, seen: Observed, asked: GateRow | None, *, git: bool) -> TaskRecovery:
    attempt = state.attempts.get(row.attempt)
    check = seen.check or CheckFacts(
        command=admit(row.task.verify or "", limit=500), result="not_run" if row.task.verify else "none"
    )
    choices = tuple(
        Possible(choice=choice, refused=admit(_refused(row, choice, seen, check, git=git), limit=300))
        for choice in CHOICES
        if seen.processes or choice not in _FOR_LIVE
    )
    return TaskRecovery(
        task=row.id,
        attempt=row.attempt,
        number=row.attempts,
        level=row.level,
        agent=row.task.agent or row.task.agent_type,
        ran=max(seen.ran, _ran(state, row, attempt)),
        tree=seen.tree,
        under_way=seen.under_way,
        trouble=seen.trouble,
        saved=_saved(row, asked),
        back=seen.back,
        last=seen.last,
        processes=seen.processes,
        check=check,
        gate=asked.id if asked is not None else "",
        choices=choices,
        proposal=_proposal(asked),
    )


def _saved(row: TaskRow, asked: GateRow | None) -> str:
    found = str(asked.gate.context.get("checkpoint") or "") if asked is not None else row.saved
    return "" if found == "none" else one_line(found)


def _ran(state: State, row: TaskRow, attempt: AttemptRow | None) -> float:
    """Return the used part of the attempt's time when it was interrupted, with earlier interrupted ones."""
    live = attempt is not None and attempt.is_live
    return round(row.used + (attempt.used(state.mono) if attempt is not None and live else 0.0), 1)


def _refused(row: TaskRow, choice: Choice, seen: Observed, check: CheckFacts, *, git: bool) -> str:
    if seen.processes and choice in ("continue", "retry", "done"):
        return "one of its processes is still running: keep it running, or stop it"
    if choice == "retry":
        if not git:
            return "without git nothing is restored"
        if row.baseline in ("", "none"):
            return "there is no checkpoint to restore"
    if choice == "done":
        if check.result == "none":
            return "it has no check that could say so"
        if check.result in ("failed", "could_not_run"):
            found = f"its check {'fails' if check.result == 'failed' else 'cannot run'} now"
            return f"{found}: {said}" if (said := one_line(check.said, 160)) else found
    return ""


def _proposal(asked: GateRow | None) -> Proposal | None:
    found = asked.gate.context.get("proposal") if asked is not None else None
    if not isinstance(found, Mapping) or found.get("choice") not in CHOICES:
        return None
    return Proposal(
        choice=found["choice"],
        reason=one_line(str(found.get("reason") or ""), 500),
        evaluator=one_line(str(found.get("evaluator") or ""), 100),
    )


def _question(row: GateRow) -> OpenQuestion:
    context = row.gate.context
    said = context.get("problem") or context.get("question") or context.get("error_signature") or ""
    return OpenQuestion(
        gate=row.id, type=row.gate.type, task=row.gate.task, opened=row.opened, problem=one_line(str(said), 300)
    )


def _onward(state: State, row: TaskRow) -> Onward:
    if need := fallen(state, row) if row.state == "blocked" else "":
        return Onward(task=row.id, state=row.state, next=f"cannot start: {need} was not done")
    step = next_step(state, row, max_parallel=len(state.tasks) + 1, tree="")
    return Onward(task=row.id, state=row.state, next=_NEXT.get(step.kind, step.kind))
