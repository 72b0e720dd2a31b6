"""The task of a live run that works in a tree now."""

from __future__ import annotations

from pathlib import Path

from unstuck.runs.queries.run_list import state_of
from unstuck.supervision.context.next_step import working
from unstuck.workspace.project import Project


def task_at(tree: Path, place: Project, run: str) -> str:
    """The task of ``run`` that works in ``tree`` now; empty where none does. One that stands frozen does not."""
    state, _ = state_of(place, run)
    for row in working(state):
        attempt = state.attempts.get(row.attempt)
        if attempt is None or not Path(attempt.guidance.workdir).resolve().is_relative_to(tree):
            continue
        gate = state.gates.get(row.gate)
        if not (attempt.state == "held" and gate is not None and gate.gate.standing == "frozen"):
            return row.id
    return ""
