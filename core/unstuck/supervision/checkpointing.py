"""What is saved of a task's tree: before its first attempt, before what may lose it, after a check that passed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.errors import WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import TaskRow
from unstuck.text import admit, one_line

if TYPE_CHECKING:
    from unstuck.supervision.context.context import RunContext
    from unstuck.workspace.checkpoints.checkpoint_index import Checkpoint

__all__ = [
    "IDLE",
    "INTERRUPTED",
    "NOT_SAVED",
    "changed",
    "checkpoint",
    "said_of",
    "save",
    "save_asked",
    "save_good",
    "save_interrupted",
    "save_requested",
    "saved_before",
    "saved_before_all",
    "saved_tree",
    "take_up",
]

IDLE = "no agent is at work"
NOT_SAVED = "no checkpoint could be made"

INTERRUPTED = "recovery"
"""The reason of a checkpoint that keeps what an interrupted attempt has left."""


async def checkpoint(core: RunContext, row: TaskRow, tree: Path, reason: str, *, purpose: str) -> None:
    """Save the tree; where that cannot be done the run goes on and the record says so."""
    works = True if purpose == "baseline" else False if purpose == "good" or reason == "ask" else None
    try:
        saved = await core.checkpoints(tree).create(reason, run=core.run, task=row.id, works=works)
        progress = await _progress(core, row, tree) if reason in ("progress", INTERRUPTED) else ()
    except WorkspaceError as error:
        event = e.CheckpointCreated(id="none", reason=admit(f"not possible: {error}", limit=500), purpose=purpose)  # type: ignore[arg-type]
    else:
        event = _event(saved, reason, purpose, progress)
    core.append(event, task=row.id, attempt=row.attempt)


def _event(saved: Checkpoint, reason: str, purpose: str, progress: tuple[str, ...] = ()) -> e.CheckpointCreated:
    return e.CheckpointCreated(
        id=saved.id,
        reason=reason,
        files=saved.files,
        not_covered=tuple(one_line(path) for path in saved.not_covered[:MAX_PATHS_IN_EVENT]),
        ignored=saved.ignored_count,
        progress=progress,
        purpose=purpose,  # type: ignore[arg-type]
    )


async def take_up(core: RunContext, row: TaskRow, tree: Path) -> None:
    """Save what others have left in the tree while this task waited: only its own work is ever taken back."""
    store = core.checkpoints(tree)
    if store.worker() != row.id:
        with suppress(WorkspaceError):
            await store.create("taken up again", run=core.run, task=row.id, works=True)


async def save_good(core: RunContext, row: TaskRow) -> None:
    """The check has just passed: what is there now is the last known good."""
    await checkpoint(core, row, core.tree_of(row), "good", purpose="good")


async def _progress(core: RunContext, row: TaskRow, tree: Path) -> tuple[str, ...]:
    """What has been done since the baseline, a file a line, for a session that knows nothing of it."""
    if row.baseline in ("", "none"):
        return ()
    done = {"change": "changed", "return": "deleted", "disappear": "added"}
    plan = await core.checkpoints(tree).plan(row.baseline)
    return tuple(f"{done[change.status]} {one_line(change.path)}" for change in plan.changes[:MAX_PATHS_IN_EVENT])


async def changed(core: RunContext, row: TaskRow) -> tuple[str, ...]:
    """What has been done since the baseline, a file a line; empty where that cannot be found out."""
    try:
        return await _progress(core, row, core.tree_of(row))
    except WorkspaceError:
        return ()


async def save(core: RunContext, row: TaskRow, reason: str) -> None:
    """The checkpoint that the directive asks for."""
    await checkpoint(core, row, core.tree_of(row), reason, purpose="directive")


async def save_asked(core: RunContext, row: TaskRow) -> None:
    """The checkpoint of what a person is asked about."""
    await checkpoint(core, row, core.tree_of(row), "ask", purpose="question")


def said_of(saved: str) -> dict[str, str]:
    """What a question says of the checkpoint ``saved`` that stands before it; ``none`` or empty where none does."""
    return {"checkpoint": "", "not_saved": NOT_SAVED} if saved in ("", "none") else {"checkpoint": saved}


async def save_requested(core: RunContext, row: TaskRow, reason: str) -> e.CheckpointCreated:
    """The checkpoint for which the agent at work has asked itself."""
    said = one_line(f"agent: {reason}")
    try:
        saved = await core.checkpoints(core.tree_of(row)).create(said, run=core.run, task=row.id)
    except (WorkspaceError, OSError) as error:
        event = e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose="request")
    else:
        event = _event(saved, said, "request")
    core.append(event, task=row.id, attempt=row.attempt, actor="agent")
    return event


async def save_interrupted(core: RunContext, row: TaskRow) -> None:
    """The checkpoint of what an interrupted attempt has left, before anything is done about it."""
    try:
        await checkpoint(core, row, core.tree_of(row), INTERRUPTED, purpose="question")
    except OSError as error:  # such as a tree that is gone
        event = e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose="question")
        core.append(event, task=row.id, attempt=row.attempt)


async def saved_before(core: RunContext, row: TaskRow) -> dict[str, str]:
    """Save what a person is about to be asked about while its agent stands still; what the question says of it."""
    event = await _made(core, core.tree_of(row), row.id)
    now = core.row(row.id)
    if now.attempt != row.attempt or now.state != row.state:
        return {}  # there is nothing to be asked any more
    core.append(event, task=row.id, attempt=row.attempt)
    return _said(event)


async def saved_before_all(core: RunContext) -> dict[str, Any]:
    """Save every tree in which an agent is at work, before a question that stops them all."""
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
    """Save a tree that is no task's, before a question about it."""
    event = await _made(core, tree, "")
    core.append(event)
    return _said(event)


async def _made(core: RunContext, tree: Path, task: str) -> e.CheckpointCreated:
    """The checkpoint of a question, or why there is none; recorded by the caller, where the question still stands."""
    try:
        saved = await core.checkpoints(tree).create("ask", run=core.run, task=task)
    except (WorkspaceError, OSError) as error:
        return e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose="question")
    return _event(saved, "ask", "question")


def _said(event: e.CheckpointCreated) -> dict[str, str]:
    return {"checkpoint": "", "not_saved": event.reason} if event.id == "none" else {"checkpoint": event.id}
