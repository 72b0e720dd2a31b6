"""End of a run: its result for the caller, and the last record."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unstuck.errors import EXIT_CODES, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import State
from unstuck.eventlog.storage.run_store import ended
from unstuck.processes.shim_launcher import killed
from unstuck.supervision.context.context import RunContext
from unstuck.text import admit
from unstuck.workspace.worktrees.unmerged_work import Cleaned, Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """End of a run: its reason in a word, and the exit code that goes with it."""

    exit_reason: str
    exit_code: int


async def record_end(core: RunContext) -> RunResult:
    """Record the end of a quiet run, or that it is paused."""
    result = result_of(core.head, accept_unverified=core.accept_unverified)
    if result.exit_code == 3:
        core.append(e.RunParked(gates=tuple(row.id for row in core.head.open_gates()), unwatched=killed()))
    else:
        if result.exit_code in (0, 1):
            await clean_own(core)
        counts = Counter[str](row.status or row.state for row in core.head.tasks.values())
        core.append(
            e.RunEnded(
                exit_reason=result.exit_reason, exit_code=result.exit_code, counts=dict(counts), unwatched=killed()
            )
        )
    await core.journal.committed()
    return result


def _ended(reason: str) -> RunResult:
    (code,) = (code for code, (name, _) in EXIT_CODES.items() if name == reason)
    return RunResult(exit_reason=reason, exit_code=code)


def result_of(state: State, *, accept_unverified: bool = False) -> RunResult:
    """Return the result of a quiet run."""
    run = state.run
    if run.failed:
        return _ended("halted")
    if run.stopping == "budget":
        return _ended("budget")
    if run.stopping:
        return _ended("interrupted")
    if state.open_gates():
        return _ended("needs_person")
    good = {"succeeded", "unverified"} if accept_unverified else {"succeeded"}
    if all(row.status in good for row in state.tasks.values()):
        return _ended("succeeded")
    return _ended("incomplete")


async def clean_own(core: RunContext) -> None:
    """Clean the worktrees of the run at its end."""
    if core.worktrees is None or all(row.task.isolation != "worktree" for row in core.head.tasks.values()):
        return
    try:
        _say(core, await core.worktrees.clean())
    except (WorkspaceError, OSError) as error:
        _say(core, Cleaned((), (Kept(core.worktrees.branch, str(error)),)))


async def clean_old(core: RunContext, runs: Path, removed: Iterable[str]) -> None:
    """At the beginning of a run those of earlier ones: of such as have ended, and of ``removed``, whose record is gone.

    What cannot be cleaned now is cleaned another time.
    """
    trees, gone = core.worktrees, frozenset(removed)
    if trees is None:
        return
    for run in sorted({*trees.runs(), *gone} - {core.run}):
        if run not in gone and not await asyncio.to_thread(ended, runs, run):
            continue
        try:
            cleaned = await trees.of(run).clean()
            if run in gone:
                await trees.of(run).forget()
        except (WorkspaceError, OSError):
            continue
        if cleaned.removed:
            _say(core, cleaned, of=run)


def _say(core: RunContext, cleaned: Cleaned, *, of: str = "") -> None:
    kept = tuple(admit(f"{kept.place}: {kept.reason}", limit=500) for kept in cleaned.kept[:MAX_PATHS_IN_EVENT])
    if cleaned.removed or kept:
        core.append(e.TreesCleaned(removed=cleaned.removed, kept=kept, of=of))
