"""The text of the next attempt, from its row, the answers and the findings about its failure. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unstuck.contract import Capabilities, Guidance, Level, Way
from unstuck.diagnosis.enums import ErrorCategory
from unstuck.escalation.prompts import IN_HANDS, Brief, answer_to, compose, cut_off, ended_badly
from unstuck.eventlog.state import AttemptRow, DirectiveRow, State, TaskRow
from unstuck.supervision.gates.gate_types import asked_by_agent
from unstuck.text import Clean

Prompts = Mapping[Level, str]

_AGAIN = "\n\nThis is a new start of the same task. "
_LEFT = "\n\nWhat is left of the budget for this attempt: "


def first_guidance(row: TaskRow, can: Capabilities, prompts: Prompts) -> Guidance:
    """Return the guidance of the first attempt; its number, id and directory are still to be set."""
    brief = Brief(prompt=row.task.prompt, check=row.task.verify or "", signals=can.signals)
    return Guidance(attempt="", number=0, level="first", text=compose(brief, prompts), workdir=Path())


def build(
    state: State,
    row: TaskRow,
    directive: DirectiveRow,
    *,
    session: str | None,
    signals: bool,
    known: tuple[str, ...],
    prompts: Prompts,
) -> Clean:
    """Return the text that ``directive`` leads to.

    A ``session`` that is resumed remembers earlier text; a new one gets it again. ``known`` are the findings of other
    tasks about the same failure.
    """
    climb = row.climb
    answer = _answer_with_question(state, directive)
    brief = Brief(
        prompt=row.task.prompt,
        level=directive.level,
        hint=directive.hint,
        approach=directive.approach,
        answer=_answer_text(answer, directive.approach) if directive.level == "human" else "",
        advice=() if session else tuple(told for told in climb.advice if told not in (answer, directive.answer)),
        diagnosis=row.diagnosis,
        evidence=row.check.evidence if row.check else "",
        ending=row.check.ending if row.check else "",
        said=row.check.said if row.check else "",
        repeats=climb.repeats,
        failed=climb.failed_approaches,
        insights=(*known, *(climb.insights if needs_findings(directive, session) else ())),
        restored="\n\n".join(
            filter(None, (_interruption(state, row), directive.restored_note, directive.ran, _disagreement(row)))
        ),
        progress=() if directive.restored else directive.progress,
        instead_of=directive.instead_of,
        check=row.task.verify or "",
        signals=signals,
    )
    return compose(brief, prompts)


def _disagreement(row: TaskRow) -> str:
    """The note that the check passed for the agent and failed for unstuck."""
    check = row.check
    problem = check.problem if check is not None and check.result == "failed" and check.trouble else ""
    return f"{problem[:1].upper()}{problem[1:]}" if problem else ""


def needs_findings(directive: DirectiveRow, session: str | None) -> bool:
    """Return whether the attempt gets the findings that earlier attempts had."""
    return directive.level in ("research", "human") or session is None


def with_answer(state: State, directive: DirectiveRow, gate: str) -> DirectiveRow:
    """Return ``directive`` with a person's answer that the agent has not had yet."""
    answer = state.gates[gate].answer
    assert answer is not None
    return replace(
        directive,
        level="human",
        answer=answer.text,
        approach=answer.text if answer.choice == "retry" else "",
        answers=(*directive.answers, gate),
    )


def restarted(state: State, row: TaskRow, directive: DirectiveRow) -> Clean:
    """Return the text of the interrupted attempt again, for a new session on files that were restored."""
    last = state.attempts[row.attempt]
    words = last.guidance.text.removesuffix(last.note)
    return Clean("\n\n".join(filter(None, (words, _interruption(state, row), directive.restored_note))))


def repeated(state: State, row: TaskRow, guidance: Guidance, allowed: Sequence[str]) -> Clean:
    """Return the text of the last attempt again, with the end of an attempt that was cut short.

    ``allowed`` are the permission rules of the next attempt.
    """
    text = guidance.text.partition(_AGAIN)[0].partition(_LEFT)[0]
    note = _edited_by_hand(state, row)
    if note not in text:
        text = f"{text}\n\n{note}"
    cut_short = row.report is not None and row.report.how != "ended"
    passing = row.diagnosis is not None and row.diagnosis.category is ErrorCategory.TRANSIENT
    ended = ended_badly(row.check.ending, row.check.said) if row.check and cut_short and not passing else ""
    more = [f"`{rule}` is allowed now." for rule in allowed if rule not in guidance.allowed]
    again = "\n\n".join(filter(None, (ended, " ".join(more))))
    return Clean(f"{text}{_AGAIN}{again}" if again else text)


def ways_left(attempt: AttemptRow | None) -> tuple[Way, ...]:
    """Return the approaches of an attempt that were not judged yet, or the one that has passed alone."""
    if attempt is None:
        return ()
    ways, results = attempt.guidance.ways, dict(attempt.ways)
    passed = tuple(way for slot, way in enumerate(ways, 1) if results.get(slot) == "passed")
    return passed or tuple(way for slot, way in enumerate(ways, 1) if results.get(slot) != "failed")


def with_ways_left(state: State, row: TaskRow, prepared: Guidance) -> Guidance:
    """Return ``prepared`` without the approaches that the last attempt has judged, where it is worked again."""
    last = state.attempts.get(row.attempt)
    if not prepared.ways or last is None or last.guidance.ways != prepared.ways:
        return prepared
    left = ways_left(last) or prepared.ways
    text = left[0].text + prepared.text.removeprefix(prepared.ways[0].text)
    return replace(prepared, approach=left[0].approach, text=Clean(text), ways=left)


def note_for(state: State, row: TaskRow, *, left: str = "", merge: str = "") -> str:
    """Return the note beside a guidance: a ``merge`` to finish, what is ``left`` of its budget, an interruption."""
    used_again = row.prepared is not None and row.prepared.attempt == row.attempt
    # Any other text was composed since, and is complete.
    note = _interruption(state, row) if used_again else ""
    told = f"{_LEFT}{left}. It is stopped when that is used up." if left else ""
    return merge + (f"\n\n{note}" if note else "") + told


def _answer_with_question(state: State, directive: DirectiveRow) -> str:
    """The person's answer, with the agent's own question before it."""
    gates = (state.gates[gate].gate for gate in directive.answers)
    asked = (asked_by_agent(gate) for gate in gates if gate.answer and gate.answer.text == directive.answer)
    return answer_to(next(filter(None, asked), ""), directive.answer)


def _answer_text(answer: str, approach: str) -> str:
    if approach:
        return "Try again with the approach below."
    return answer or "Try again with a different approach."


def _interruption(state: State, row: TaskRow) -> str:
    """The end of the last attempt, where it was interrupted; its work may have been restored since."""
    last = state.attempts.get(row.attempt)
    if last is None or last.state != "interrupted":
        return ""
    known = all(saved not in ("", "none") for saved in (row.saved, row.baseline))
    ended = cut_off(row.left if known else None, stays=not _is_restored(row))
    return "\n\n".join(filter(None, (ended, _edited_by_hand(state, row))))


def _edited_by_hand(state: State, row: TaskRow) -> str:
    """The note that a person edited the files during the last attempt; empty where those edits were restored."""
    had = any(gate.handed and gate.gate.attempt == row.attempt for gate in state.gates_of(row.id))
    return IN_HANDS if had and not _is_restored(row) else ""


def _is_restored(row: TaskRow) -> bool:
    return row.directive is not None and bool(row.directive.restored)
