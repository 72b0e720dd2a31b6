"""What the project's memory knows about a failure, and what is kept of how it ended.

Memory advises and decides nothing: where it cannot be written the run goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unstuck.clock import iso
from unstuck.contract import Report
from unstuck.diagnosis.causes import Approach
from unstuck.errors import RecordError
from unstuck.escalation.alternatives import alternatives, known_ways, learnt_patterns, remembered_ways
from unstuck.escalation.climb import Climb
from unstuck.escalation.precedence import LEARNT
from unstuck.escalation.research import insights_about
from unstuck.record.memory import Memory
from unstuck.record.remembered import Kind, Remembered, Result, learnt, rule_words
from unstuck.record.state import GateRow, TaskRow
from unstuck.text import Clean, shorten

if TYPE_CHECKING:
    from unstuck.supervision.core import Core

__all__ = [
    "answered_before",
    "insights_before",
    "keep_rules",
    "keep_safe",
    "learn_anew",
    "remember_answers",
    "remember_end",
    "remember_failed",
    "remember_given",
    "remember_insights",
    "remember_worked",
    "signature_of",
    "told_before",
    "ways_for",
]

_ASKED = ("stuck", "loop_detected")
_TOLD = ("show_me", "retry")
_INSIGHT_LIMIT = 2_000


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
            _remember_failure(core, row, "approach", approach=way, outcome="failed")
    identity = row.diagnosis.identity if row.diagnosis else ""
    if f"{LEARNT}\n{identity}" in row.climb.resolved and (said := told_before(core, row)):
        # It was told and the same failure is back: it is not told by itself again.
        _keep(core, learnt("rule", signature=identity, outcome="failed", note=said, task=row.id))


def remember_worked(core: Core, row: TaskRow) -> None:
    """What got past the last failure is preferred by later runs of the project."""
    worked = row.climb.approach or (row.report.approach if row.report else "")
    if worked:
        _remember_failure(core, row, "approach", approach=worked, outcome="worked")
    remember_answers(core, row, "worked")
    if row.climb.told_research:
        _remember_help(core, row)


def remember_insights(core: Core, row: TaskRow, insights: Iterable[str]) -> None:
    """What was found out about the failure; its headline goes along, so that one like it is recognised."""
    headline = row.diagnosis.headline if row.diagnosis is not None else ""
    for insight in insights:
        found = shorten(insight, _INSIGHT_LIMIT)
        _remember_failure(core, row, "insight", approach=headline, outcome="", note=found)


def _remember_help(core: Core, row: TaskRow) -> None:
    """The task got past its failure with what research had found, and nobody had to be asked since."""
    own = [one for one in core.memory.entries("insight") if (one.run, one.task) == (core.run, row.id)]
    helped = {(one.signature, one.note) for one in own if one.outcome == "worked"}
    for one in reversed(own):
        if not one.outcome and (one.signature, one.note) not in helped:
            _keep(core, replace(one, outcome="worked", when=Clean("")))


def insights_before(core: Core, row: TaskRow) -> tuple[str, ...]:
    """What helped against this failure, or one much like it, in another task; with when and in which."""
    if row.diagnosis is None:
        return ()
    known = (one for one in core.memory.entries("insight") if (one.run, one.task) != (core.run, row.id))
    return insights_about(known, signature=row.diagnosis.identity, headline=row.diagnosis.headline)


# --- answers that people gave ----------------------------------------------------------------------------------------


def signature_of(gate: GateRow) -> str:
    """The failure that a stuck or a loop gate is about; empty where none is known."""
    context = gate.gate.context
    return str(context.get("signature") or context.get("error_signature") or "")


def answered_before(core: Core, signature: str) -> dict[str, Any]:
    """The newest answer to this failure that worked, else the newest that did not; empty where there is none.

    Its keys are ``choice``, ``text``, ``when`` (ISO 8601), ``outcome`` and ``task``.
    """
    given: dict[tuple[str, str], Any] = {}
    for entry in core.memory.entries("answer", signature=signature) if signature else ():
        if entry.approach in _TOLD and entry.note and entry.outcome:
            given.setdefault((entry.approach, entry.note), entry)
    best = next((entry for entry in given.values() if entry.outcome == "worked"), next(iter(given.values()), None))
    if best is None:
        return {}
    return {
        "choice": best.approach,
        "text": best.note,
        "when": best.when,
        "outcome": best.outcome,
        "task": best.task,
    }


def remember_answers(core: Core, row: TaskRow, outcome: Result, *, about: str = "") -> None:
    """How the answers about this task's failures ended, each once; only those to the failure ``about``, if given."""
    asked = [gate for gate in core.head.gates.values() if gate.gate.task == row.id and gate.gate.type in _ASKED]
    for number, gate in enumerate(asked):
        signature = signature_of(gate)
        # What had to be asked again did not help, and was kept as that when it was asked.
        again = any(signature_of(later) == signature for later in asked[number + 1 :])
        if gate.answer is not None and signature and not again and about in ("", signature):
            _remember_answer(core.memory, core.run, gate, signature, outcome)


def remember_given(memory: Memory, run: str, gate: GateRow) -> None:
    """An answer that ended its task where no run is live that would keep it; ``memory`` as it was loaded."""
    signature = signature_of(gate)
    if gate.gate.type in _ASKED and gate.effect in ("skipped", "abandoned") and signature:
        _remember_answer(memory, run, gate, signature, "")


def _remember_answer(memory: Memory, run: str, gate: GateRow, signature: str, outcome: Result) -> None:
    assert gate.answer is not None
    kept = (run, gate.gate.task, gate.answer.choice, gate.answer.text, outcome)
    for entry in memory.entries("answer", signature=signature):
        if (entry.run, entry.task, entry.approach, entry.note, entry.outcome) == kept:
            return
    with suppress(RecordError):
        memory.remember(
            learnt(
                "answer",
                signature=signature,
                approach=gate.answer.choice,
                outcome=outcome,
                note=gate.answer.text,
                task=gate.gate.task,
                run=run,
                when=gate.closed,
            )
        )


def remember_end(core: Core, row: TaskRow) -> None:
    """An answer that ended the task is kept as well; whether that was good nobody can say."""
    if row.status in ("skipped", "abandoned"):
        remember_answers(core, row, "")


def keep_rules(core: Core, gates: Iterable[str]) -> None:
    """What a person wants to be told about the same failure from now on, without being asked."""
    for gate in gates:
        row = core.head.gates.get(gate)
        answer = row.answer if row is not None else None
        if row is None or answer is None or answer.scope != "pattern" or answer.choice not in _TOLD or not answer.text:
            continue
        said, signature = rule_words(answer.choice, answer.text), signature_of(row)
        if signature and said != _rule(core, signature):
            _keep(core, learnt("rule", signature=signature, note=said, task=row.gate.task, when=row.closed))


async def keep_safe(core: Core) -> None:
    """Wait until what was learnt so far survives a power cut, too."""
    with suppress(RecordError):
        await core.memory.synced()


async def learn_anew(core: Core) -> None:
    """Take in what others have learnt, forgotten or made a rule since."""
    with suppress(RecordError):
        await core.memory.refresh()


def told_before(core: Core, row: TaskRow) -> str:
    """What a person wants to be told about this very failure without being asked; empty where nothing is."""
    return _rule(core, row.diagnosis.identity) if row.diagnosis is not None else ""


def _rule(core: Core, signature: str) -> str:
    holding = core.memory.rule(signature)
    return holding.note if holding is not None else ""


def _remember_failure(core: Core, row: TaskRow, kind: Kind, *, approach: str, outcome: Result, note: str = "") -> None:
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
    _keep(core, entry)


def _keep(core: Core, entry: Remembered) -> None:
    """Remember it as this run's, from now on."""
    when = entry.when or Clean(iso(core.clock.now()))
    with suppress(RecordError):
        core.memory.remember(replace(entry, run=Clean(core.run), when=when))
