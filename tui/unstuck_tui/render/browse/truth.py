"""The claims of an agent as a line of the list, and in full. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstuck.words.labels import Tone
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.format import Cell
from unstuck_tui.render.printed.truth import agreement_words, failure_words, used_words

Row = Mapping[str, Any]
COLUMNS = (
    Column("AGENT", 8, share=2),
    Column("MODEL", 8, share=2),
    Column("ATTEMPTS", 8, right=True),
    Column("CLAIMED", 7, right=True),
    Column("PASSED", 6, right=True),
    Column("AGREEMENT", 15),
    Column("FALSE", 5, right=True, least=64),
    Column("USED", 14, share=1, least=96),
)


def truth_texts(row: Row) -> RowTexts:
    texts = {
        "AGENT": str(row["agent"] or "-"),
        "MODEL": str(row["model"] or "-"),
        "ATTEMPTS": str(row["attempts"]),
        "CLAIMED": str(row["claimed_done"]),
        "PASSED": str(row["check_passed"]),
        "AGREEMENT": agreement_words(row),
        "FALSE": str(row["false_claims"]),
        "USED": used_words(row),
    }
    tones: dict[str, Tone] = {"FALSE": "bad" if row["false_claims"] else "quiet", "USED": "quiet"}
    return RowTexts(texts, tones)


def truth_about(row: Row, width: int) -> list[tuple[Cell, ...]]:
    """All that is known about the claims of one agent."""
    claims = (
        f"done in {row['claimed_done']}, not done in {row['claimed_not_done']}, unknown in {row['claim_unknown']} "
        f"of {row['attempts']} attempts"
    )
    lines = field_lines("agent", " ".join(filter(None, (row["agent"], row["model"]))), width)
    lines += field_lines("claims", claims, width)
    lines += field_lines("check", f"passed after {row['check_passed']} of them", width)
    lines += field_lines("agreement", agreement_words(row), width)
    false = str(row["false_claims"]) if row["false_claims"] else "none"
    tone: Tone = "bad" if row["false_claims"] else "good"
    lines += field_lines("false", f"{false} (claimed done, but the check failed)", width, tone=tone)
    for place, failure in enumerate(row["failures"]):
        lines += field_lines("" if place else "failures", failure_words(failure), width)
    return lines + field_lines("used", used_words(row), width)
