"""Interrupted attempts: saved first, then decided by a person, a rule, or the settings.

Each step is one record and can be done again: a run that is killed in the middle goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from unstuck.contract import Answer, Gate
from unstuck.eventlog import events as e
from unstuck.eventlog.state import GateRow, State, TaskRow
from unstuck.supervision.attempt.guidance import ways_left
from unstuck.supervision.checkpointing import INTERRUPTED, checkpoint
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import pending_answer
from unstuck.supervision.gates.gate_timers import timer_of
from unstuck.supervision.gates.service import answer_gate, open_gate
from unstuck.supervision.outcome import decision
from unstuck.supervision.recovery.facts import CHOICES, Observed, RecoveryChoice, TaskRecovery, reconstruct
from unstuck.supervision.recovery.observations import observe
from unstuck.text import one_line

KEY = "interrupted"
"""The key of the question about an interrupted attempt."""
_NAMED = 50


async def recover(core: RunContext, row: TaskRow) -> None:
    """Take the next step of a task whose attempt was interrupted."""
    if not row.saved:
        await checkpoint(core, row, INTERRUPTED, purpose="question")
        return
    if answered := _answered(core.head, row):
        assert answered.answer is not None
        _decide(core, row, answered.answer.choice, gate=answered)
        return
    if chosen := chosen_for(core.recovery.chosen, row.id):
        _decide(core, row, chosen, actor="human")
        return
    last = core.head.attempts[row.attempt]
    if last.guidance.ways and not ways_left(last):  # each has had its check: nothing is left to work
        _decide(core, row, "done")
        return
    known = _known(core, row)
    if row.attempt in core.recovery.interrupted and core.may_ask:
        # No question about an attempt interrupted in this very process, such as by a caller that continues it.
        gate = Gate(id="", type="recovery", task=row.id, key=KEY, context={}, choices=known.possible)
        found = core.policy(gate)
        if core.person or core.settings.recovery == "ask" or found is not None or timer_of(core, gate) is not None:
            await _ask(core, row, found)
            return
    wanted = core.settings.recovery
    _decide(core, row, wanted if wanted in known.possible else "continue")


async def look_at(core: RunContext, row: TaskRow) -> TaskRecovery:
    """The facts about one task, whose attempt was cut off, as they are now."""
    store = core.checkpoints if core.repository is not None else None
    return _known(core, row, await observe(core.head, row, core.tree_of(row), store, output=core.folder / "output"))


def _known(core: RunContext, row: TaskRow, seen: Observed | None = None) -> TaskRecovery:
    """Return the facts of the event log alone, or with the observations."""
    observed = {row.id: seen} if seen is not None else {}
    found = reconstruct(core.head, observed, git=core.repository is not None).of(row.id)
    assert found is not None
    return found


def chosen_for(chosen: Mapping[str, str], task: str) -> RecoveryChoice | None:
    """Return the choice given beforehand for ``task``: by its name, else by the first pattern that fits."""
    names = [task] if task in chosen else [pattern for pattern in chosen if fnmatchcase(task, pattern)]
    return next((choice for name in names for choice in CHOICES if choice == chosen[name]), None)


def answer_chosen(core: RunContext, gate: Gate) -> bool:
    """Answer a question about an attempt that was cut off as was said beforehand; whether that was possible."""
    chosen = chosen_for(core.recovery.chosen, gate.task) if gate.type == "recovery" else None
    if chosen is None or chosen not in gate.choices:
        return False
    answer_gate(core.journal, gate.id, Answer(choice=chosen), via="option")
    return True


def _answered(state: State, row: TaskRow) -> GateRow | None:
    """The question about this attempt that has its answer, which nothing has come of yet."""
    for gate in state.gates_of(row.id):
        about = gate.gate.type == "recovery" and gate.gate.attempt == row.attempt
        if about and gate.status == "answered" and gate.answer is not None and gate.answer.choice != "adopt":
            return gate
    return None


def _decide(core: RunContext, row: TaskRow, choice: str, *, gate: GateRow | None = None, actor: Any = "policy") -> None:
    decided = "continue" if choice in ("stop", "adopt") else choice  # what was stopped, or has ended, begins again
    pending = pending_answer(core.head, row)
    if decided == "continue" and pending:
        # A person's words that the agent has not had yet come first; the one record says both.
        decision.follow_answer(core, row, pending, with_gate=gate.id if gate is not None else "")
        return
    event = e.RecoveryDecided(choice=decided, gate=gate.id if gate is not None else "")  # type: ignore[arg-type]
    core.append(event, task=row.id, attempt=row.attempt, actor=(gate.by or "policy") if gate is not None else actor)


async def _ask(core: RunContext, row: TaskRow, found: tuple[int, Answer] | None) -> None:
    facts = await look_at(core, row)
    if core.row(row.id).state == "interrupted":
        open_gate(
            core,
            "recovery",
            task=row.id,
            key=KEY,
            context=_context(core, facts),
            attempt=row.attempt,
            found=found,
            choices=facts.possible,
        )


def _context(core: RunContext, facts: TaskRecovery) -> dict[str, Any]:
    """The facts as a question carries them."""
    row, back = core.row(facts.task), facts.back
    changes = back.changes if back is not None else ()
    return {
        "task_id": facts.task,
        "agent_id": facts.agent,
        "problem": f"attempt {facts.number} was interrupted after {facts.ran:.0f} s, before its check ran",
        "checkpoint": row.saved if row.saved != "none" else "",
        "not_saved": "" if row.saved != "none" else "no checkpoint could be made",
        "back": back.id if back is not None else "",
        "paths": [one_line(str(change)) for change in changes[:_NAMED]],
        "tree": facts.tree,
        "under_way": facts.under_way,
        "trouble": facts.trouble,
        "check": facts.check.command,
        "refused": facts.refused,
    }
