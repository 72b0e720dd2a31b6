"""Answers in the project's memory: their outcomes, and those that a person made a rule."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unstuck.clock import iso
from unstuck.errors import RecordError
from unstuck.eventlog.memory.entry import Remembered, Result, learnt, rule_words
from unstuck.eventlog.memory.offers import TOLD, offers
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.text import Clean

if TYPE_CHECKING:
    from unstuck.supervision.context.context import RunContext

_ASKED = ("stuck", "loop_detected")


def signature_of(gate: GateRow) -> str:
    """The failure that a stuck or a loop gate is about; empty where none is known."""
    context = gate.gate.context
    return str(context.get("signature") or context.get("error_signature") or "")


def answered_before(core: RunContext, signature: str) -> dict[str, Any]:
    """The newest answer to this failure that worked, else the newest that did not; empty where there is none.

    Its keys are ``choice``, ``text``, ``when`` (ISO 8601), ``outcome`` and ``task``, and ``evidence`` if it
    is offered as a rule.
    """
    given: dict[tuple[str, str], Any] = {}
    for entry in core.memory.entries("answer", signature=signature) if signature else ():
        if entry.approach in TOLD and entry.note and entry.outcome:
            given.setdefault((entry.approach, entry.note), entry)
    best = next((entry for entry in given.values() if entry.outcome == "worked"), next(iter(given.values()), None))
    if best is None:
        return {}
    offer = offers(core.memory.entries(signature=signature)).get(best.id)
    return {
        "choice": best.approach,
        "text": best.note,
        "when": best.when,
        "outcome": best.outcome,
        "task": best.task,
        **({"evidence": offer.words} if offer is not None else {}),
    }


def remember_answers(core: RunContext, row: TaskRow, outcome: Result, *, about: str = "") -> None:
    """Return the outcome of each answer about this task's failures, or about the failure ``about`` alone."""
    asked = [gate for gate in core.head.gates_of(row.id) if gate.gate.type in _ASKED]
    for number, gate in enumerate(asked):
        signature = signature_of(gate)
        # What had to be asked again did not help, and was kept as that when it was asked.
        again = any(signature_of(later) == signature for later in asked[number + 1 :])
        if gate.answer is None or gate.answer.choice == "check":
            continue  # it has told the agent nothing
        if signature and not again and about in ("", signature):
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


def remember_end(core: RunContext, row: TaskRow) -> None:
    """An answer that ended the task is kept as well; whether that was good nobody can say."""
    if row.status in ("skipped", "abandoned"):
        remember_answers(core, row, "")


def keep_rules(core: RunContext, gates: Iterable[str]) -> None:
    """Record the answers that a person made a rule for the same failure."""
    for gate in gates:
        row = core.head.gates.get(gate)
        answer = row.answer if row is not None else None
        if row is None or answer is None or answer.scope != "pattern" or answer.choice not in TOLD or not answer.text:
            continue
        said, signature = rule_words(answer.choice, answer.text), signature_of(row)
        if signature and said != _rule(core.memory, signature):
            keep(core, learnt("rule", signature=signature, note=said, task=row.gate.task, when=row.closed))


def told_before(memory: Memory, row: TaskRow) -> str:
    """Return the answer that a person made a rule for this very failure; empty where there is none."""
    return _rule(memory, row.diagnosis.identity) if row.diagnosis is not None else ""


def _rule(memory: Memory, signature: str) -> str:
    holding = memory.rule(signature)
    return holding.note if holding is not None else ""


def keep(core: RunContext, entry: Remembered) -> None:
    """Remember it as this run's, from now on."""
    when = entry.when or Clean(iso(core.clock.now()))
    with suppress(RecordError):
        core.memory.remember(replace(entry, run=Clean(core.run), when=when))
