"""A person takes a task's work tree into their own hands while its agent stands still, and gives it back.

The question that the agent waits at stays open meanwhile and takes no answer from anywhere else, so nothing reaches the
agent before the person is back. The files are saved before and after: what a person has done is no work of the task's,
is told apart from it, and is never taken back with it.
"""

from __future__ import annotations

from contextlib import suppress

from unstuck.contract import Answer
from unstuck.errors import CheckpointUnknown, UsageError, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.supervision.context.context import Core
from unstuck.supervision.context.types import Back, Handed
from unstuck.supervision.gates.gate_timers import keep_open
from unstuck.supervision.gates.service import answer_gate
from unstuck.supervision.intervention.allowed import why_not
from unstuck.supervision.intervention.intervention import hold
from unstuck.text import admit, one_line

__all__ = ["give_back", "hand_over", "left_alone", "let_go"]

DIFF_LIMIT = 60_000
_DONE = {"return": "added", "disappear": "deleted"}


async def hand_over(core: Core, task: str) -> Handed:
    """Let the agent of ``task`` stand still, unless it does, and save its files for a person to change them.

    Raises UsageError where there is nothing to take over, or where it cannot be held; WorkspaceError where nothing
    could tell afterwards what was changed.
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
    since = await _since(core, row, gate)
    if core.head.gates[gate.id].status != "open":
        raise UsageError(f"{task} has had its answer just now")
    handed = Handed(
        task=task,
        gate=gate.id,
        folder=core.workdir(core.tree_of(row)),
        since=since,
        standing=gate.gate.standing if gate.gate.attempt else "",
        others=_others(core, row),
    )
    event = e.HandedOver(gate=gate.id, checkpoint=since, others=tuple(map(one_line, handed.others)))
    core.append(event, task=task, attempt=row.attempt, actor="human")
    core.in_hands[gate.id] = handed
    core.taken.add(gate.id)
    return handed


def _refuse(core: Core, gate: GateRow, *, is_ours: bool) -> None:
    """Raise UsageError where the tree cannot be taken; a question that was opened only for that is closed again."""
    task = gate.gate.task
    if gate.id in core.taken:
        raise UsageError(f"{task} is already being edited by hand")
    if "show_me" not in gate.gate.choices:
        raise UsageError(f"{task} waits for another answer first: {gate.gate.type.replace('_', ' ')}")
    if gate.gate.attempt and gate.gate.standing == "runs_on":
        if is_ours:
            answer_gate(core.journal, gate.id, Answer(choice="continue"))
        raise UsageError(f"the agent of {task} cannot be held: it would keep changing the same files")


async def _since(core: Core, row: TaskRow, gate: GateRow) -> str:
    """The checkpoint from which on it is not the task that works in its files, also after a kill in between.

    It is of the files as they are, unless they were in a person's hands at this question before.
    """
    store = core.checkpoints(core.tree_of(row))
    if gate.handed:
        with suppress(CheckpointUnknown):  # it may have been dropped since
            return (await store.get(gate.handed)).id
    return (await store.create("hand-over", run=core.run, task=row.id, works=False)).id


def _others(core: Core, row: TaskRow) -> tuple[str, ...]:
    """The other tasks that are worked on in the same tree, or will be."""
    tree = core.tree_of(row)
    return tuple(
        other.id
        for other in core.head.tasks.values()
        if other.id != row.id and other.state != "ended" and core.tree_of(other) == tree
    )[:MAX_PATHS_IN_EVENT]


async def give_back(core: Core, handed: Handed) -> Back:
    """The person has left the tree: what they have changed since it was first handed over at this question."""
    try:
        back = await _looked_at(core, handed)
    except (WorkspaceError, OSError) as error:  # such as a tree that is gone
        back = Back(trouble=one_line(str(error), 300))
    finally:
        let_go(core, handed)
    event = e.HandedBack(
        gate=handed.gate,
        checkpoint=handed.since,
        files=back.files,
        changes=tuple(map(one_line, back.changes)),
        diff=back.diff,
        trouble=one_line(back.trouble, 300),
    )
    core.append(event, task=handed.task, attempt=core.row(handed.task).attempt, actor="human")
    return back


async def _looked_at(core: Core, handed: Handed) -> Back:
    row = core.row(handed.task)
    attempt = core.head.attempts.get(row.attempt)
    goes_on = attempt is not None and attempt.is_live
    store = core.checkpoints(core.tree_of(row))
    now = await store.create("hand-back", run=core.run, task=row.id, works=True if goes_on else None)
    changes = await store.changed(handed.since, now.id)
    diff = await store.diff(handed.since, now.id)
    named = tuple(
        f"{_DONE.get(change.status, 'changed')} {one_line(change.path)}" for change in changes[:MAX_PATHS_IN_EVENT]
    )
    return Back(files=len(changes), changes=named, diff=admit(diff, limit=DIFF_LIMIT))


def let_go(core: Core, handed: Handed) -> None:
    """Nobody works in the files any more."""
    core.taken.discard(handed.gate)
    core.wake(_left(handed.task))


async def left_alone(core: Core, task: str) -> None:
    """Wait until nobody works in the files of ``task`` any more, or the run stops.

    Its agent may end while it stands still, such as one that is killed: what comes next for the task is not to change
    the same files under a person's hands.
    """
    changed = core.changed(_left(task))
    while core.head.run.state != "draining" and any(core.in_hands[gate].task == task for gate in core.taken):
        changed.clear()
        await changed.wait()


def _left(task: str) -> str:
    return f"hands {task}"
