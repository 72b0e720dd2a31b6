"""The recovery tab: runs that were cut off, task by task, and how one goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.queries.run_list import is_live, states_of
from unstuck.runs.recovery_choices import what_is_left
from unstuck.supervision.recovery.facts import TaskRecovery
from unstuck.workspace.project import Project
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.runs import CUT_OFF, CutOff, cut_off_about, cut_off_in, cut_off_texts
from unstuck_tui.render.format import Line
from unstuck_tui.screens.browse.tab import Tab, TabContext, in_thread_loop

_RUNS = 100


class RecoveryTab(Tab[CutOff]):
    """Of the newest hundred runs, the newest first. What becomes of a task is chosen when its run is resumed."""

    name: ClassVar[str] = "recovery"
    empty = "no run was interrupted"
    would: ClassVar[str] = "The tasks of an interrupted run, and how each one can continue."
    columns = CUT_OFF
    texts = staticmethod(cut_off_texts)
    head = "RUN"
    orders: ClassVar[Sequence[Order]] = (
        Order("newest first"),
        Order("by task", lambda row: row.task),
        Order("by state", lambda row: row.was),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._left: dict[str, TaskRecovery] = {}

    def key(self, row: CutOff) -> str:
        return f"{row.run} {row.task}"

    def group(self, row: CutOff) -> str:
        return row.run

    async def read(self) -> Sequence[CutOff]:
        self._left.clear()
        return await asyncio.to_thread(_read, self.context.place)

    def about(self, row: CutOff, width: int) -> Sequence[Line]:
        return cut_off_about(row, width, self._left.get(self.key(row)))

    async def do_look(self, row: CutOff) -> None:
        """Look at what its run has left; nothing is run and nothing decided."""
        settings = await self.context.settings()
        facts = await in_thread_loop(what_is_left(self.context.place, row.run, settings, self.context.environ))
        self._left |= {f"{row.run} {task.task}": task for task in facts.tasks}
        if facts.of(row.task) is None:
            self.context.screen.report(f"No attempt of {row.task} was at work: it continues without a decision.")
        self.context.screen.redraw()


def _read(place: Project) -> list[CutOff]:
    runs = [run for run in reversed(run_names(place.runs)[-_RUNS:]) if not is_live(place, run)]
    return [row for run, state in states_of(place, runs, lambda said: None) for row in cut_off_in(run, state)]
