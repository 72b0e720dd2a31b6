"""Something that the project has learnt, as a line of its list and in full. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unstuck.runs.queries.approaches import reason_of
from unstuck.words.amounts import day_time
from unstuck.words.labels import Tone
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.format import Cell

Row = Mapping[str, Any]
COLUMNS = (
    Column("WHEN", 11, least=72),
    Column("KIND", 8),
    Column("OUTCOME", 7),
    Column("TASK", 8, share=1),
    Column("WHAT", 20, share=5),
)
_TONES: dict[str, Tone] = {"worked": "good", "failed": "bad", "holds": "good", "over": "quiet", "offered": "ask"}


def memory_text(row: Row) -> str:
    """The entry in the words of its kind."""
    if row["kind"] == "approach":
        return f"{row['approach']} ({row['note']})" if row["note"] else str(row["approach"])
    if row["kind"] == "answer":
        return " ".join(filter(None, (str(row["approach"]).replace("_", "-"), str(row["note"]))))
    return str(row["note"])


def memory_texts(row: Row) -> RowTexts:
    outcome = _outcome(row)
    texts = {
        "WHEN": day_time(str(row["when"])) if row["when"] else "-",
        "KIND": _kind(row),
        "OUTCOME": outcome,
        "TASK": str(row["task"] or "-"),
        "WHAT": memory_text(row),
    }
    return RowTexts(texts, {"WHEN": "quiet", "OUTCOME": _TONES.get(outcome, "quiet")})


def memory_about(row: Row, width: int) -> list[tuple[Cell, ...]]:
    told = "given to agents" if row.get("holds") else "no longer used"
    lines = field_lines("what", memory_text(row), width, most=20)
    lines += field_lines("kind", f"rule: {told}" if row["kind"] == "rule" else _kind(row), width)
    lines += field_lines("outcome", row["outcome"] or "-", width, tone=_TONES.get(row["outcome"], "quiet"))
    if row.get("given"):
        evidence = f"given {row['given']} times to this failure, worked {row['worked']} times"
        lines += field_lines("offered", f"as a rule: {evidence}", width, tone="ask")
    lines += field_lines("cause", str(row["cause"]).replace("_", " "), width)
    lines += field_lines("task", f"{row['task']} (run {row['run']})" if row["task"] else row["run"], width)
    lines += field_lines("about", row["signature"], width)
    return lines + field_lines("id", row["memory"], width)


def order_lines(rows: Iterable[Row], width: int) -> list[tuple[Cell, ...]]:
    """The approaches against a failure in the order in which they are taken, each with the reason."""
    found: list[tuple[Cell, ...]] = []
    for row in rows:
        place = "not taken" if row["place"] is None else f"place {row['place']}"
        tone: Tone = "plain" if row["place"] else "quiet"
        found += field_lines(place, f"{row['approach']}: {reason_of(row)}", width, most=4, tone=tone)
    return found


def _kind(row: Row) -> str:
    return "finding" if row["kind"] == "insight" else str(row["kind"])


def _outcome(row: Row) -> str:
    if row["kind"] == "rule":
        return "holds" if row["holds"] else "over"
    return "offered" if row.get("given") else row["outcome"] or "-"
