"""A failure as a line of its list, and all that is known about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unstuck.contract import Guidance
from unstuck.diagnosis.model import Diagnosis
from unstuck.eventlog.state import State
from unstuck.eventlog.summary_rows import SignatureRow
from unstuck.words.amounts import day_time, time_of_day
from unstuck.words.excerpt import failure_pattern
from unstuck.words.labels import Tone, counted, error_name, failure_words, level_word, solved_by, some
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.diff import SET_IN
from unstuck_tui.render.format import Cell, Line, fit, width_of, wrapped
from unstuck_tui.render.tasks.detail import check_lines

COLUMNS = (
    Column("TIMES", 5, right=True),
    Column("OVER TIME", 12, least=84),
    Column("WHAT FAILED", 17, share=3),
    Column("WHERE", 16, share=2, place=True),
    Column("TASKS", 5, right=True, least=150),
    Column("FAILURE TYPE", 15, least=150),
    Column("CATEGORY", 14, least=150),
    Column("GOT AS FAR AS", 13, share=1),
    Column("SOLVED BY", 9, share=2, least=72),
    Column("LAST", 8, least=150),
)
SPARK = 12
_SHOWN = 50
_NAMED = 8
_BEFORE, _PRINTED = 2, 9
"""Lines before the first one that names the failure, and all of them at most."""
_RULE = re.compile(r"[=_-]{3,}")
_NUMBER, _LEAST_TEXT = 6, 12
_COUNTED = ("retry", "pivot", "research")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of them: the number of its record, its time (ISO 8601), its task and its attempt."""

    seq: int
    time: str
    task: str
    attempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of the run. ``row`` is that of ``unstuck signatures``; ``speaker`` stands for all that are like it.

    ``spark`` draws how often it came over the run's time; ``alike`` are the headlines of those like it.
    ``occurrences`` are the last ones, the newest first, ``guidances`` those of all attempts. ``printed`` is the end of
    the output of the check that found it last. ``elsewhere`` are its rows in other runs by their ids, ``said`` the line
    of the check that names it in the last of them.
    """

    row: Mapping[str, Any]
    agents: tuple[str, ...] = ()
    speaker: str = ""
    spark: str = ""
    alike: tuple[str, ...] = ()
    occurrences: tuple[Occurrence, ...] = ()
    guidances: Mapping[str, Guidance] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    printed: str = ""
    elsewhere: Mapping[str, SignatureRow] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        return str(self.row["signature"])

    @property
    def is_led(self) -> bool:
        """True where another failure speaks for it."""
        return self.speaker != self.identity


def ordered(failures: Sequence[Failure]) -> list[Failure]:
    """Each group together, behind the one that speaks for it; the groups in the order of their speakers."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.speaker, []).append(failure)
    return [failure for group in groups.values() for failure in group]


def failure_texts(failure: Failure) -> RowTexts:
    """One line of the list; what is like the one above it is set in."""
    row = failure.row
    kind = error_name(str(row["error_type"])) if row["error_type"] else ""
    said = str(row["headline"] or kind or "-")
    level = str(row["rung"])
    texts = {
        "TIMES": str(row["count"]),
        "OVER TIME": failure.spark,
        "WHAT FAILED": f"└ {said}" if failure.is_led else said,
        "WHERE": str(row["location"] or "-"),
        "TASKS": str(len(row["tasks"])),
        "FAILURE TYPE": failure_words(str(row.get("failure_type", "")), "") or "-",
        "CATEGORY": failure_words("", str(row.get("category", ""))) or "-",
        "GOT AS FAR AS": f"{_pips(failure, level)}{level_word(level)}",
        "SOLVED BY": solved_by(str(row["worked"])) or "nothing yet",
        "LAST": _clock(row["last"], seconds=True),
    }
    tones: dict[str, Tone] = {
        "OVER TIME": "work",
        "WHAT FAILED": "quiet" if row["worked"] else "bad",
        "GOT AS FAR AS": "ask" if level == "asked" else "plain",
        "SOLVED BY": "good" if row["worked"] else "quiet",
        "LAST": "quiet",
    }
    return RowTexts(texts, tones)


def _pips(failure: Failure, level: str) -> str:
    """A sign for each try at the level that it led to."""
    if level == "asked":
        return "! "
    tries = {one.attempt for one in failure.occurrences if _level_of(failure, one) == level}
    return f"{'●' * max(1, len(tries))} " if level in _COUNTED else ""


def _level_of(failure: Failure, one: Occurrence) -> str:
    guidance = failure.guidances.get(one.attempt)
    return guidance.level if guidance is not None else ""


def failure_about(failure: Failure, width: int) -> list[Line]:
    """The failure, its place and its times, and the lines around it that its check printed last."""
    row = failure.row
    name = error_name(str(row["error_type"])) if row["error_type"] else ""
    said = str(row["headline"] or "-").removeprefix(f"{name}: ")
    first, last = (_clock(row[name], seconds=True) for name in ("first", "last"))
    times = f"once, {last}" if row["count"] == 1 else f"{row['count']} times, {first} to {last}"
    where, room = str(row["location"] or ""), max(8, width - len(SET_IN) - 1)
    lines: list[Line] = [
        (Cell(f"{SET_IN}{line}", "ask"),) for line in wrapped(f"{name}  {said}" if name else said, room, 3)
    ]
    lines += [(Cell(f"{SET_IN}{line}"),) for line in wrapped(" · ".join(filter(None, (where, times))), room, 2)]
    who = " · ".join((some(row["tasks"], _NAMED), *failure.agents[:_NAMED]))
    lines += [(Cell(f"{SET_IN}{line}", "quiet"),) for line in wrapped(who, room, 2)]
    return lines + _printed(failure, width)


def _printed(failure: Failure, width: int) -> list[Line]:
    """The lines of the check's output that name the failure, with those around them; none where no line does."""
    pattern = failure_pattern(failure.diagnosis)
    texts = [text for text in failure.printed.splitlines() if text.strip() and not _RULE.match(text)]
    places = [place for place, text in enumerate(texts) if pattern.search(text)]
    if not places:
        return []
    begin = max(0, places[0] - _BEFORE)
    end = max(place for place in places if place <= begin + _PRINTED) + 1
    shown = check_lines("\n".join(texts[begin:end]), failure.diagnosis, width=max(8, width - len(SET_IN)))
    return [(Cell(""),), *((Cell(SET_IN), *line) for line in shown)]


def failure_history(failure: Failure, width: int) -> list[Line]:
    """The attempts that failed so in their order, each with what was tried, what came of them, and its type."""
    tasks = {one.task for one in failure.occurrences}
    lines: list[Line] = []
    shown = failure.occurrences[:_SHOWN]
    own = int(failure.row["count"]) - sum(row.count for row in failure.elsewhere.values())
    if (more := own - len(shown)) > 0 and shown:
        lines.append((Cell(fit(f"  {more} before these: {spoken('signatures.log')} lists all", width), "quiet"),))
    for one in reversed(shown):
        guidance = failure.guidances.get(one.attempt)
        tried = level_word(guidance.level) if guidance is not None else one.attempt or "before any work"
        approach = f": {guidance.approach}" if guidance is not None and guidance.approach else ""
        number = f"try {guidance.number}" if guidance is not None else ""
        who = f"{one.task} " * (len(tasks) > 1)
        head = f"  {_clock(one.time, seconds=True)}  {who}{fit(number, _NUMBER)} "
        lines += _hung((Cell(head, "quiet"), Cell("✗ ", "bad")), f"{tried}{approach}", "plain", width)
    for run, its_row in failure.elsewhere.items():
        lines += _in_run(run, its_row, failure.said.get(run, ""), width)
    if failure.elsewhere and failure.occurrences:
        told = f"  {spoken('signatures.log')} in this pane opens the log of {tuple(failure.elsewhere)[-1]}"
        lines.append((Cell(fit(told, width), "quiet"),))
    if failure.row["worked"]:
        lines += _hung((Cell("  ✓ ", "good"),), f"solved by {solved_by(str(failure.row['worked']))}", "good", width)
    elif failure.row["rung"] == "asked":
        lines += _hung((Cell("  ! ", "ask"),), "you were asked", "ask", width)
    lines.append((Cell(""),))
    kind = failure_words(str(failure.row.get("failure_type", "")), str(failure.row.get("category", "")))
    lines += field_lines("type", kind, width)
    lines += field_lines("similar", " · ".join(failure.alike[:_NAMED]), width)
    return lines + field_lines("signature", failure.identity, width, tone="quiet")


def _in_run(run: str, row: SignatureRow, said: str, width: int) -> list[Line]:
    """The tasks, the end and the last time of a failure in another run, and the line ``said`` by its check."""
    # The names may be long, and are cut before what became of it.
    came = f"{counted(row.count, 'time')}, last {day_time(row.last)}, {_came_to(row)}, in {some(row.tasks, _NAMED)}"
    lines = _hung((Cell(f"  {run}  ", "quiet"),), came, "good" if row.worked else "plain", width)
    return [*lines, (Cell(f"    {fit(said, width - 4)}", "quiet"),)] if said else lines


def check_line(diagnosis: Diagnosis | None, printed: str) -> str:
    """The first line of a check's output that names the failure; empty where none does."""
    pattern = failure_pattern(diagnosis)
    return next((line.strip() for line in printed.splitlines() if pattern.search(line)), "")


def _came_to(row: SignatureRow) -> str:
    if row.worked:
        return f"solved by {solved_by(row.worked)}"
    return "you were asked" if row.rung == "asked" else f"got as far as {level_word(row.rung)}"


def _hung(head: Line, text: str, tone: Tone, width: int) -> list[Line]:
    """``text`` behind ``head``, in at most two lines."""
    before = sum(width_of(cell.text) for cell in head)
    if width - before < _LEAST_TEXT:
        return [(Cell(fit("".join(cell.text for cell in head) + text, width), tone),)]
    first, *more = wrapped(text, width - before, 2)
    return [(*head, Cell(first, tone)), *((Cell(" " * before), Cell(line, tone)) for line in more)]


def gates_about(state: State, identity: str) -> list[str]:
    """The open questions about this failure: those that name it, and those of tasks that stand before it."""
    found = []
    for gate in state.open_gates():
        context = gate.gate.context
        row = state.tasks.get(gate.gate.task)
        names = {context.get("signature"), context.get("error_signature")}
        if row is not None and row.diagnosis is not None:
            names.add(row.diagnosis.identity)
        if gate.gate.task and identity in names:
            found.append(gate.id)
    return found


def _clock(time: object, *, seconds: bool = False) -> str:
    try:
        return time_of_day(str(time), seconds=seconds)
    except ValueError:
        return "-"
