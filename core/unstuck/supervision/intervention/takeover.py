"""Takeovers: a person edits a task's worktree by hand while its agent is held, and returns it.

The question of the agent stays open meanwhile and takes no answer from elsewhere, so nothing reaches the
agent before the person is back. The files are saved before and after: the person's edits are no work of the task,
are kept apart from it, and are never restored with it.
"""

from __future__ import annotations

from contextlib import suppress

from unstuck.contract import Answer
from unstuck.errors import CheckpointUnknown, UsageError, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.supervision.gates.gate_timers import keep_open
from unstuck.supervision.gates.service import answer_gate
from unstuck.supervision.intervention.allowed import why_not
from unstuck.supervision.intervention.intervention import hold
from unstuck.text import admit, one_line

DIFF_LIMIT = 60_000
_DONE = {"return": "added", "disappear": "deleted"}


async def start_takeover(core: RunContext, task: str) -> Takeover:
    """Hold the agent of ``task``, unless it is held, and save its files for a person to edit.

    Raises UsageError where there is nothing to take over, or where it cannot be held; WorkspaceError where no
    checkpoint could show the changes afterwards.
    """
    if core.journal.held:
        raise UsageError(f"nothing can be recorded: {core.journal.held}")
    known = core.head.tasks.get(task)
    if known is not None and not known.gate and (why := why_not(core.head, known, "show_me")):
        raise UsageError(f"{task}: {why}")
    before = known.gate if known is not None else ""
    gate = core.head.gates[await hold(core, task)]
    row = core.row(task)
    _refuse(core, gate, is_ours=gate.id != before)
    keep_open(core, gate.id)
    merging = await _merge_begun(core, gate)
    since = await _since(core, row, gate)
    if core.head.gates[gate.id].status != "open":
        raise UsageError(f"{task} has had its answer just now")
    taken = Takeover(
        task=task,
        gate=gate.id,
        folder=core.workdir(core.tree_of(row)),
        since=since,
        standing=gate.gate.standing if gate.gate.attempt else "",
        others=_others(core, row),
        merging=merging,
    )
    event = e.HandedOver(gate=gate.id, checkpoint=since, others=tuple(map(one_line, taken.others)))
    core.append(event, task=task, attempt=row.attempt, actor="human")
    core.takeovers.by_gate[gate.id] = taken
    core.takeovers.active.add(gate.id)
    return taken


def _refuse(core: RunContext, gate: GateRow, *, is_ours: bool) -> None:
    """Raise UsageError where no takeover is possible; a question opened only for it is closed again."""
    task = gate.gate.task
    if gate.id in core.takeovers.active:
        raise UsageError(f"{task} is already being edited by hand")
    if "show_me" not in gate.gate.choices and gate.gate.type != "integration":
        raise UsageError(f"{task} has a question to answer first: {gate.gate.type.replace('_', ' ')}")
    attempt, why = core.head.attempts.get(gate.gate.attempt or ""), ""
    if gate.gate.attempt and gate.gate.standing == "runs_on":
        why = f"the agent of {task} cannot be held: it would keep changing the same files"
    elif attempt is not None and attempt.is_live and attempt.guidance.ways:
        why = f"{task} works several approaches at the same time, each in a worktree of its own"
    if why:
        if is_ours:
            answer_gate(core.journal, gate.id, Answer(choice="continue"), via="screen")
        raise UsageError(why)


async def _merge_begun(core: RunContext, gate: GateRow) -> tuple[str, ...]:
    """Begin the merge of a conflict that a person resolves; return the files that have conflict markers."""
    if gate.gate.type != "integration" or core.worktrees is None:
        return ()
    conflict = await core.worktrees.begin_merge(gate.gate.task, f"{gate.gate.task}: so far")
    return conflict.paths if conflict is not None else ()


async def _since(core: RunContext, row: TaskRow, gate: GateRow) -> str:
    """Return the checkpoint from which the edits by hand count, also after a kill.

    It is a new one, unless a takeover at this question came before.
    """
    store = core.checkpoints(core.tree_of(row))
    if gate.handed:
        with suppress(CheckpointUnknown):  # it may have been deleted since
            return (await store.get(gate.handed)).id
    return (await store.create("hand-over", run=core.run, task=row.id, works=False)).id


def _others(core: RunContext, row: TaskRow) -> tuple[str, ...]:
    """The other unfinished tasks of the same tree."""
    tree = core.tree_of(row)
    return tuple(
        other.id
        for other in core.head.tasks.values()
        if other.id != row.id and other.state != "ended" and core.tree_of(other) == tree
    )[:MAX_PATHS_IN_EVENT]


async def end_takeover(core: RunContext, taken: Takeover) -> TakeoverChanges:
    """End a takeover; return the changes since the first one at this question."""
    try:
        back = await _looked_at(core, taken)
    except (WorkspaceError, OSError) as error:  # such as a deleted tree
        back = TakeoverChanges(trouble=one_line(str(error), 300))
    finally:
        let_go(core, taken)
    event = e.HandedBack(
        gate=taken.gate,
        checkpoint=taken.since,
        files=back.files,
        changes=tuple(map(one_line, back.changes)),
        diff=back.diff,
        trouble=one_line(back.trouble, 300),
    )
    core.append(event, task=taken.task, attempt=core.row(taken.task).attempt, actor="human")
    return back


async def _looked_at(core: RunContext, taken: Takeover) -> TakeoverChanges:
    row = core.row(taken.task)
    attempt = core.head.attempts.get(row.attempt)
    goes_on = attempt is not None and attempt.is_live
    store = core.checkpoints(core.tree_of(row))
    now = await store.create("hand-back", run=core.run, task=row.id, works=True if goes_on else None)
    changes = await store.changed(taken.since, now.id)
    diff = await store.diff(taken.since, now.id)
    named = tuple(
        f"{_DONE.get(change.status, 'changed')} {one_line(change.path)}" for change in changes[:MAX_PATHS_IN_EVENT]
    )
    return TakeoverChanges(files=len(changes), changes=named, diff=admit(diff, limit=DIFF_LIMIT))


def let_go(core: RunContext, taken: Takeover) -> None:
    """End the takeover without a record."""
    core.takeovers.active.discard(taken.gate)
    core.signals.wake(Subject.TAKEOVER, taken.task)


async def left_alone(core: RunContext, task: str) -> None:
    """Wait for the end of a takeover of ``task``, or of the run.

    Its agent may end while it is held, such as by a kill: the next step of the task must not change
    the files that a person edits.
    """
    while core.head.run.state != "draining" and core.takeovers.has(task):
        await core.signals.next(Subject.TAKEOVER, task).wait()
