"""The deletion tab: the project's runs, the inventory of one, and its deletion after a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unstuck.runs.deletion.execute import destroy, refuse
from unstuck.runs.deletion.inventory import Inventory
from unstuck.runs.deletion.plan import take_stock
from unstuck.runs.queries.run_list import live_run, run_rows
from unstuck.workspace.project import Project
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import RowTexts, field_lines
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.runs import RUNS, inventory_about, run_texts
from unstuck_tui.render.format import Line
from unstuck_tui.render.printed.deletion import inventory_lines, receipt_lines
from unstuck_tui.screens.browse.tab import Tab, TabContext, in_thread_loop

Row = Mapping[str, Any]
_RUNS = 200


class DeletionTab(Tab[Row]):
    """The newest two hundred runs, the newest first. Looking at one only takes stock of it."""

    name: ClassVar[str] = "deletion"
    empty = "no runs here yet"
    would: ClassVar[str] = "Every run, with what deleting it would remove."
    columns = RUNS
    title = "runs"
    orders: ClassVar[Sequence[Order]] = (
        Order("newest first"),
        Order("by state", lambda row: str(row.get("exit_reason") or row["state"])),
        Order("by kind", lambda row: str(row.get("kind"))),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._live = ""
        self._stock: dict[str, Inventory] = {}

    def key(self, row: Row) -> str:
        return str(row["run"])

    async def read(self) -> Sequence[Row]:
        self._stock.clear()
        rows, self._live = await asyncio.to_thread(_read, self.context.place)
        return rows

    def texts(self, row: Row) -> RowTexts:
        return run_texts(row, live=self._live)

    def about(self, row: Row, width: int) -> Sequence[Line]:
        run = self.key(row)
        if run in self._stock:
            return inventory_about(self._stock[run], self._refused(run), width)
        lines = field_lines("run", run, width) + field_lines("started", row.get("started"), width)
        lines += field_lines("not now", self._refused(run), width, tone="wait")
        return lines + field_lines(
            "size", f"{spoken('deletion.look')} shows what would be removed, with sizes", width, tone="quiet"
        )

    def _refused(self, run: str) -> str:
        """The reason why this run cannot be deleted from here; empty where it can."""
        if run == self.context.view.state.run.id:
            return "it is open on this screen: leave it, then run unstuck delete " + run
        if self._live:
            at_work = "it" if run == self._live else f"run {self._live}"
            return f"{at_work} is at work: it can be deleted when it has ended"
        return ""

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_look(self, row: Row) -> None:
        await self._take(self.key(row))
        self.context.screen.redraw()

    async def do_delete(self, row: Row) -> None:
        """Delete the run: what would go first, the loss of work on its own, then the name typed."""
        run = self.key(row)
        self._live = await asyncio.to_thread(_live_in, self.context.place)
        inventory = await self._take(run)
        self.context.screen.redraw()
        if refused := self._refused(run):
            self.context.screen.report(f"{run} cannot be deleted now: {refused}", trouble=True)
            return
        refuse(inventory, self.context.environ, lose=True)
        lose, lines = bool(inventory.holding), list(inventory_lines(inventory))
        if lose and not await self.context.screen.confirm(
            f"Lose work of {run}?", lines, "Lose it", typed="lose", hint="some of it exists nowhere else"
        ):
            return
        if await self.context.screen.confirm(f"Delete {run}?", lines, "Delete it", typed=inventory.name):
            place, environ = self.context.place, self.context.environ
            done = await in_thread_loop(destroy(place, environ, inventory, lose=lose))
            self.context.screen.report("\n".join(receipt_lines(done)), trouble=bool(done.left))
            self.context.screen.reload()

    async def _take(self, run: str) -> Inventory:
        found = await in_thread_loop(take_stock(self.context.place, self.context.environ, run))
        self._stock[run] = found.inventory
        return found.inventory


def _read(place: Project) -> tuple[list[Row], str]:
    rows: list[Row] = list(run_rows(place, newest=_RUNS))
    return rows[::-1], _live_in(place)


def _live_in(place: Project) -> str:
    """The run that is live in the project; empty where none is."""
    holder = live_run(place)
    return holder.run if holder is not None else ""
