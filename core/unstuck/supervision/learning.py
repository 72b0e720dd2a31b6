"""What the project's memory knows about a failure, and what is kept of how it ended."""

from __future__ import annotations

from unstuck.contract import Report
from unstuck.diagnosis import Approach
from unstuck.escalation.alternatives import alternatives, known_ways, learnt_patterns, remembered_ways
from unstuck.escalation.climb import Climb
from unstuck.record.memory import Kind, Result
from unstuck.record.state import TaskRow
from unstuck.supervision.core import Core

__all__ = ["remember_failed", "remember_worked", "told_before", "ways_for"]


def ways_for(core: Core, row: TaskRow, report: Report) -> tuple[Approach, ...]:
    """Where a pivot of ``row`` can go, best first; never what has failed against this failure."""
    diagnosis = row.diagnosis
    if diagnosis is None:
        return ()
    failed = {*row.climb.failed_approaches, *core.memory.failed(diagnosis.identity)}
    if row.climb.approach:
        failed.add(row.climb.approach)
    tried, headline = core.memory.entries("approach"), diagnosis.headline
    return alternatives(
        diagnosis.cause,
        remembered=remembered_ways(tried, cause=diagnosis.cause, signature=diagnosis.identity, headline=headline),
        patterns=(*learnt_patterns(tried, cause=diagnosis.cause), *known_ways(core.limits.patterns, headline)),
        named=(*report.alternatives, *row.climb.named),
        failed=failed,
    )


def remember_failed(core: Core, row: TaskRow, climb: Climb) -> None:
    """What has just failed is known to later runs of the project."""
    for way in climb.failed_approaches:
        if way not in row.climb.failed_approaches:
            _remember(core, row, "approach", approach=way, outcome="failed")


def remember_worked(core: Core, row: TaskRow) -> None:
    """What got past the last failure is preferred by later runs of the project."""
    worked = row.climb.approach or (row.report.approach if row.report else "")
    if worked:
        _remember(core, row, "approach", approach=worked, outcome="worked")


def told_before(core: Core, row: TaskRow) -> str:
    """What a person wants to be told about this very failure from now on; empty where nothing is."""
    return ""


def _remember(core: Core, row: TaskRow, kind: Kind, *, approach: str, outcome: Result, note: str = "") -> None:
    if row.diagnosis is None:
        return
    core.memory.remember(
        kind,
        signature=row.diagnosis.identity,
        approach=approach,
        outcome=outcome,
        cause=row.diagnosis.cause.value,
        note=note or row.diagnosis.headline,
        task=row.id,
        run=core.run,
    )
