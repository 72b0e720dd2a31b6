"""The selected task told in lines: its attempts, its failure, and the end of its output. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rich.cells import cell_len

from unstuck.diagnosis.model import Diagnosis
from unstuck.eventlog.attention_stats import load_of
from unstuck.eventlog.state import AttemptRow, State, TaskRow, collisions_of
from unstuck.eventlog.usage import usage_of
from unstuck.text import one_line
from unstuck.text.last_words import last_line
from unstuck.words.amounts import span, spent_of, time_of_day
from unstuck.words.excerpt import failure_pattern
from unstuck.words.labels import (
    Tone,
    agent_mark,
    error_name,
    failure_words,
    host_of,
    kind_mark,
    needs_person,
    rung_of,
    some,
    word_of,
)
from unstuck.words.questions import question_facts, question_problem, question_title
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.diff import DiffLine
from unstuck_tui.render.format import Cell, Line, fit, laid_out, named_lines, pieces, wrapped

_STEP = 'UNSTUCK {"step"'

_SET_IN, _MARK = "  ", "▸ "
_LABEL = 19
_SECONDS = 7
_HOUR_S, _ROOMY = 3_600, 46
_NAME = 10
_INSIGHTS = 3
_PARTS = 6
"""Paragraphs of a question."""
_RULE = re.compile(r"([=_!*#~-])\1{3,}")
_GAP = re.compile(r"(?<=\S) {4,}")
_PROMPT_LINES = 40
_FILES, _PROMPT = 4, 4_000
_RULE_LINES = 2
"""A blank line and the rule with a title."""


@dataclass(slots=True)
class TimelineEntry:
    """One line of a task's timeline. ``seconds`` is None while it lasts; ``started`` is monotonic."""

    time: str
    label: str
    glyph: str = ""
    tone: Tone = "plain"
    text: str = ""
    started: float = 0.0
    attempt: str = ""
    identity: str = ""
    seconds: float | None = None
    live: bool = False


@dataclass(slots=True)
class FailureCount:
    """The count of one failure, its tasks, and its first and last time (ISO 8601)."""

    first: str
    last: str
    count: int = 0
    tasks: set[str] = field(default_factory=set)


def story_title(
    state: State, row: TaskRow, limits: Mapping[str, int], *, still: bool = False, with_agent: bool = True
) -> str:
    """The title of the task, in one line; ``still``: nothing can be recorded, so no agent goes on."""
    kind = f" ({kind_mark(row)})" if kind_mark(row) else ""
    agent = f" · {agent_mark(row)}{kind}" if with_agent else ""
    place = f" on {host}" if (host := host_of(state, row)) else ""
    rung = f" · {rung_of(state, row, limits)}" if row.attempts else ""
    attempts = f" · attempt {row.attempts}" if row.attempts else ""
    used = spent_of(usage_of(state, row))
    spent = f" · {used}" if used else ""
    return f"{row.id} · {word_of(state, row, still=still)}{agent}{place}{rung}{attempts}{spent}"


def page_names(area: Literal["page", "output", "pager"], names: Sequence[str], shown: str, room: int) -> str:
    """The pages or outputs with their keys, ``shown`` in brackets; only that one where there is no room."""
    keyed = [(name, f"{spoken(f'{area}.{name}')} {name}") for name in names]
    parts = [f"[{text}]" if name == shown else f" {text} " for name, text in keyed]
    for text in (" ".join(parts).strip(), f"[{shown}]"):
        if cell_len(text) + 2 <= room:
            return text
    return ""


def timeline_lines(
    moments: Iterable[TimelineEntry],
    attempts: Mapping[str, AttemptRow],
    *,
    now: float,
    width: int,
    held: str = "held",
    waits: str = "",
) -> list[Line]:
    """The attempts, one line each: time, escalation level, outcome, and duration without the time it was held.

    ``held`` is the word for an agent that waits, ``waits`` says what a task without an attempt waits for.
    """
    told = list(moments)
    exact = width >= _ROOMY and bool(told) and _within_an_hour(told[0].time, told[-1].time)
    label = min(_LABEL, max((cell_len(moment.label) for moment in told), default=0))
    return [
        _moment(moment, attempts.get(moment.attempt), now, width, held, label_width=label, exact=exact)
        for moment in told
    ] or [(Cell(fit(" · ".join(filter(None, (" not started yet", waits))), width), "quiet"),)]


def _within_an_hour(first: str, last: str) -> bool:
    """True where minutes alone would not tell the moments of a task apart."""
    try:
        return abs((datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()) < _HOUR_S
    except (ValueError, TypeError):
        return False


def _moment(
    moment: TimelineEntry,
    attempt: AttemptRow | None,
    now: float,
    width: int,
    held: str,
    *,
    label_width: int,
    exact: bool,
) -> Line:
    lasted = now - moment.started if moment.live else moment.seconds
    if attempt is not None and lasted is not None:
        lasted = attempt.used(now) if moment.live else max(0.0, lasted - attempt.held)
    time = f" {time_of_day(moment.time, seconds=exact)}  "
    label = f"{fit(moment.label, label_width)} "
    seconds = "" if lasted is None else fit(span(lasted), _SECONDS, right=True)
    room = max(0, width - len(time) - len(label) - 2 - len(seconds) - 1)
    is_attempt = bool(moment.attempt)
    is_held = moment.live and attempt is not None and attempt.state == "held"
    awaited = attempt.awaits if moment.live and attempt is not None else ""
    glyph = Cell("‖ ", "wait") if is_held else Cell("○ " if awaited else f"{moment.glyph} ", moment.tone)
    return (
        Cell(time, "quiet"),
        Cell(label, "plain" if is_attempt else "quiet"),
        glyph,
        Cell(
            fit(moment.text or (held if is_held else awaited or ("at work" if moment.live else "")), room),
            "plain" if is_attempt else "quiet",
        ),
        Cell(f"{seconds} ", "quiet"),
    )


def failure_lines(
    state: State, row: TaskRow, seen: FailureCount | None, *, width: int, outlook: str = ""
) -> list[Line]:
    """The open question, the last failure with where and how often it came, and where the files are safe.

    ``outlook`` says how far the escalation has come.
    """
    lines: list[Line] = _field("so far", outlook, width, 3)
    analysis = ""
    if needs_person(state, row):
        if _is_about_failure(state, row):
            analysis = state.gates[row.gate].gate.context.get("analysis", "")
        else:
            lines += _question_lines(state, row, width)
    for one in collisions_of(state, row):
        later = row.id if one.is_later else one.other
        said = f"{one.other} changes {some(one.paths, 3)}, too: {spoken('task.hold_later')} holds {later}"
        lines += _field("collides", said, width, 3, "wait")
    diagnosis = row.diagnosis
    if diagnosis is not None:
        name = error_name(diagnosis.signature.error_type.value)
        text = diagnosis.headline.removeprefix(f"{name}: ")
        lines += _block(f"{name}  {text}" if name else text, width, 3, "quiet" if row.status == "succeeded" else "ask")
        function = diagnosis.signature.metadata.get("function", "")
        where = (diagnosis.signature.location or "") + (f" in {function}" if function else "")
        lines += _field("where", where.strip(), width, 1)
        lines += _field("analysis", analysis, width, 6, "ask")
        if seen is not None:
            tasks = f" in {len(seen.tasks)} tasks" if len(seen.tasks) > 1 else ""
            exact = _within_an_hour(seen.first, seen.last)
            first, last = (time_of_day(time, seconds=exact) for time in (seen.first, seen.last))
            times = f"first {first}, last {last}" if seen.count > 1 else ""
            lines += _field("seen", f"×{seen.count}{tasks}  {times}".rstrip(), width, 1)
        kind = failure_words(diagnosis.failure_type.value, diagnosis.category.value)
        lines += _field("cause", f"{diagnosis.cause.value.replace('_', ' ')} ({kind})", width, 1)
        lines += _field("hint", diagnosis.fix_hint if row.status != "succeeded" else "", width, 4)
    if row.check is not None and row.check.ending and row.status != "succeeded":
        lines += _field(
            "agent", " · ".join(filter(None, (row.check.ending, last_line(row.check.said)))), width, 3, "bad"
        )
    lines += _field("approach", row.prepared.approach if row.prepared else row.climb.approach, width, 2)
    for insight in row.climb.insights[:_INSIGHTS]:
        lines += _field("finding", insight.partition("\n")[0].rstrip(":"), width, 1)
    lines += _field("asked", _asked(state, row), width, 2)
    lines += _field("passing" if _has_passed(row) else "start", row.good, width, 1)
    lines += _field("check", row.task.verify, width, 2)
    return lines


def failure_title(state: State, row: TaskRow) -> str:
    """The title of the pane with :func:`failure_lines`."""
    if needs_person(state, row) and not _is_about_failure(state, row):
        return question_title(state.gates[row.gate].gate).removeprefix(f"{one_line(row.id)} ")
    if row.diagnosis is None:
        return "no failure so far"
    return "last failure, solved" if row.status == "succeeded" else "what is wrong"


def _is_about_failure(state: State, row: TaskRow) -> bool:
    """Return whether the open question is about the last failure of the check."""
    return row.diagnosis is not None and state.gates[row.gate].gate.type == "stuck"


def _question_lines(state: State, row: TaskRow, width: int) -> list[Line]:
    """The open question with its facts, but for the failure, which stands below."""
    asked = state.gates[row.gate]
    lines: list[Line] = []
    for part in question_problem(asked.gate).splitlines()[:_PARTS]:
        lines += _block(part, width, 4, "ask")
    for name, text in question_facts(state, asked):
        lines += _field(name.lower(), text if name != "Last" else "", width, 3)
    return lines


def _has_passed(row: TaskRow) -> bool:
    """Return whether the check passed on the files of the last passing checkpoint, which begins as the baseline."""
    before = row.baseline_check
    return row.good != row.baseline or (before is not None and before.result == "passed")


def _asked(state: State, row: TaskRow) -> str:
    """The questions of this task; one that is still open, and the first, says so itself."""
    load = load_of(state, 0.0, task=row.id)
    if not load.answered and load.asked < 2:
        return ""
    times = "once" if load.asked == 1 else f"{load.asked} times"
    answered = f", answered in {span(load.to_answer)}" if load.to_answer is not None else ""
    return f"{times}{answered}{' on average' if load.answered > 1 else ''}"


def _block(text: str, width: int, most: int, tone: Tone = "plain") -> list[Line]:
    return [(Cell(f"{_SET_IN}{line}", tone),) for line in wrapped(text, max(1, width - len(_SET_IN) - 1), most)]


def _set_in(line: str, width: int) -> str:
    """A line of what an agent wrote: no sign of ours stands where its own begin."""
    return _SET_IN + fit(laid_out(line), width - len(_SET_IN))


def _field(name: str, text: object, width: int, most: int, tone: Tone = "plain") -> list[Line]:
    return named_lines(name, str(text), max(1, width - _NAME - 3), most, tone=tone) if text else []


def is_step(line: str) -> bool:
    """True for a step that an agent tells its supervisor."""
    return line.startswith(_STEP)


def output_lines(text: str, *, width: int, note: str = "") -> list[Line]:
    """The end of an attempt's output, cut at the right edge; ``note`` stands below it.

    The steps that an agent tells its supervisor are left out: the timeline and the loop warning speak of them.
    """
    told = (line for line in text.splitlines() if not is_step(line))
    lines: list[Line] = [(Cell(_set_in(line, width)),) for line in told]
    if note:
        lines.append((Cell(f" {fit(note, width - 1)}", "quiet"),))
    return lines


def check_lines(text: str, diagnosis: Diagnosis | None, *, width: int, note: str = "") -> list[Line]:
    """Lines of a check's output, with nothing cut off; those of the failure are marked."""
    pattern = failure_pattern(diagnosis)
    lines: list[Line] = []
    for line in text.splitlines():
        is_marked = bool(pattern.search(line))
        head = Cell(_MARK if is_marked else _SET_IN, "bad")
        tone: Tone = "bad" if is_marked else "plain"
        for piece in pieces(_without_gaps(laid_out(line), width - len(_SET_IN)), max(1, width - len(_SET_IN))):
            lines.append((head, Cell(piece, tone)))
            head = Cell(_SET_IN)
    if note:
        lines.append((Cell(f" {fit(note, width - 1)}", "quiet"),))
    return lines


def marked_line(lines: Sequence[Line]) -> int | None:
    """The line above the first of :func:`check_lines` that is marked; None where none is."""
    places = (place for place, line in enumerate(lines) if line and line[0].text == _MARK)
    return max(0, place - 1) if (place := next(places, None)) is not None else None


def _without_gaps(line: str, width: int) -> str:
    """``line`` with its wide gaps closed and its rules cut short where it is too long, as test runners print them."""
    return line if cell_len(line) <= width else _RULE.sub(r"\1\1\1", _GAP.sub("  ", line.rstrip()))


def prompt_lines(text: str, *, width: int, note: str = "") -> list[Line]:
    """Lines of an agent's prompt, its paragraphs broken between words."""
    room = max(1, width - len(_SET_IN))
    lines: list[Line] = []
    for line in text.splitlines():
        told = laid_out(line)
        found = wrapped(told, room, _PROMPT_LINES) if cell_len(told) > room else [told]
        lines += [(Cell(f"{_SET_IN}{part}"),) for part in found]
    if note:
        lines.append((Cell(f" {fit(note, width - 1)}", "quiet"),))
    return lines


def changed_files_lines(lines: Sequence[DiffLine], since: str, width: int) -> list[Line]:
    """The changed files with the lines more and less, and the key that shows them."""
    files = ["".join(text for text, _ in line.parts).strip() for line in lines if line.kind == "file"]
    if not files:
        return []
    more = f" · {len(files) - _FILES} more" if len(files) > _FILES else ""
    told = f"{' · '.join(files[:_FILES])}{more} · since {since} · {spoken('page.changes')} shows them"
    return _field("changed", told, width, 3)


def task_lines(prompt: str, width: int, most: int) -> list[Line]:
    """The beginning of a task's own prompt."""
    return [] if most < 1 else _field("task", " ".join(prompt[:_PROMPT].split()), width, most, "quiet")


def section(title: str, lines: Sequence[Line], width: int, room: int, *, from_end: bool) -> list[Line]:
    """As many of ``lines`` as ``room`` has below a rule with their ``title``; nothing where that is too little."""
    left = room - _RULE_LINES
    if left < 1 or not lines:
        return []
    head = f" ── {title} "
    rule = (Cell(fit(f"{head}{'─' * max(0, width - cell_len(head) - 1)}", width), "quiet"),)
    return [(Cell(""),), rule, *(lines[-left:] if from_end else lines[:left])]


def failure_text(diagnosis: Diagnosis) -> str:
    """The place and the headline of a failure, a line each."""
    return "\n".join(filter(None, (diagnosis.signature.location, diagnosis.headline)))
