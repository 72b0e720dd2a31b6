"""A record as one line of the log screen, and all that stands in it. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.events import StepRecorded
from unstuck.history.entries import Entry, call_words, lines_of
from unstuck.text import Clean, one_line
from unstuck.words.amounts import clock_time
from unstuck.words.labels import Tone
from unstuck.words.log_text import event_line, log_text
from unstuck_tui.render.format import Cell, Line, fit, laid_out, pieces
from unstuck_tui.render.transcript import entry_lines

_TASK = 16
_EVENT = 22
_ACTOR = 6
_NARROW = 100
_SLIM = 76
_SLIM_TASK = 10
_STEP = 200
_TONES: dict[str, Tone] = {
    "gate_opened": "ask",
    "workflow_failed": "bad",
    "agent_crashed": "bad",
    "agent_timeout": "wait",
    "infrastructure_blocked": "bad",
    "loop_warned": "wait",
    "stop_receipt": "quiet",
    "task_ended": "plain",
}


def record_cells(record: Record | None, width: int) -> tuple[Cell, ...]:
    """Number, time, who, task, event and what it says; on a narrow screen without who, on a slim one without event."""
    if record is None:
        return (Cell(fit("  this line cannot be read", width), "bad"),)
    if width < _SLIM:
        return _slim_cells(record, width)
    actor = f"{fit(record.actor, _ACTOR)} " if width >= _NARROW else ""
    start = f"{record.seq:>7} {clock_time(record.time)} {actor}"
    task, event = f"{fit(record.task or '-', _TASK)} ", f"{fit(record.name, _EVENT)} "
    room = max(0, width - len(start) - _TASK - _EVENT - 2)
    return (
        Cell(start, "quiet"),
        Cell(task),
        Cell(event, _tone(record)),
        Cell(fit(_said(record), room), "quiet"),
    )


def _slim_cells(record: Record, width: int) -> tuple[Cell, ...]:
    """The line of a slim screen: the event's text first, its name where it has none."""
    start = f"{record.seq:>5} {clock_time(record.time)} "
    text = _said(record) or record.name
    room = max(0, width - len(start) - _SLIM_TASK - 2)
    return Cell(start, "quiet"), Cell(f"{fit(record.task or '-', _SLIM_TASK)} "), Cell(fit(text, room), _tone(record))


def _tone(record: Record) -> Tone:
    result = getattr(record.event, "result", "")
    if record.name == "check_finished":
        return "good" if result == "passed" else "bad" if result == "failed" else "wait"
    return _TONES.get(record.name, "work" if record.actor == "human" else "plain")


def _step(event: StepRecorded) -> Entry:
    """A step of an agent as what it said or did; a result stands without its call, which is an earlier record."""
    if event.kind == "message":
        kinds: dict[str, Literal["asked", "note"]] = {"user": "asked", "system": "note"}
        return Entry(kinds.get(event.role, "said"), event.text, agent_id=event.agent_id)
    if event.kind == "action":
        text, diff = call_words(event.tool, event.text)
        return Entry("call", text, tool=event.tool, diff=diff, agent_id=event.agent_id)
    failed = event.kind == "failure"
    return Entry("call", Clean(""), result=event.text, failed=failed, exit_code=event.exit_code)


def _said(record: Record) -> str:
    """The text of an event; of a step the beginning of what was said or done."""
    if not isinstance(record.event, StepRecorded):
        return log_text(record)
    entry = _step(record.event)
    lines = lines_of(entry)[: 3 if entry.result is not None else 1]
    return one_line("  ".join(f"{line.sign} {line.text}".strip() for line in lines), _STEP)


def record_lines(record: Record | None, width: int) -> list[Line]:
    """A step as what was said or done, and every field of a record, one or more lines each, two columns in."""
    if record is None:
        return [(Cell("  this line cannot be read", "bad"),)]
    whole = record.as_dict()
    data = whole.pop("data")
    lines = [f"{name}: {value}" for name, value in whole.items() if value not in ("", 0)]
    lines += json.dumps(data, indent=2, ensure_ascii=False).splitlines()
    room = max(10, width - 2)
    told = entry_lines(_step(record.event), width, unfold=True) if isinstance(record.event, StepRecorded) else []
    fields: list[Line] = [(Cell(f"  {piece}".rstrip()),) for line in lines for piece in pieces(laid_out(line), room)]
    return [*told, (Cell(""),), *fields] if told else fields


def title_cells(
    run: str, total: int, shown: int | None, *, words: str, notes: Sequence[str], problem: str, width: int
) -> tuple[Cell, ...]:
    """The run, the number of records, and how many of them are ``shown`` and why."""
    count = f"{total:,} events" if shown is None else f"{shown:,} of {total:,} events"
    text = " · ".join((f" log of run {run}", count, *notes, *([f"/{words}"] if words else [])))
    if problem:
        return Cell(fit(text, max(0, width - len(problem) - 3))), Cell(fit(f"  {problem} ", len(problem) + 3), "bad")
    return (Cell(fit(text, width)),)


def record_text(record: Record) -> str:
    """One record in a line for people, and whole."""
    return f"{event_line(record)}\n{json.dumps(record.as_dict(), indent=2, ensure_ascii=False)}"
