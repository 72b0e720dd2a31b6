"""Runs that were cut off, task by task: what was at work, where its files are safe, and how one goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from unstuck.record.runs import run_names
from unstuck.runs.looking import is_live, states_of
from unstuck.workspace.project import Project
from unstuck_tui.browse.tab import Line, Tab
from unstuck_tui.render.browse.runs import CUT_OFF, CutOff, cut_off_about, cut_off_cells, cut_off_in
from unstuck_tui.render.rows import Cell

__all__ = ["RecoveryTab"]

_RUNS = 100


class RecoveryTab(Tab[CutOff]):
    """Of the newest hundred runs, the newest first. What becomes of a task is chosen when its run is resumed."""

    name: ClassVar[str] = "recovery"
    empty: ClassVar[str] = "no run was cut off"
    would: ClassVar[str] = "The tasks of a run that was cut off: what was at work, and how one goes on."
    columns = CUT_OFF

    def key(self, row: CutOff) -> str:
        return f"{row.run} {row.task}"

    async def read(self) -> Sequence[CutOff]:
        return await asyncio.to_thread(_read, self.world.place)

    def cells(self, row: CutOff, width: int) -> Sequence[Cell]:
        return cut_off_cells(row, width)

    def about(self, row: CutOff, width: int) -> Sequence[Line]:
        return cut_off_about(row, width)


def _read(place: Project) -> list[CutOff]:
    runs = [run for run in reversed(run_names(place.runs)[-_RUNS:]) if not is_live(place, run)]
    return [row for run, state in states_of(place, runs, lambda said: None) for row in cut_off_in(run, state)]
