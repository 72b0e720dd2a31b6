"""A step that differs under other settings as a line of the list, and in full with the summary. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unstuck.runs.queries.what_if import AMOUNTS
from unstuck.words.labels import Tone
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.format import Cell, Line, fit, wrapped
from unstuck_tui.render.printed.what_if import HEAD, cells_of, signed, step_words, summary_lines

Row = Mapping[str, Any]
COLUMNS = (
    Column("RUN", 12, share=1, least=100, middle=True),
    Column("TASK", 8, share=1),
    Column("EVENT", 6, right=True),
    Column("AS IT WAS SET", 13, share=2),
    Column("AS CHANGED", 13, share=2),
    Column("QUESTIONS", 9, right=True, least=72),
    Column("ALARMS", 6, right=True, least=100),
    Column("ATTEMPTS", 8, right=True),
    Column("TOKENS", 9, right=True, least=100),
)


def difference_texts(row: Row) -> RowTexts:
    tones: dict[str, Tone] = {
        name.upper(): "quiet" if not row[name] else "good" if row[name] < 0 else "wait" for name in AMOUNTS
    }
    return RowTexts(dict(zip(HEAD, cells_of(row), strict=True)), tones)


def difference_about(row: Row, width: int) -> list[Line]:
    """All that is known about one step that differs."""
    lines = field_lines("run", f"{row['run']}, task {row['task']}", width)
    lines += field_lines("event", f"#{row['event']}: {spoken('what_if.open')} opens it", width)
    lines += field_lines("as set", step_words(row["own"], 400), width)
    lines += field_lines("changed", step_words(row["changed"], 400), width, tone="wait")
    return lines + field_lines("more, less", ", ".join(f"{name} {signed(row[name])}" for name in AMOUNTS), width)


def comparison_lines(rows: Sequence[Row], notes: Sequence[str], width: int) -> list[Line]:
    """The summary of a comparison, with what it leaves out."""
    told = (*summary_lines(rows), *notes)
    return [(Cell(f"  {line}", "quiet"),) for text in told for line in wrapped(text.strip(), max(8, width - 3), 4)]


def comparing_lines(number: int, runs: int, seq: int, width: int) -> list[Line]:
    """The line while run ``number`` of ``runs`` is compared and has come to event ``seq``."""
    where = f"run {number} of {runs}, " if runs > 1 else ""
    return [(Cell(fit(f"  comparing {where}event {seq:,} … {spoken('browse.back')} cancels", width), "quiet"),)]
