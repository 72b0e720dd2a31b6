"""What is saved of a task's tree: before its first attempt, before what may lose it, after a check that passed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.record import events as e
from unstuck.record.state import TaskRow
from unstuck.supervision.core import Core
from unstuck.text import admit, one_line

__all__ = ["changed", "checkpoint", "save", "save_asked", "save_good", "save_held", "take_up"]

_NAMED = 50


async def checkpoint(core: Core, row: TaskRow, tree: Path, reason: str, *, purpose: str) -> None:
    """Save the tree; where that cannot be done the run goes on and the record says so."""
    works = True if purpose == "baseline" else False if purpose == "good" or reason == "ask" else None
    try:
        saved = await core.checkpoints(tree).create(reason, run=core.run, task=row.id, works=works)
        progress = await _progress(core, row, tree) if reason == "progress" else ()
    except WorkspaceError as error:
        event = e.CheckpointCreated(id="none", reason=admit(f"not possible: {error}", limit=500), purpose=purpose)  # type: ignore[arg-type]
    else:
        event = e.CheckpointCreated(
            id=saved.id,
            reason=reason,
            files=saved.files,
            not_covered=tuple(one_line(path) for path in saved.not_covered[:_NAMED]),
            ignored=saved.ignored_count,
            progress=progress,
            purpose=purpose,  # type: ignore[arg-type]
        )
    core.append(event, task=row.id, attempt=row.attempt)


async def take_up(core: Core, row: TaskRow, tree: Path) -> None:
    """Save what others have left in the tree while this task waited: only its own work is ever taken back."""
    store = core.checkpoints(tree)
    if store.worker() != row.id:
        with suppress(WorkspaceError):
            await store.create("taken up again", run=core.run, task=row.id, works=True)


async def save_good(core: Core, row: TaskRow) -> None:
    """The check has just passed: what is there now is the last known good."""
    await checkpoint(core, row, core.tree_of(row), "good", purpose="good")


async def _progress(core: Core, row: TaskRow, tree: Path) -> tuple[str, ...]:
    """What has been done since the baseline, a file a line, for a session that knows nothing of it."""
    if row.baseline in ("", "none"):
        return ()
    done = {"change": "changed", "return": "deleted", "disappear": "added"}
    plan = await core.checkpoints(tree).plan(row.baseline)
    return tuple(f"{done[change.status]} {one_line(change.path)}" for change in plan.changes[:_NAMED])


async def changed(core: Core, row: TaskRow) -> tuple[str, ...]:
    """What has been done since the baseline, a file a line; empty where that cannot be found out."""
    try:
        return await _progress(core, row, core.tree_of(row))
    except WorkspaceError:
        return ()


async def save(core: Core, row: TaskRow, reason: str) -> None:
    """The checkpoint that the directive asks for."""
    await checkpoint(core, row, core.tree_of(row), reason, purpose="directive")


async def save_asked(core: Core, row: TaskRow) -> None:
    """The checkpoint of what a person is asked about."""
    await checkpoint(core, row, core.tree_of(row), "ask", purpose="question")


async def save_held(core: Core, gate: str) -> None:
    """The checkpoint of what a person is asked about while the agent stands still; once for each question.

    Whoever holds the agent waits for this, so nothing is changed in between, whatever is answered meanwhile.
    """
    asked = core.head.gates[gate].gate
    if not asked.attempt or asked.standing not in ("held", "frozen") or "checkpoint" in asked.context:
        return
    row = core.row(asked.task)
    try:
        await save_asked(core, row)
    except OSError as error:
        event = e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose="question")
        core.append(event, task=row.id, attempt=row.attempt)
