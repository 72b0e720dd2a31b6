"""The truth tab: what agents claimed in the runs of the project, beside what their checks found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unstuck.runs.queries.truth import truth_of
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.truth import COLUMNS, truth_about, truth_texts
from unstuck_tui.screens.browse.tab import Tab

Row = Mapping[str, Any]


class TruthTab(Tab[Row]):
    """By agent and model, the live run included."""

    name: ClassVar[str] = "truth"
    empty = "no attempts yet"
    would: ClassVar[str] = "What each agent claimed at the end of its attempts, and what the check found."
    columns = COLUMNS
    texts = staticmethod(truth_texts)
    about = staticmethod(truth_about)
    follows = True
    head = "AGENT"
    orders: ClassVar[Sequence[Order]] = (
        Order("most attempts first", lambda row: row["attempts"], descends=True),
        Order("most false claims first", lambda row: row["false_claims"], descends=True),
        Order("by agent", lambda row: str(row["agent"])),
    )

    def key(self, row: Row) -> str:
        return f"{row['agent']} {row['model']}"

    def group(self, row: Row) -> str:
        return str(row["agent"])

    async def read(self) -> Sequence[Row]:
        return await asyncio.to_thread(truth_of, [self.context.place.runs])
