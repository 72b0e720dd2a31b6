"""Usage as agents report it, by task and by escalation level. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unstuck.eventlog.state import AttemptRow, State, TaskRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Sum of the usage of ``attempts`` attempts. ``cost`` is in US dollars, None if no agent reported it."""

    attempts: int = 0
    tokens: int = 0
    cost: float | None = None


def usage_of(state: State, row: TaskRow, *, after: int = 0) -> Usage:
    """Return the usage of a task, without that of its first ``after`` attempts."""
    return _sum(_attempts(state, row, after))


def usage_by_rung(state: State, row: TaskRow) -> dict[str, Usage]:
    """Return the usage by escalation level (``first``, ``retry``, …), in the order of first use."""
    by_rung: dict[str, list[AttemptRow]] = {}
    for attempt in _attempts(state, row):
        by_rung.setdefault(attempt.guidance.level, []).append(attempt)
    return {rung: _sum(attempts) for rung, attempts in by_rung.items()}


def used_in_session(state: State, session: str) -> tuple[int, int, float]:
    """Return the tokens, those written, and the cost of all attempts in an agent's own ``session``."""
    rows = [row for row in state.attempts.values() if session and session in _sessions(row)]
    used = _sum(rows)
    return used.tokens, sum(row.written for row in rows), used.cost or 0.0


def _sessions(row: AttemptRow) -> tuple[str | None, ...]:
    """Return the session that the attempt continued, the one it named, and the one it ended in."""
    return row.guidance.session, row.session, row.report.session if row.report is not None else None


def _attempts(state: State, row: TaskRow, after: int = 0) -> Iterable[AttemptRow]:
    """Return the attempts of a task by their ids, without a pass over the attempts of other tasks."""
    ids = (f"{row.id}.{number}" for number in range(after + 1, row.attempts + 1))
    return (state.attempts[attempt] for attempt in ids if attempt in state.attempts)


def _sum(attempts: Iterable[AttemptRow]) -> Usage:
    used = list(attempts)
    costs = [attempt.cost for attempt in used if attempt.cost is not None]
    tokens = sum(attempt.tokens for attempt in used)
    return Usage(attempts=len(used), tokens=tokens, cost=sum(costs) if costs else None)
