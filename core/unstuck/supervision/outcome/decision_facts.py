"""Facts of the decision after an attempt, and the decision on them. Pure: live runs and replays share it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from unstuck.contract import Report
from unstuck.diagnosis.agent_messages.quota_reset import seconds_until
from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import Decision, Facts, checked_again, chosen, decide
from unstuck.eventlog.state import Standing, State, TaskRow
from unstuck.supervision.attempt.permissions import unsettled
from unstuck.supervision.gates.budget import used_up
from unstuck.supervision.outcome.agent_failure import failed_itself
from unstuck.text import Clean


def decision_on(row: TaskRow, facts: Facts, limits: Limits) -> Decision:
    """Return the decision on these facts, with the escalation level or the check that a person has chosen."""
    if row.chosen == "check":
        return checked_again(facts)
    return chosen(facts, row.chosen) if row.chosen else decide(facts, limits)  # type: ignore[arg-type]


def facts_of(
    state: State,
    row: TaskRow,
    *,
    alternatives: tuple[Approach, ...],
    learnt: str,
    infrastructure: bool,
    may_ask: bool,
    now: float,
) -> Facts:
    """Return the facts about the last attempt of ``row``; ``now`` is in seconds since 1970.

    ``alternatives`` and ``learnt`` are from the memory of the project.
    """
    report = row.report or Report()
    if row.check and row.check.approach:
        report = replace(report, approach=Clean(row.check.approach))
    return Facts(
        check=row.check.result if row.check else "none",
        check_problem=row.check.problem if row.check else "",
        check_trouble=row.check.trouble if row.check else "",
        report=report,
        diagnosis=row.diagnosis,
        climb=row.climb,
        alternatives=alternatives,
        circular=bool(row.check and row.check.circular),
        infrastructure=infrastructure,
        direct=row.mode == "direct",
        may_ask=may_ask,
        resets_in=_resets_in(row, now),
        learnt=learnt,
        before=extent_with(row, row.before),
        now=row.files.extent,
        back=_back(row),
        ending=row.check.ending if row.check else "",
        said=row.check.said if row.check else "",
        fruitless=bool(row.check and row.check.untouched and failed_itself(report)),
        size=row.check.size if row.check else 0,
        denied=unsettled(state, row, report),
        untouched=bool(row.check and row.check.untouched),
        over=over.words if (over := used_up(state, row)) is not None else "",
    )


def fails_on_baseline(state: State, row: TaskRow) -> bool:
    """Return whether the baseline check is known to fail with the very signature of ``row``."""
    run = state.run
    return row.diagnosis is not None and (run.baseline, run.baseline_identity) == ("failed", row.diagnosis.identity)


def extent_with(row: TaskRow, files: Standing) -> Extent:
    """Return the extent of the check with ``files``, as far as it is recorded."""
    if not files.checkpoint:
        return files.extent
    if files.checkpoint == row.loads:
        return Extent(stage="run")
    return _extent_of_baseline(row) if files.checkpoint == row.baseline else UNKNOWN_EXTENT


def _back(row: TaskRow) -> Literal["", "loads", "passes"]:
    """Return the facts about the checkpoint to which a broken build could be restored."""
    if row.loads:
        return "passes" if row.loads == row.good else "loads"
    at_baseline = row.good == row.baseline and _extent_of_baseline(row).stage == "run"
    return "loads" if at_baseline else ""


def _extent_of_baseline(row: TaskRow) -> Extent:
    return row.baseline_check.extent if row.baseline_check is not None else UNKNOWN_EXTENT


def _resets_in(row: TaskRow, now: float) -> float:
    said = row.diagnosis.signature.metadata.get("resets_at", "") if row.diagnosis else ""
    return seconds_until(said, now) if said else 0.0
