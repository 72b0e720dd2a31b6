"""Observations of a task whose attempt was interrupted: its tree, its processes and, on demand, its check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from unstuck.clock import iso
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import WorkspaceError
from unstuck.eventlog.state import AttemptRow, State, TaskRow
from unstuck.processes import Remains, works_elsewhere
from unstuck.supervision.checkpointing import INTERRUPTED
from unstuck.supervision.checks.check import Check, Verifier
from unstuck.supervision.recovery.facts import CheckFacts, FileChange, Observed, ProcessFacts, SavedFacts
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.checkpoints.manager import Change, Checkpoint, CheckpointStore
from unstuck.workspace.git.repo_status import under_way
from unstuck.workspace.git.repository import find_repository

_NAMED = 50
_PROCESSES = 20
_BECAME = {"change": "changed", "return": "added", "disappear": "deleted"}


async def observe(
    state: State, row: TaskRow, tree: Path, store: Callable[[Path], CheckpointStore] | None, *, output: Path
) -> Observed:
    """Look at the task's ``tree`` and at what its last attempt may have left at work; nothing is changed.

    ``output`` is the folder of the run's raw outputs, ``store`` gives the checkpoints of a tree; without it nothing is
    said of its files. ``trouble`` names what cannot be looked at; nothing is raised: a recovery must be possible
    whatever the state of things.
    """
    processes = await _processes(state.attempts.get(row.attempt), output.parent)
    ran = _spoke(state.attempts.get(row.attempt), output)
    seen = Observed(tree=one_line(str(tree)), processes=processes, ran=ran)
    if not tree.is_dir():
        return seen.model_copy(update={"trouble": Clean("its worktree is gone; it is created again from its branch")})
    under, back, last, trouble = "", None, None, ""
    try:
        repository = await find_repository(tree)
        under = under_way(repository.git_dir) if repository is not None else ""
        if store is not None:
            back, last = await _saved(store(tree), state.run.id, row)
    except (WorkspaceError, OSError) as error:
        trouble = str(error)
    return seen.model_copy(update={"under_way": under, "back": back, "last": last, "trouble": one_line(trouble, 300)})


async def _processes(attempt: AttemptRow | None, folder: Path) -> tuple[ProcessFacts, ...]:
    """Return the orphans of an attempt, by process id and start time."""
    if attempt is None or not attempt.is_live or not attempt.pid:
        return ()
    if await asyncio.to_thread(works_elsewhere, attempt.pid, attempt.spawned, folder):
        return ()
    found = await asyncio.to_thread(Remains(attempt.pid, attempt.spawned).identities)
    return await asyncio.to_thread(named_processes, found[:_PROCESSES], attempt.pid)


def named_processes(found: Iterable[tuple[int, float]], agent: int) -> tuple[ProcessFacts, ...]:
    """Return the facts about processes by id and start, of which ``agent`` is the agent's own."""
    facts = []
    for pid, start in found:
        name, command = Remains.described(pid, start)
        facts.append(
            ProcessFacts(
                pid=pid, since=iso(start), name=one_line(name, 60), command=one_line(command, 200), agent=pid == agent
            )
        )
    return tuple(facts)


def _spoke(attempt: AttemptRow | None, output: Path) -> float:
    """For how many seconds the attempt has printed, as the file of it tells; 0 where that is not known."""
    if attempt is None or not attempt.is_live or not attempt.spawned:
        return 0.0
    try:
        return max(0.0, (output / f"{attempt.id}.log").stat().st_mtime - attempt.spawned)
    except OSError:
        return 0.0


async def _saved(store: CheckpointStore, run: str, row: TaskRow) -> tuple[SavedFacts | None, SavedFacts | None]:
    """Return the checkpoint for a restore, and the last checkpoint where that differs."""
    own = {checkpoint.id: checkpoint for checkpoint in await store.list()}
    back = own.get(row.baseline)
    mine = [one for one in own.values() if (one.run, one.task) == (run, row.id) and one.reason != INTERRUPTED]
    last = max(mine, key=lambda one: one.number, default=None)
    theirs = await store.written_by(row.id, back.id) if back is not None else None
    since_back = await _since(store, back, theirs) if back is not None else None
    since_last = await _since(store, last, theirs) if last is not None and last != back else None
    return since_back, since_last


async def _since(store: CheckpointStore, checkpoint: Checkpoint, own: frozenset[str] | None) -> SavedFacts:
    """Return the changes since ``checkpoint``; only the task's own if others worked in the same directory."""
    changed = await store.changed(checkpoint.id)
    changes = [change for change in changed if own is None or change.path in own]
    lines = {one.path: (one.added, one.removed) for one in await store.counted(checkpoint.id)}
    found = [_change(change, *lines.get(change.path, (None, None))) for change in changes]
    return SavedFacts(
        id=checkpoint.id,
        reason=one_line(checkpoint.reason),
        created=datetime.fromtimestamp(checkpoint.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        changes=tuple(found[:_NAMED]),
        total=len(found),
        added=sum(one.added or 0 for one in found),
        removed=sum(one.removed or 0 for one in found),
        others=len(changed) - len(changes),
    )


def _change(change: Change, added: int | None, removed: int | None) -> FileChange:
    status = _BECAME[change.status]
    return FileChange(path=one_line(change.path), status=status, added=added, removed=removed)  # type: ignore[arg-type]


async def check_now(verifier: Verifier, row: TaskRow, workdir: Path) -> CheckFacts:
    """Run the task's check, bounded by the verifier's time limit, and say what it says; nothing is decided by it."""
    command = admit(row.task.verify or "", limit=500)
    if not command:
        return CheckFacts(result="none")
    if not workdir.is_dir():
        return CheckFacts(command=command, result="could_not_run", said=Clean("its worktree is gone"))
    done = await verifier.check(row.task.verify, tree=workdir, label=f"{row.attempt or row.id}.recovery", again=False)
    result = "failed" if done.result == "contradicted" else done.result
    return CheckFacts(command=command, result=result, said=_said(done))


def _said(done: Check) -> Clean:
    """Return the reason why it did not pass, in a line."""
    if done.result == "passed":
        return Clean("")
    found = diagnose(done.text, exit_code=done.exit_code, failed=True) if done.text else None
    last = next((line for line in reversed(done.text.splitlines()) if line.strip()), "")
    return one_line(done.problem or (found.headline if found is not None else last), 300)
