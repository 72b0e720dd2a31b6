"""Reviewed sessions, their timelines and their transcripts as lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unstuck.history.entries import Entry
from unstuck.history.review import FailureGroup, Used
from unstuck.history.reviews import Session
from unstuck.words.labels import Tone
from unstuck_tui.render.browse.columns import Column, RowTexts, heading_cells, row_cells
from unstuck_tui.render.format import Cell, Line, fit
from unstuck_tui.render.printed.review import (
    CHECKS,
    CLAIMS,
    false_claim_words,
    is_false_claim,
    local_time,
    short_id,
    started_words,
    used_words,
)
from unstuck_tui.render.transcript import entry_lines

_COLUMNS = (
    Column("STARTED", 16, least=100),
    Column("AGENT", 8),
    Column("SESSION", 10, least=76),
    Column("PROJECT", 8, share=2),
    Column("STEPS", 5, right=True),
    Column("FAILED", 6, right=True),
    Column("LOOPS", 5, right=True),
    Column("AFTER LOOP", 10, share=3),
    Column("CLAIMED", 8),
    Column("CHECK", 6, share=1),
)
_MARKS: dict[str, tuple[str, Tone]] = {
    "asked": ("you", "work"),
    "failure": ("✗ failed", "bad"),
    "check_passed": ("✓ check", "good"),
    "check_failed": ("✗ check", "bad"),
    "first": ("↻ repeats", "wait"),
    "nudge": ("→ nudge", "ask"),
    "question": ("? asks you", "ask"),
    "last": ("↻ until", "wait"),
    "claim": ("claims", "work"),
    "group": ("failure", "bad"),
    "note": ("note", "wait"),
}
_CHECK_TONES: dict[str, Tone] = {"passed": "good", "none": "quiet"}
_MARK, _STEP, _TIME = 11, 6, 8
_CLOCK = "%H:%M:%S"


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One line of a timeline; ``step`` is the place that it opens."""

    step: int
    at: float
    kind: str
    text: str


def session_heading(width: int) -> Sequence[Cell]:
    return heading_cells(_COLUMNS, width)


def session_cells(session: Session, width: int) -> Sequence[Cell]:
    review = session.review
    texts = {
        "STARTED": started_words(session),
        "AGENT": session.agent,
        "SESSION": short_id(session),
        "PROJECT": session.project.rpartition("/")[2] or "-",
        "STEPS": str(review.used.steps),
        "FAILED": str(review.failed),
        "LOOPS": str(len(review.loops) or "-"),
        "AFTER LOOP": used_words(review.after) or "-",
        "CLAIMED": CLAIMS[review.claim],
        "CHECK": CHECKS[review.last_check],
    }
    tones: dict[str, Tone] = {
        "LOOPS": "wait" if review.loops else "quiet",
        "AFTER LOOP": "wait" if review.loops else "quiet",
        "CLAIMED": "bad" if is_false_claim(session) else "plain",
        "CHECK": _CHECK_TONES.get(review.last_check, "bad"),
    }
    return row_cells(_COLUMNS, RowTexts(texts, tones, "▶" if session.live else ""), width)


def about_cells(session: Session, width: int) -> Sequence[Cell]:
    review = session.review
    parts = [session.agent, session.model, session.version, session.project, session.session]
    if session.live:
        parts.insert(0, "live")
    used = used_words(review.used.since(Used(at=session.started)))
    return (Cell(fit(f" {' · '.join(filter(None, parts))} · {used}", width)),)


def timeline_of(session: Session) -> list[TimelineRow]:
    """The timeline of a session, then its failures and what could not be read."""
    review = session.review
    rows = [TimelineRow(one.step, one.at, one.kind, one.text) for one in review.moments]
    if is_false_claim(session):
        rows.append(TimelineRow(review.check_step, 0.0, "check_failed", false_claim_words(session)))
    rows += [TimelineRow(group.first, 0.0, "group", _group_words(group)) for group in review.groups]
    return rows + [TimelineRow(0, 0.0, "note", note) for note in session.notes]


def _group_words(group: FailureGroup) -> str:
    where = f" {group.location}" if group.location else ""
    steps = f"step {group.first}" if group.count == 1 else f"steps {group.first} to {group.last}"
    return f"{group.count}× {group.error_type}{where}, {steps}: {group.headline}"


def timeline_cells(row: TimelineRow, width: int) -> Sequence[Cell]:
    """One line of a timeline: step, time, kind and text."""
    mark, tone = _MARKS[row.kind]
    head = f" {row.step:>{_STEP}}  {local_time(row.at, _CLOCK):<{_TIME}}  "
    return (
        Cell(head, "quiet"),
        Cell(fit(mark, _MARK), tone),
        Cell(fit(f" {row.text}", max(0, width - len(head) - _MARK)), "plain"),
    )


def step_lines(entry: Entry, width: int, *, unfold: bool = False, marked: str = "") -> list[Line]:
    """An entry as lines beside the step of its result and its time; ``marked`` stands before its first line."""
    number = "" if entry.step is None else str(entry.step)
    head = f"{marked:<1}{number:>{_STEP}}  {local_time(entry.at, _CLOCK):<{_TIME}}  "
    lines = entry_lines(entry, max(20, width - len(head)), unfold=unfold)
    return [(Cell(" " * len(head) if place else head, "quiet"), *line) for place, line in enumerate(lines)]
