"""What an attempt is told, as plain text. Pure; the words stand here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unstuck.contract import Level
from unstuck.diagnosis import Diagnosis
from unstuck.text import Clean, admit, one_line, shorten

__all__ = ["SIGNAL_HELP", "Brief", "compose"]

TASK_LIMIT = 2**20
ADDED_LIMIT = 60_000
_EVIDENCE_LIMIT = 4_000

SIGNAL_HELP = (
    'End with one line such as UNSTUCK {"signal": "complete", "approach": "what you did"} '
    'or, if you need a decision, UNSTUCK {"signal": "needs_guidance", "question": "...", "options": ["...", "..."]}.'
)
_INSTRUCTION: dict[Level, str] = {
    "first": "",
    "retry": "The last attempt did not pass the check. Keep the approach and fix this problem:",
    "pivot": "The last approach did not work. Take a different one, from the start:",
    "research": "Several attempts failed. First understand the problem, then name a new approach and follow it:",
    "human": "A person has looked at this and says:",
    "continue": "The last session ran out of context. Its work is in the files. Go on from there:",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Everything that may go into one attempt's text; empty parts are left out."""

    prompt: str
    level: Level = "first"
    hint: str = ""
    approach: str = ""
    answer: str = ""
    advice: Sequence[str] = ()
    diagnosis: Diagnosis | None = None
    evidence: str = ""
    repeats: int = 0
    failed: Sequence[str] = ()
    insights: Sequence[str] = ()
    restored: str = ""
    progress: Sequence[str] = ()
    check: str = ""
    signals: bool = False


def compose(brief: Brief) -> Clean:
    """The whole text of an attempt: the task first and never cut for what this rung adds."""
    parts = []
    if brief.level != "first":
        parts.append(_INSTRUCTION[brief.level])
    if brief.answer:
        parts.append(brief.answer)
    if brief.advice:
        parts.append("A person has said before:\n" + "\n\n".join(brief.advice))
    if brief.approach:
        parts.append(f"Approach: {brief.approach}")
    if brief.diagnosis is not None and brief.level != "first":
        parts.append(_problem(brief.diagnosis, brief.repeats))
    if brief.hint:
        parts.append(f"Hint: {brief.hint}")
    if brief.failed and brief.level in ("pivot", "research", "human"):
        parts.append("Already tried without success:\n" + "\n".join(f"- {one_line(way)}" for way in brief.failed))
    if brief.insights:
        parts.append("Gathered:\n" + "\n\n".join(brief.insights))
    if brief.restored:
        parts.append(brief.restored)
    if brief.progress:
        parts.append("Done so far in the files:\n" + "\n".join(f"- {change}" for change in brief.progress))
    if brief.evidence and brief.level != "first":
        parts.append("What the check printed:\n" + shorten(brief.evidence.strip(), _EVIDENCE_LIMIT))
    if brief.check:
        parts.append(f"Your work is done when this passes: {brief.check}")
    if brief.signals:
        parts.append(SIGNAL_HELP)
    added = admit("\n\n".join(parts), limit=ADDED_LIMIT)
    return Clean("\n\n".join(part for part in (admit(brief.prompt, limit=TASK_LIMIT), added) if part))


def _problem(diagnosis: Diagnosis, repeats: int) -> str:
    where = f" ({diagnosis.signature.location})" if diagnosis.signature.location else ""
    again = f"\nThis is the same failure {repeats} times in a row." if repeats > 1 else ""
    return f"Problem: {diagnosis.headline}{where}{again}"
