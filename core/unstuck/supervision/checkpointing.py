"""Checkpoints of a task: its baseline, those before a risk or a question, and those that passed the check."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unstuck.errors import CheckpointUnknown, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import State, TaskRow
from unstuck.text import Clean, admit, one_line

if TYPE_CHECKING:
    from unstuck.supervision.context.context import RunContext
    from unstuck.workspace.checkpoints.checkpoint_index import Checkpoint
    from unstuck.workspace.checkpoints.manager import CheckpointStore

Purpose = Literal["baseline", "good", "directive", "question", "request"]
Since = Literal["start", "attempt", "checkpoint"]
"""The start of a comparison: that of the task, that of its last attempt, or the last checkpoint."""

IDLE = "no agent is at work"
NOT_SAVED = "no checkpoint could be made"

INTERRUPTED = "recovery"
"""The reason of the checkpoint of an interrupted attempt."""


async def checkpoint(core: RunContext, row: TaskRow, reason: str, *, purpose: Purpose) -> None:
    """Save the task's tree. Where that fails the run goes on, and the record gives the reason.

    Raises OSError, except for what an interrupted attempt has left: its tree may be gone.
    """
    works = True if purpose == "baseline" else False if purpose == "good" or reason == "ask" else None
    try:
        saved = await core.checkpoints(core.tree_of(row)).create(reason, run=core.run, task=row.id, works=works)
        progress = await _progress(core, row) if reason in ("progress", INTERRUPTED) else ()
    except WorkspaceError as error:
        event = e.CheckpointCreated(id="none", reason=admit(f"not possible: {error}", limit=500), purpose=purpose)
    except OSError as error:
        if reason != INTERRUPTED:
            raise
        event = _not_possible(error, purpose)
    else:
        event = _event(saved, reason, purpose, progress)
    core.append(event, task=row.id, attempt=row.attempt)


async def renew_baseline(core: RunContext, row: TaskRow) -> None:
    """Save the files as the baseline where unstuck itself changed them since; a failure keeps the one before."""
    with suppress(WorkspaceError, OSError):
        saved = await core.checkpoints(core.tree_of(row)).create("baseline", run=core.run, task=row.id, works=True)
        if saved.id != row.baseline:
            core.append(_event(saved, "baseline", "baseline", ()), task=row.id)


async def save_requested(core: RunContext, row: TaskRow, reason: str) -> e.CheckpointCreated:
    """Make the checkpoint that the agent at work asks for."""
    event = await _made(core, core.tree_of(row), one_line(f"agent: {reason}"), "request", row.id)
    core.append(event, task=row.id, attempt=row.attempt, actor="agent")
    return event


async def leave(core: RunContext, row: TaskRow, tree: Path) -> None:
    """Save the work of this task, so that what comes into its tree from now on is not taken for its own."""
    if row.attempts:
        with suppress(WorkspaceError):
            await core.checkpoints(tree).create("left", run=core.run, task=row.id, works=False)


async def hand_over(core: RunContext, row: TaskRow, *, to_check: bool = False) -> None:
    """Save what an attempt left in the user's own checkout: what changes there until the next one is not its work.

    ``to_check`` says that the task's check runs there now.
    """
    tree = core.tree_of(row)
    if core.repository is None or tree != core.root or not row.attempts or core.head.run.kind == "watch":
        return
    store = core.checkpoints(tree)
    if store.worker() == row.id or (store.worker() and not to_check):
        reason = "attempt ended" if to_check else "between attempts"
        with suppress(WorkspaceError):
            await store.create(reason, run=core.run, task=row.id, works="checked" if to_check else False)


async def take_up(core: RunContext, row: TaskRow, tree: Path) -> None:
    """Save the work of others in the tree, so that a restore takes back only the work of this task."""
    store = core.checkpoints(tree)
    if store.worker() != row.id:
        with suppress(WorkspaceError):
            await store.create("taken up again", run=core.run, task=row.id, works=True)


async def changed(core: RunContext, row: TaskRow) -> tuple[str, ...]:
    """Return the changes since the baseline, a file a line; none where they cannot be found."""
    try:
        return await _progress(core, row)
    except WorkspaceError:
        return ()


async def _progress(core: RunContext, row: TaskRow) -> tuple[str, ...]:
    if row.baseline in ("", "none"):
        return ()
    done = {"change": "changed", "return": "deleted", "disappear": "added"}
    plan = await core.checkpoints(core.tree_of(row)).plan(row.baseline)
    return tuple(f"{done[change.status]} {one_line(change.path)}" for change in plan.changes[:MAX_PATHS_IN_EVENT])


def compared(state: State, row: TaskRow, since: Since) -> tuple[str, str | None]:
    """Return the two checkpoints between which the changes of a task lie; None for its files as they are.

    The first is empty where there is none. A task that has ended is compared up to its last checkpoint: what came into
    its tree since is not its work.
    """
    attempts = (state.attempts.get(f"{row.id}.{number}") for number in range(1, row.attempts + 1))
    saved = [attempt.checkpoint if attempt is not None else "" for attempt in attempts]
    first = "" if row.baseline == "none" else row.baseline
    until = next((id for id in reversed(saved) if id), None) if row.state == "ended" else None
    before = next((id for id in reversed(saved[:-1]) if id), first)
    last = next((id for id in reversed(saved) if id), first) if until is None else before
    return {"start": first, "attempt": before, "checkpoint": last}[since], until


async def diff_since(state: State, row: TaskRow, store: CheckpointStore, since: Since) -> tuple[str, Clean]:
    """Return the checkpoint that a task's files are compared with, and the unified diff from there on.

    Both values are empty where there is none. Raises WorkspaceError.
    """
    first, until = compared(state, row, since)
    with suppress(CheckpointUnknown):
        if first:
            return first, await store.diff(first, until)
    return "", Clean("")


def said_of(saved: str) -> dict[str, str]:
    """Return the fields of a question about the checkpoint ``saved``; ``none`` or empty where there is none."""
    return {"checkpoint": "", "not_saved": NOT_SAVED} if saved in ("", "none") else {"checkpoint": saved}


async def saved_before(core: RunContext, row: TaskRow) -> dict[str, str]:
    """Save the files of a question while its agent is held; return the question's fields about them."""
    event = await _made(core, core.tree_of(row), "ask", "question", row.id)
    now = core.row(row.id)
    if now.attempt != row.attempt or now.state != row.state:
        return {}  # the question is no longer due
    core.append(event, task=row.id, attempt=row.attempt)
    return _fields(event)


async def saved_before_all(core: RunContext) -> dict[str, Any]:
    """Save every tree in which an agent works, before a question that holds them all."""
    saved, missing = {}, []
    for attempt in [attempt for attempt in core.head.attempts.values() if attempt.is_live]:
        said = await saved_before(core, core.row(attempt.task))
        if said.get("checkpoint"):
            saved[attempt.task] = said["checkpoint"]
        elif said:
            missing.append(f"{attempt.task}: {said['not_saved']}")
    reason = {} if saved and not missing else {"not_saved": "; ".join(missing) or IDLE}
    return {"checkpoint": next(iter(saved.values()), ""), "checkpoints": saved} | reason


async def saved_tree(core: RunContext, tree: Path) -> dict[str, str]:
    """Save a tree that belongs to no task, before a question about it."""
    event = await _made(core, tree, "ask", "question", "")
    core.append(event)
    return _fields(event)


async def _made(core: RunContext, tree: Path, reason: str, purpose: Purpose, task: str) -> e.CheckpointCreated:
    """Return the event of a checkpoint, or of its failure; the caller records it."""
    try:
        saved = await core.checkpoints(tree).create(reason, run=core.run, task=task)
    except (WorkspaceError, OSError) as error:
        return _not_possible(error, purpose)
    return _event(saved, reason, purpose)


def _not_possible(error: Exception, purpose: Purpose) -> e.CheckpointCreated:
    return e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose=purpose)


def _event(saved: Checkpoint, reason: str, purpose: Purpose, progress: tuple[str, ...] = ()) -> e.CheckpointCreated:
    return e.CheckpointCreated(
        id=saved.id,
        reason=reason,
        files=saved.files,
        not_covered=tuple(one_line(path) for path in saved.not_covered[:MAX_PATHS_IN_EVENT]),
        ignored=saved.ignored_count,
        progress=progress,
        purpose=purpose,
    )


def _fields(event: e.CheckpointCreated) -> dict[str, str]:
    return {"checkpoint": "", "not_saved": event.reason} if event.id == "none" else {"checkpoint": event.id}
