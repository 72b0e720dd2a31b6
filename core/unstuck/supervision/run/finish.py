"""End of a run: its result for the caller, and the last record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from unstuck.errors import EXIT_CODES
from unstuck.eventlog import events as e
from unstuck.eventlog.state import State, TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.run.worktree_cleanup import clean_own

__all__ = ["RunResult", "record_end", "result_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended: its reason in a word, and the exit code that goes with it."""

    exit_reason: str
    exit_code: int


async def record_end(core: RunContext) -> RunResult:
    """Record the end of a quiet run, or that it is paused."""
    result = result_of(core.head, accept_unverified=core.accept_unverified)
    if result.exit_code == 3:
        core.append(e.RunParked(gates=tuple(row.id for row in core.head.open_gates())))
    else:
        if result.exit_code in (0, 1):
            await clean_own(core)
        counts = Counter(_word(row) for row in core.head.tasks.values())
        core.append(e.RunEnded(exit_reason=result.exit_reason, exit_code=result.exit_code, counts=dict(counts)))
    await core.journal.committed()
    return result


def _ended(reason: str) -> RunResult:
    (code,) = (code for code, (name, _) in EXIT_CODES.items() if name == reason)
    return RunResult(exit_reason=reason, exit_code=code)


def _word(row: TaskRow) -> str:
    return row.status or row.state


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
