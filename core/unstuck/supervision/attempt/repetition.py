"""Judgement of repetition inside an attempt: what an observation leads to, and the words for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from unstuck.contract import Observation, Verdict
from unstuck.diagnosis.pipeline import diagnose
from unstuck.eventlog.state import GateRow
from unstuck.text import Clean, admit, one_line

STEP_LIMIT = 2_000
EVIDENCE_LIMIT = 300
_UNKNOWN_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Concern:
    """A question to the person: about a loop, or about something the agent cannot cure."""

    kind: Literal["loop", "blocked"]
    repeats: int
    evidence: str


def concern_of(verdict: Verdict | None, text: Clean, *, counted: int) -> Concern | None:
    """Return the question that is due. ``counted`` is the number of equal failures where these alone are a loop."""
    if verdict is not None and not verdict.nudge:
        return Concern("blocked" if verdict.kind == "blocked" else "loop", verdict.repeats, verdict.evidence)
    if counted:
        return Concern("loop", counted, verdict.evidence if verdict is not None else text)
    return None


def failure_fields(observation: Observation, text: Clean, task: str) -> dict[str, Any]:
    """Return the fields of a failed step in the event log."""
    if observation.kind != "failure":
        return {}
    found = diagnose(observation.text, exit_code=observation.exit_code or None, task_id=task, failed=True)
    if found is None:
        return {"identity": text[:_UNKNOWN_LIMIT]}
    return {
        "identity": found.identity,
        "error_type": found.signature.error_type.value,
        "headline": one_line(found.headline, EVIDENCE_LIMIT),
        "location": found.signature.location or "",
    }


def is_dismissed(gates: Iterable[GateRow], task: str, signature: str) -> bool:
    """Return whether a person has answered that this, or anything that ``task`` repeats, is no loop."""
    for row in gates:
        gate, answer = row.gate, row.answer
        if (gate.task, gate.type) != (task, "loop_detected") or answer is None or answer.choice != "continue":
            continue
        same = gate.context.get("error_signature") == signature
        if answer.scope == "task" or (answer.scope == "pattern" and same):
            return True
    return False


def nudge(verdict: Verdict) -> Clean:
    """Return the words for the agent: its repetition with the first error, and what would count as progress."""
    advice = {
        "loop": "You are going round in circles. Find out why it does not work, then take another way.",
        "circular_fix": "You are trying the same idea in other words. Take a really different one.",
        "blocked": "Trying again will not help: it has to be mended from outside. Wait longer, or say you are blocked.",
        "waiting": "What you wait for does not change. Look at why, instead of waiting on.",
    }[verdict.kind]
    repeated = f"{verdict.repeats} times: {verdict.evidence}\n{advice}\nProgress would be: {verdict.resets_on}."
    return admit(repeated, limit=STEP_LIMIT)
