"""Interventions that are possible on a task without a question, and the reasons against the others. Pure."""

from __future__ import annotations

from typing import Literal, get_args

from unstuck.contract import HELD
from unstuck.eventlog.state import GateRow, State, TaskRow

NextRung = Literal["first", "pivot", "research", "human"]
"""The next steps that a person can choose: the same again, a new approach, research, the question."""
RUNGS: tuple[NextRung, ...] = get_args(NextRung)
Wish = Literal[
    "hold", "extend", "show_me", "retry", "continue", "skip", "abandon", "first", "pivot", "research", "human"
]
RESUMED = ("skipped", "cancelled", "failed")
"""Ends of tasks that a run works again once it is resumed: a task fails only with a halt, whose cause is fixed then."""
_NOT_BEGUN = ("blocked", "ready")
_WAITS = (*_NOT_BEGUN, "backoff", "parked")
_DECIDES = ("judging", "undecided", "preparing", "interrupted")


def why_not(state: State, row: TaskRow, wish: Wish) -> str:
    """Return the reason why ``wish`` is not possible for the task now; empty where it is."""
    gate = state.gates.get(row.gate)
    if row.state == "ended":
        return "it has ended"
    if wish in RUNGS:
        return _why_no_rung(state, row, gate)
    if gate is not None and gate.status == "open":
        return _why_no_answer(gate, wish)
    if row.state == "running":
        attempt = state.attempts.get(row.attempt)
        if wish == "extend" and attempt is not None and attempt.deadline is None:
            return "no clock runs for it"
        return "nothing holds it" if wish == "continue" else ""
    if wish in ("skip", "abandon") and row.state in _WAITS:
        return ""
    if wish == "hold" and row.state in (*_NOT_BEGUN, "backoff"):
        return ""
    return f"no agent works at it: {_meanwhile(row)}"


def why_no_takeover(state: State, row: TaskRow) -> str:
    """Return the reason why the task's files cannot be edited by hand now; empty where they can."""
    gate = state.gates.get(row.gate)
    is_conflict = gate is not None and gate.status == "open" and gate.gate.type == "integration"
    return "" if is_conflict else why_not(state, row, "show_me")


def _why_no_rung(state: State, row: TaskRow, gate: GateRow | None) -> str:
    if state.run.kind == "watch":
        return "unstuck did not start this agent and cannot restart it"
    if row.state == "running" or row.state in ("backoff", "judging", "undecided"):
        return ""
    if gate is not None and gate.status == "open":
        return "it waits for your answer, which decides what comes next"
    return _meanwhile(row)


def _why_no_answer(gate: GateRow, wish: Wish) -> str:
    if wish == "hold":
        return ""
    if wish == "extend":
        return "" if gate.gate.type == "timeout" else "it waits for an answer: its timeouts are paused"
    if wish == "continue" and gate.gate.key != HELD and "continue" not in gate.gate.choices:
        return "its question has to be answered first"
    return "" if wish in gate.gate.choices else "its question has to be answered first"


def _meanwhile(row: TaskRow) -> str:
    """Return the state of a task without an agent at work, in words."""
    if row.state in _DECIDES:
        return "another action is in progress, try again in a moment"
    return {
        "blocked": "it has not begun, and waits for what it needs",
        "ready": "it is about to begin" if row.attempts else "it has not begun",
        "backoff": "it continues after a wait",
        "parked": "waiting for the baseline check to pass",
        "waiting": "it waits for an answer",
    }.get(row.state, "")
