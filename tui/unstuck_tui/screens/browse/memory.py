"""The memory tab: approaches, insights, answers and rules; forget one, or make it a rule."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unstuck.clock import SystemClock
from unstuck.eventlog.memory.store import Memory
from unstuck.runs.memory_commands import found, made_rule, memory_of, memory_rows
from unstuck.runs.queries.approaches import approach_rows
from unstuck.text import one_line
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.memory import COLUMNS, memory_about, memory_text, memory_texts, order_lines
from unstuck_tui.render.format import Line
from unstuck_tui.screens.browse.tab import Tab, TabContext

Row = Mapping[str, Any]


class MemoryTab(Tab[Row]):
    """The newest first."""

    name: ClassVar[str] = "memory"
    empty = "nothing is remembered yet"
    would: ClassVar[str] = "Approaches that were tried, research findings, your answers and your rules."
    columns = COLUMNS
    texts = staticmethod(memory_texts)
    head = "KIND"
    orders: ClassVar[Sequence[Order]] = (
        Order("newest first"),
        Order("by kind", lambda row: row["kind"]),
        Order("by task", lambda row: str(row["task"])),
        Order("by outcome", lambda row: str(row["outcome"])),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._memory: Memory | None = None

    def key(self, row: Row) -> str:
        return str(row["memory"])

    def group(self, row: Row) -> str:
        return str(row["kind"]) if self.order.name == "by kind" else ""

    async def read(self) -> Sequence[Row]:
        memory = await asyncio.to_thread(memory_of, self.context.place)
        rows = await asyncio.to_thread(lambda: list(memory_rows(memory))[::-1])
        self._memory = memory  # with its rows: what has been forgotten meanwhile is in neither
        return rows

    def about(self, row: Row, width: int) -> Sequence[Line]:
        lines = memory_about(row, width)
        if row["kind"] != "approach" or self._memory is None:
            return lines
        now = self.context.view.clock.now()
        return [
            *lines,
            (),
            *order_lines(approach_rows(self._memory, self.context.view.rules, str(row["signature"]), now), width),
        ]

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_forget(self, row: Row) -> None:
        parts = [f"{row['kind']}: {one_line(memory_text(row), 500)}", f"about {row['signature']}"]
        if not await self.context.screen.confirm(
            "Forget this?", parts, "Forget it", hint="also in a run that is active"
        ):
            return
        place, id = self.context.place, self.key(row)

        def forget() -> None:
            memory = memory_of(place)
            memory.forget([entry.id for entry in found(memory, [id])])

        await asyncio.to_thread(forget)
        self.context.screen.report(f"Forgotten: {row['kind']} {id}.")
        self.context.screen.reload()

    async def do_promote(self, row: Row) -> None:
        place, id = self.context.place, self.key(row)

        def promote() -> str:
            memory = memory_of(place)
            (answer,) = found(memory, [id])
            return made_rule(memory, answer, SystemClock().now()).note

        note = await asyncio.to_thread(promote)
        self.context.screen.report(f"From now on agents are told without a question: {one_line(note, 200)}")
        self.context.screen.reload()
