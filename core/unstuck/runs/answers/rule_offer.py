"""Offer of a rule after a person has given the same answer repeatedly to the same failure."""

from __future__ import annotations

from contextlib import suppress

from unstuck.contract import Answer
from unstuck.errors import RecordError
from unstuck.eventlog.memory.entry import learnt
from unstuck.eventlog.memory.offers import TOLD, Offer, offers
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.state import GateRow
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.queries.run_list import state_of
from unstuck.supervision.memory.answer_memory import signature_of
from unstuck.workspace.project import Project


def offer_of(place: Project, gate: str, answer: Answer) -> Offer | None:
    """Return the offer after a person has given this answer to ``gate`` of a run of the project; None without one."""
    memory = Memory(memory_file(place.home))
    with suppress(RecordError):
        memory.load()
        if any(entry.approach == answer.choice for entry in memory.entries("answer")):
            for run in reversed(run_names(place.runs)):
                if (row := state_of(place, run)[0].gates.get(gate)) is not None:
                    return offer_for(memory, run, row, answer)
    return None


def offer_for(memory: Memory, run: str, row: GateRow, answer: Answer) -> Offer | None:
    """Return the offer after ``answer`` to the question ``row`` of ``run``."""
    if answer.choice not in TOLD or not signature_of(row) or answer.scope == "pattern":
        return None
    last = learnt(
        "answer", signature=signature_of(row), approach=answer.choice, note=answer.text,
        run=run, task=row.gate.task, when=row.closed,
    )  # fmt: skip
    return next(iter(offers(memory.entries(), last).values()), None)
