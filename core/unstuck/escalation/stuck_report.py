"""Stuck report for a person who decides how a task continues. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.ladder_state import Climb
from unstuck.text import one_line

STUCK_OPTIONS = (
    "Show me how to do this",
    "Skip this part for now",
    "Abandon the task",
    "Try again with a different approach: [describe]",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckReport:
    """Attempts, analysis, and the checkpoint of the files.

    ``attempts`` counts every directive since the last question by level, and waits, sessions and agent failures where
    there are any. ``touches`` are the tasks that depend on this one. ``checkpoint`` is an id or empty. ``files`` are
    the changes of the task, ``tokens`` the use of each level as reported, ``consequences`` one text per option.
    ``weakened`` lists changes to the tests and to what decides about them. ``ending`` is how the last attempt ended
    badly, and ``said`` the agent's last words then.

    Example::

        print(handler.handle(failure, execution).stuck_report)
    """

    task: str
    summary: str
    location: str
    attempts: dict[str, int]
    analysis: str
    reason: str
    insights: tuple[str, ...] = ()
    approaches: tuple[str, ...] = ()
    checkpoint: str = ""
    touches: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    consequences: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    ending: str = ""
    said: str = ""

    def markdown(self) -> str:
        lines = [f"# {self.task} is stuck", "", f"**Problem:** {self.summary}"]
        if self.location:
            lines.append(f"**Where:** `{self.location}`")
        if self.ending:
            lines += ["", "## The agent itself", "", f"The agent {one_line(self.ending)}."]
        if self.said:
            lines += ["", "It said last:", "", *(f"    {line}" for line in self.said.splitlines())]
        lines += ["", "## Tried", "", *(f"- {text}" for text in _attempts(self.attempts))]
        lines += [f"- without success: {one_line(way)}" for way in self.approaches]
        lines += ["", "## Analysis", "", self.analysis]
        if self.insights:
            lines += ["", "## Research findings"]
        for insight in self.insights:
            source, _, text = insight.partition("\n")
            lines += ["", f"- {source}", "", *(f"      {line}" for line in text.splitlines())]
        if self.files:
            lines += ["", "## Changed so far", "", *(f"- {one_line(change)}" for change in self.files)]
        if self.weakened:
            lines += ["", "## Changed in the tests or in the settings of the check", ""]
            lines += [f"- {one_line(finding)}" for finding in self.weakened]
        if self.tokens:
            lines += ["", "## Used", "", *(f"- {rung}: {count:,} tokens" for rung, count in self.tokens.items())]
        if self.checkpoint:
            lines += ["", f"Checkpoint saved: {self.checkpoint}"]
        if self.touches:
            lines += ["", f"Waiting for this task: {', '.join(self.touches)}"]
        lines += ["", "## Options", ""]
        for number, text in enumerate(STUCK_OPTIONS, 1):
            touched = self.consequences[number - 1 : number]
            lines += [f"{number}. {text}", *(f"   ({line})" for line in touched)]
        lines.append("")
        return "\n".join(lines)


def stuck_report(
    task: str,
    climb: Climb,
    diagnosis: Diagnosis | None,
    *,
    reason: str,
    checkpoint: str = "",
    own: str = "",
) -> StuckReport:
    """Return the report for a task whose climb has ended, without what only a run knows.

    ``own`` is the agent's own failure, where that ended it.
    """
    return StuckReport(
        task=task,
        summary=own or (diagnosis.headline if diagnosis else reason),
        location=(diagnosis.signature.location or "") if diagnosis and not own else "",
        attempts=_counted(climb),
        analysis=_analysis(climb, None if own else diagnosis, reason),
        reason=reason,
        insights=climb.insights,
        approaches=climb.failed_approaches,
        checkpoint=checkpoint,
    )


def format_stuck_question(report: StuckReport) -> str:
    """Return the question for the person, with the four options."""
    tried = "\n".join(f"• {text}" for text in _attempts(report.attempts))
    options = "\n".join(f"{number}. {text}" for number, text in enumerate(STUCK_OPTIONS, 1))
    ending = f"The agent {report.ending}." if report.ending else ""
    said = f" It said last:\n{report.said}" if report.said else ""
    own = f"{ending}{said}\n\n" if report.ending else ""
    return (
        f"I am stuck on: {report.summary}\n\nWhat I tried:\n{tried}\n\nMy analysis:\n{report.analysis}\n\n{own}"
        f"Options:\n{options}\n\nWhat should I do?"
    )


_WORDS = {
    "retries": ("retry", "retries"),
    "pivots": ("new approach", "new approaches"),
    "research": ("round of research", "rounds of research"),
    "sessions": ("new session after a full context", "new sessions after a full context"),
    "waits": ("wait for a passing trouble", "waits for a passing trouble"),
    "agent_failures": ("failure of the agent itself", "failures of the agent itself"),
}


def _counted(climb: Climb) -> dict[str, int]:
    rungs = {"retries": climb.told_retries, "pivots": climb.told_pivots, "research": climb.told_research}
    beside = {"sessions": climb.continuations, "waits": climb.transient, "agent_failures": climb.agent_failures}
    return rungs | {kind: count for kind, count in beside.items() if count}


def _attempts(attempts: dict[str, int]) -> tuple[str, ...]:
    counted = tuple(f"{count} {_WORDS[kind][count != 1]}" for kind, count in attempts.items() if count)
    return counted or ("one attempt",)


def _analysis(climb: Climb, diagnosis: Diagnosis | None, reason: str) -> str:
    end = f"{reason[:1].upper()}{reason[1:]}."
    if diagnosis is None:
        return end
    if len(climb.seen) > 1:
        row = f", the last one {climb.repeats} times in a row" if climb.repeats > 1 else ""
        sameness = f"It failed in {len(climb.seen)} ways{row}."
    elif climb.repeats > 1:
        sameness = f"It failed the same way {climb.repeats} times in a row."
    else:
        sameness = "It failed once."
    parts = (sameness, diagnosis.fix_hint, end)
    return " ".join(part for part in parts if part)
