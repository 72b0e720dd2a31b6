"""Failures in the project's memory: approaches, findings and outcomes.

Memory advises and decides nothing: where it cannot be written the run goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.enums import Cause
from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import RecordError
from unstuck.escalation.alternatives import (
    alternatives,
    known_ways,
    learned_order,
    learnt_patterns,
    remembered_ways,
    uses_of,
)
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.precedence import LEARNT
from unstuck.escalation.research_targets import insights_about
from unstuck.eventlog.memory.entry import Kind, Result, clean, learnt
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.memory.answer_memory import keep, remember_answers, told_before
from unstuck.text import Clean, shorten

if TYPE_CHECKING:
    from unstuck.supervision.context.context import RunContext

_INSIGHT_LIMIT = 2_000


def ways_for(memory: Memory, limits: Limits, row: TaskRow, now: float) -> tuple[Approach, ...]:
    """Return the approaches for a pivot of ``row``, best first, without those that failed against this failure.

    ``now`` is in seconds since 1970.
    """
    diagnosis, climb = row.diagnosis, row.climb
    if diagnosis is None:
        return ()
    return ways_against(
        memory,
        limits,
        cause=diagnosis.cause,
        signature=diagnosis.identity,
        headline=diagnosis.headline,
        named=(*(row.report.alternatives if row.report else ()), *climb.named),
        failed=(*climb.failed_approaches, climb.approach),
        now=now,
    )


def ways_against(
    memory: Memory,
    limits: Limits,
    *,
    cause: Cause,
    signature: str,
    headline: str,
    now: float,
    named: Sequence[str] = (),
    failed: Iterable[str] = (),
) -> tuple[Approach, ...]:
    """Return the approaches against a failure, best first, without those that ``failed``, now or by the memory.

    Those that others have overtaken come last.
    """
    tried = memory.entries("approach")
    ways = alternatives(
        cause,
        remembered=remembered_ways(tried, cause=cause, signature=signature, headline=headline),
        patterns=(*learnt_patterns(tried, cause=cause), *known_ways(limits.patterns, headline)),
        named=named,
        failed={*failed, *memory.failed(signature)},
    )
    if limits.learned:
        ways = learned_order(ways, uses_of(tried, signature=signature, headline=headline, now=now))
    stopped = memory.stopped(signature)
    return tuple(sorted(ways, key=lambda way: way.name in stopped))


def remember_failed(core: RunContext, row: TaskRow, climb: Climb) -> None:
    """Record the approach that has just failed for later runs of the project."""
    for way in climb.failed_approaches:
        if way not in row.climb.failed_approaches:
            _remember_failure(core, row, "approach", approach=way, outcome="failed")
    identity = row.diagnosis.identity if row.diagnosis else ""
    if f"{LEARNT}\n{identity}" in row.climb.resolved and (said := told_before(core.memory, row)):
        # The agent had it and the same failure is back: only a person may give it again.
        keep(core, learnt("rule", signature=identity, outcome="failed", note=said, task=row.id))


def remember_way(core: RunContext, row: TaskRow, approach: str, outcome: Literal["failed", "stopped"]) -> None:
    """Record that one of several approaches at the same time has failed, or that another one was first."""
    _remember_failure(core, row, "approach", approach=approach, outcome=outcome)


def remember_worked(core: RunContext, row: TaskRow) -> None:
    """Record the approach that got past the last failure; later runs prefer it."""
    worked = row.climb.approach or (row.report.approach if row.report else "")
    if worked:
        _remember_failure(core, row, "approach", approach=worked, outcome="worked")
    remember_answers(core, row, "worked")
    if row.climb.told_research:
        _remember_help(core, row)


def remember_flaky(core: RunContext, row: TaskRow, failure: Diagnosis) -> tuple[str, int]:
    """Remember that ``failure`` went away without a change; its test, and how often that was so in this project."""
    known = failure.signature
    test = known.metadata.get("test", "") or known.location or failure.headline
    before = len(core.memory.entries("flaky", signature=failure.identity))
    note = f"{core.run} {row.attempt or row.id} {before}"
    keep(core, learnt("flaky", signature=failure.identity, approach=test, note=note, task=row.id))
    return test, before + 1


def remember_insights(core: RunContext, row: TaskRow, insights: Iterable[str]) -> None:
    """Record findings about the failure, each once per task, with its headline to recognise similar ones."""
    identity, headline = (row.diagnosis.identity, row.diagnosis.headline) if row.diagnosis is not None else ("", "")
    own = core.memory.entries("insight", signature=identity)
    known = {one.note for one in own if (one.run, one.task) == (core.run, row.id)}
    for insight in insights:
        found = shorten(insight, _INSIGHT_LIMIT)
        if clean(found) in known:
            continue
        _remember_failure(core, row, "insight", approach=headline, outcome="", note=found)


def _remember_help(core: RunContext, row: TaskRow) -> None:
    """Record the findings that the attempt was given which got past the failure, without a question since.

    Which one of several has helped is not known.
    """
    given = {clean(shorten(insight, _INSIGHT_LIMIT)) for insight in row.climb.insights}
    outcome: Result = "worked" if len(given) == 1 else "used"
    own = [one for one in core.memory.entries("insight") if (one.run, one.task) == (core.run, row.id)]
    known = {(one.signature, one.note) for one in own if one.outcome}
    for one in reversed(own):
        if not one.outcome and one.note in given and (one.signature, one.note) not in known:
            keep(core, replace(one, outcome=outcome, when=Clean("")))


def insights_before(core: RunContext, row: TaskRow) -> tuple[str, ...]:
    """Return the findings that helped against this failure or a similar one, each with its task and time."""
    if row.diagnosis is None:
        return ()
    known = (one for one in core.memory.entries("insight") if (one.run, one.task) != (core.run, row.id))
    return insights_about(known, signature=row.diagnosis.identity, headline=row.diagnosis.headline)


async def keep_safe(core: RunContext) -> None:
    """Wait until the memory is synced to disk."""
    with suppress(RecordError):
        await core.memory.synced()


async def learn_anew(core: RunContext) -> None:
    """Read the changes of other processes."""
    with suppress(RecordError):
        await core.memory.refresh()


def _remember_failure(
    core: RunContext, row: TaskRow, kind: Kind, *, approach: str, outcome: Result, note: str = ""
) -> None:
    if row.diagnosis is None:
        return
    entry = learnt(
        kind,
        signature=row.diagnosis.identity,
        approach=approach,
        outcome=outcome,
        cause=row.diagnosis.cause.value,
        note=note or row.diagnosis.headline,
        task=row.id,
    )
    keep(core, entry)
