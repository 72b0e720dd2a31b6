"""A browser that is signed in to the page, as a line of its list and in full. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unstuck.clock import iso
from unstuck.words.amounts import day_time, full_time
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.format import Cell

if TYPE_CHECKING:
    from unstuck_web.access import Session

COLUMNS = (Column("SESSION", 7), Column("SEEN", 11), Column("ADDRESS", 16, share=1), Column("BROWSER", 20, share=3))


def session_texts(session: Session) -> RowTexts:
    texts = {
        "SESSION": session.id,
        "SEEN": day_time(iso(session.seen)),
        "ADDRESS": session.host,
        "BROWSER": session.browser,
    }
    return RowTexts(texts, {"SEEN": "quiet"})


def session_about(session: Session, width: int) -> list[tuple[Cell, ...]]:
    lines = field_lines("browser", session.browser, width, most=4)
    lines += field_lines("address", session.host, width)
    for name, time in (("opened", session.opened), ("seen", session.seen), ("ends", session.ends)):
        lines += field_lines(name, full_time(iso(time)), width)
    return lines + field_lines("session", session.id, width)
