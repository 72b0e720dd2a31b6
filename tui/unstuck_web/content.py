"""Values for the templates, made of a run's state and the words of the core. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unstuck.clock import Clock
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.state import GateRow, State, TaskRow, later_of
from unstuck.history.entries import lines_of
from unstuck.rows.json_rows import question_row, timeline_of
from unstuck.runs.answers.question import AnswerOption, Question, question_of
from unstuck.runs.view.outputs import OutputTail
from unstuck.runs.view.run_view import RunView
from unstuck.supervision.intervention.allowed import why_not
from unstuck.words.amounts import clock_time, span, spent_of
from unstuck.words.excerpt import failure_excerpt, failure_pattern
from unstuck.words.labels import (
    GROUPS,
    Tone,
    agent_mark,
    collision_words,
    counted_group,
    doubts_about,
    ended_as,
    failure_of,
    failure_words,
    glyph_of,
    group_of,
    is_held,
    needs_person,
    repeats_of,
    rung_of,
    time_left,
    tone_of,
    word_of,
)
from unstuck.words.story import answer_words, story_line

TASKS = 100
"""Tasks on one page."""
_DIFF_LINES, _OUTPUT_LINES = 400, 400
_STANDING = {"held": "held", "frozen": "suspended", "runs_on": "runs on"}
_DIFF_KINDS = {"+": "added", "-": "removed", "@": "hunk"}
_HEADS = ("+++", "---", "diff ", "index ", "new file", "deleted file", "similarity", "rename", "old mode", "new mode")
_ATTENTION = {"ask": 0, "work": 1, "wait": 2, "bad": 3, "plain": 4, "quiet": 5, "good": 6, "chip": 0}


class Mark(NamedTuple):
    """A sign with its words and its tone."""

    glyph: str
    text: str
    tone: Tone


class Countdown(NamedTuple):
    """A time that runs: ``text`` now, and the seconds that are ``left`` by the clock of the run."""

    text: str
    left: float
    label: str = ""
    tone: str = "work"


@dataclass(frozen=True, slots=True)
class Header:
    """A run in a line: its state, the number of its tasks by group, its time, and what it has used."""

    project: str
    run: str
    state: Mark
    counts: tuple[Mark, ...]
    since: str
    spent: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in the list. ``later`` are the tasks that can be held because they changed a file after another one."""

    id: str
    mark: Mark
    agent: str
    level: str
    loop: str
    time: Countdown | None
    standing: str
    failure: str
    where: str
    kind: str
    doubts: str
    gate: str
    later: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """An open question with what is needed to answer it. ``diff`` are (kind, line) pairs of the task's changes."""

    question: Question
    task: str
    waits: str
    acts: Countdown | None
    options: tuple[AnswerOption, ...]
    diff: tuple[tuple[str, str], ...] = ()
    since: str = ""
    error: str = ""
    typed: Mapping[str, str] | None = None

    @property
    def id(self) -> str:
        return self.question.gate.id


def header_of(view: RunView, *, live: bool) -> Header:
    """Return the header of a run; ``live``: a process works it."""
    state, run = view.state, view.state.run
    counts = Counter(group_of(state, row) for row in state.tasks.values())
    counts["needs you"] += sum(not row.gate.task for row in state.open_gates())
    spent = seconds_of(run.started)
    return Header(
        project=run.project,
        run=run.id,
        state=_run_mark(view, live),
        counts=tuple(
            Mark(glyph, counted_group(word, counts[word]), tone)
            for word, (glyph, tone) in GROUPS.items()
            if counts[word]
        ),
        since=clock_time(run.started) if spent is not None else "",
        spent=spent_of(run),
        tasks=len(state.tasks),
    )


def _run_mark(view: RunView, live: bool) -> Mark:
    run = view.state.run
    if run.state in ("ended", "parked"):
        good = run.exit_code == 0
        text = ended_as(run.exit_reason) or run.state
        return Mark("✓" if good else "‖", text, "good" if good else "wait")
    if not live:
        return Mark("↯", "interrupted: its supervisor is gone", "bad")
    if view.held:
        return Mark("‖", f"no space on the disk: {view.held}", "bad")
    words: dict[str, Mark] = {
        "draining": Mark("…", "stopping", "wait"),
        "blocked": Mark("‖", "blocked: the baseline check fails", "bad"),
    }
    return words.get(run.state, Mark("▶", "at work", "work"))


def card_of(view: RunView, row: GateRow) -> Card:
    """Return the card of an open question."""
    state, now = view.state, view.clock.monotonic()
    acts = None
    if row.gate.acts_at is not None:
        answer = state.run.settings.get("timers", {}).get(row.gate.type, {}).get("answer", "an answer")
        left = max(0.0, row.gate.acts_at - now)
        acts = Countdown(span(left), left, str(answer).replace("_", " "), "wait")
    question = question_of(state, row)
    age = _age(row.opened, view.clock)
    return Card(
        question, row.gate.task, f"waits for you since {clock_time(row.opened)} ({age})", acts, question.options
    )


def _age(time: str, clock: Clock) -> str:
    begun = seconds_of(time)
    return span(clock.now() - begun) if begun is not None else ""


def task_lines(view: RunView, rows: Iterable[TaskRow]) -> list[TaskLine]:
    """Return a line for each of ``rows``."""
    now = view.clock.monotonic()
    return [_task_line(view, row, now) for row in rows]


def ordered(state: State) -> list[TaskRow]:
    """Return the tasks in the order of a list: what needs a person, what works, what waits, what has ended."""
    rows = list(state.tasks.values())
    return sorted(rows, key=lambda row: _ATTENTION[tone_of(state, row)])


def _task_line(view: RunView, row: TaskRow, now: float) -> TaskLine:
    state = view.state
    asks = needs_person(state, row)
    absent, _ = view.absent(row.id) if row.state != "ended" else ("", "")
    mark = Mark("?", absent, "wait") if absent else Mark(glyph_of(state, row), word_of(state, row), tone_of(state, row))
    failed = row.diagnosis if row.status != "succeeded" else None
    name, where = failure_of(failed) if failed is not None else ("", "")
    failure = str(failed.headline) if failed is not None else row.reason if row.state == "ended" else ""
    if row.state == "blocked":
        waiting = [need for need in row.task.needs if (up := state.tasks.get(need)) is None or up.status != "succeeded"]
        failure = f"waits for {', '.join(waiting)}" if waiting else ""
    return TaskLine(
        id=row.id,
        mark=mark,
        agent=agent_mark(row),
        level=rung_of(state, row, view.limits) if row.attempts else "",
        loop=f"↻ ×{repeats}" if (repeats := repeats_of(state, row)) else "",
        time=_time_of(state, row, now) if not absent else None,
        standing=_STANDING.get(state.gates[row.gate].gate.standing, "")
        if asks
        else "paused"
        if is_held(state, row)
        else "",
        failure=failure,
        where=where or (name if name and name not in failure else ""),
        kind=failure_words(failed.failure_type.value, failed.category.value) if failed is not None else "",
        doubts=collision_words(state, row) or doubts_about(row),
        gate=row.gate if asks else "",
        later=tuple(task for task in later_of(state, row.id) if _can_be_held(state, state.tasks[task])),
    )


def _can_be_held(state: State, row: TaskRow) -> bool:
    return not row.gate and not why_not(state, row, "hold")


def _time_of(state: State, row: TaskRow, now: float) -> Countdown | None:
    """The time that a task has left, or until it tries again."""
    if (found := time_left(state, row, now)) is not None:
        left, limit = found
        tone = "bad" if left < 0.1 * limit else "wait" if left < 0.2 * limit else "work"
        return Countdown(span(left), left, "left", tone)
    if row.state == "backoff":
        until = "quota" if row.backoff_quota else "outage" if row.backoff_outage is not None else "retry"
        left = max(0.0, row.backoff_until - now)
        return Countdown(span(left), left, f"until the {until}", "wait")
    return None


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a task's story."""

    time: str
    mark: Mark
    label: str
    lasted: str
    saved: str


def story_of(state: State, row: TaskRow) -> list[Moment]:
    """Return the attempts and questions of a task, oldest first."""
    lines = (story_line(moment, 400) for moment in timeline_of(state, row.id))
    return [
        Moment(
            clock_time(line.time),
            Mark(line.glyph, line.text, line.tone),
            line.label,
            span(line.seconds) if line.seconds is not None else "",
            line.saved,
        )
        for line in lines
    ]


def answered_words(row: GateRow) -> str:
    """Return the answer to a question that is closed: who gave it, how it came in, and when."""
    if row.answer is None:
        return "its question is closed: nothing is left to answer"
    return f"{answer_words(question_row(row))}, at {clock_time(row.closed)}"


def diff_lines(diff: str, most: int = _DIFF_LINES) -> tuple[tuple[str, str], ...]:
    """Return the lines of a unified diff, each with its kind."""
    lines = diff.splitlines()
    found = [("head" if line.startswith(_HEADS) else _DIFF_KINDS.get(line[:1], "same"), line) for line in lines[:most]]
    return (*found, *([("note", f"… {len(lines) - most} more lines")] if len(lines) > most else []))


def output_lines(tail: OutputTail, row: TaskRow) -> list[tuple[str, str]]:
    """Return the end of an output as (tone, line) pairs; a line that names the failure is ``bad``."""
    if tail.entries is not None:
        lines = [(line.tone, f"{line.sign} {line.text}".rstrip()) for one in tail.entries for line in lines_of(one)]
        return [(str(tone), text) for tone, text in lines[-_OUTPUT_LINES:]]
    pattern = failure_pattern(row.diagnosis)
    return [("bad" if pattern.search(line) else "plain", line) for line in tail.text.splitlines()[-_OUTPUT_LINES:]]


def failure_facts(row: TaskRow) -> list[tuple[str, str]]:
    """Return the facts of a task's last failure, each a label and a text."""
    failed, check = row.diagnosis, row.check
    if failed is None:
        return []
    facts = [
        ("Failure", failure_words(failed.failure_type.value, failed.category.value)),
        ("Where", failed.signature.location or ""),
        ("Check", check.command if check is not None else ""),
        ("Agent", check.ending if check is not None else ""),
        ("Said", check.said if check is not None else ""),
        ("Same again", f"{row.climb.repeats} times in a row" if row.climb.repeats > 1 else ""),
        ("Failed before", " · ".join(row.climb.failed_approaches)),
    ]
    return [(label, str(text)) for label, text in facts if text]


def excerpt_of(row: TaskRow) -> Sequence[Any]:
    """Return the lines around a task's last failure."""
    return failure_excerpt(row) if row.status != "succeeded" else ()
