"""Judgement of repetition inside an attempt: what an observation leads to, and the words for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector
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


@dataclass(frozen=True, slots=True)
class Alarm:
    """Result of a repetition: a ``nudge`` for the agent, a ``concern`` for the person, or neither yet."""

    verdict: Verdict | None
    concern: Concern | None
    signature: str

    @property
    def nudge(self) -> Verdict | None:
        return self.verdict if self.verdict is not None and self.verdict.nudge else None


def alarm_of(
    detector: LoopDetector,
    observation: Observation,
    verdict: Verdict | None,
    identity: str,
    *,
    gates: Iterable[GateRow],
    ours: bool,
) -> Alarm | None:
    """Return the alarm of an observation on which ``detector`` gave ``verdict``; None without a repetition.

    ``identity`` is that of its failure. An agent of this run (``ours``) is nudged first. Of one that runs elsewhere
    only failing commands are seen, and their count alone is a loop.
    """
    task = observation.task_id
    is_loop = _counted(detector, observation, identity, ours=ours)
    # A failure's loop goes by its identity, whether it was counted or seen as a pattern of steps.
    signature = identity or (verdict.pattern if verdict is not None else "")
    if (verdict is None and not is_loop) or is_dismissed(gates, task, signature):
        return None
    counted = detector.window_size if is_loop else 0
    return Alarm(verdict, concern_of(verdict, observation.text, counted=counted), signature)


def _counted(detector: LoopDetector, observation: Observation, identity: str, *, ours: bool) -> bool:
    """Count failing commands in the detector; measured progress and a message of the person clear the count."""
    task, agent = observation.task_id, observation.agent_id
    if detector.progressed(task, agent) or (observation.kind == "message" and observation.role == "user"):
        detector.record_success(task)
    if ours or observation.kind != "failure" or not detector.counts(task, agent):
        return False
    return detector.record_failure(task, identity)


def concern_of(verdict: Verdict | None, text: str, *, counted: int) -> Concern | None:
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
