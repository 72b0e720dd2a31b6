"""The checkpoints tab: look at them, compare them, and restore one, by the rules of the commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from unstuck.errors import UsageError
from unstuck.runs.checkpoint_commands import change_row, checkpoint_row, kept_free, store_of
from unstuck.settings.models import Settings
from unstuck.text import one_line
from unstuck.words.story import PLANNED
from unstuck.workspace.checkpoints.manager import CheckpointStore, Plan, Restored, find_checkpoints, last_restored
from unstuck.workspace.project import Project
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.checkpoints import (
    COLUMNS,
    checkpoint_about,
    checkpoint_cells,
    comparing_lines,
    diff_lines,
    plan_words,
)
from unstuck_tui.render.diff import DiffLine, heading, read_diff
from unstuck_tui.render.format import Cell, Line
from unstuck_tui.screens.browse.tab import Tab, TabContext

Row = Mapping[str, Any]
_BY_HAND = "manual"


class CheckpointsTab(Tab[Row]):
    """All checkpoints of the project and of its tasks' work trees, the newest first."""

    name: ClassVar[str] = "checkpoints"
    empty = "no checkpoints yet"
    would: ClassVar[str] = "The files are saved before anything risky. You can compare and restore them."
    columns = COLUMNS

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._marked: tuple[str, ...] = ()
        self._rungs: dict[str, str] = {}
        self._compared: tuple[str, str, Sequence[Row], Sequence[DiffLine]] | None = None
        self._comparing: tuple[str, asyncio.Future[None]] | None = None

    def key(self, row: Row) -> str:
        return str(row["id"])

    async def read(self) -> Sequence[Row]:
        place = self.context.place
        attempts = self.context.view.state.attempts.values()
        self._rungs = {attempt.checkpoint: attempt.guidance.level for attempt in attempts if attempt.checkpoint}
        found = await find_checkpoints(place.home, place.repository)
        self.note = await asyncio.to_thread(_cut_off, place, await last_restored(place.home, place.repository))
        rows = await asyncio.to_thread(lambda: [checkpoint_row(one) | {"root": one.root} for one in reversed(found)])
        self._marked = tuple(id for id in self._marked if any(row["id"] == id for row in rows))
        return rows

    def cells(self, row: Row, width: int) -> Sequence[Cell]:
        return checkpoint_cells(row, width, rung=self._rungs.get(row["id"], ""), marked=row["id"] in self._marked)

    def about(self, row: Row, width: int) -> Sequence[Line]:
        if self._comparing is not None:
            return comparing_lines(self._comparing[0], width)
        if self._compared is not None:
            since, diff, changes, lines = self._compared
            return diff_lines(heading(since, diff, width), changes, lines, width)
        return checkpoint_about(row, width)

    def back(self) -> bool:
        """Leave what was compared, or is being compared."""
        compared, comparing = self._compared, self._comparing
        self._compared = self._comparing = None
        if comparing is not None:
            comparing[1].cancel()
        return compared is not None or comparing is not None

    # --- what the person does ----------------------------------------------------------------------------------------

    def do_mark(self, row: Row) -> None:
        id = str(row["id"])
        others = tuple(other for other in self._marked if other != id)
        self._marked = others if id in self._marked else (*others, id)[-2:]
        self.context.screen.redraw()

    async def do_diff(self, row: Row) -> None:
        chosen = sorted((one for one in self.rows if one["id"] in self._marked), key=lambda one: one["created"])
        if len(chosen) < 2:
            chosen = [row]
        elif chosen[0]["root"] != chosen[1]["root"]:
            raise UsageError("these two are of different worktrees, so they cannot be compared")
        first, other = str(chosen[0]["id"]), str(chosen[1]["id"]) if len(chosen) > 1 else None
        text = f"{first} up to {other}" if other else f"{first} up to now"
        work = asyncio.ensure_future(self._compare(text, chosen[0], first, other))
        self._comparing = text, work
        self.context.screen.redraw()
        try:
            await asyncio.wait((work,))
        finally:
            work.cancel()
        if not work.cancelled():
            self._comparing = None
            self.context.screen.redraw()
            work.result()

    async def _compare(self, said: str, row: Row, first: str, other: str | None) -> None:
        if other is None and not row["root"].is_dir():
            raise UsageError("its worktree is gone, because its task is done: mark two of its checkpoints instead")
        store = store_of(self.context.place, row["root"], await self.context.settings(), gone=True)
        changes = await store.changed(first, other)
        diff = await store.diff(first, other)
        lines = await asyncio.to_thread(read_diff, diff)
        self._compared = said, diff, [change_row(change) for change in changes], lines

    def do_next(self, row: Row) -> None:
        self.context.screen.scroll_to_next("  diff --git ")

    async def do_restore(self, row: Row) -> None:
        store, settings = await self._store(row)
        id, root = str(row["id"]), row["root"]
        async with kept_free(self.context.place, root):
            plan = await store.plan(id)
        if await self._agreed(plan, root, settings, f"Restore {id}?"):
            await self._set_back(root, partial(store.restore, id, run=_BY_HAND, plan=plan))

    async def do_undo(self, row: Row) -> None:
        store, settings = await self._store(row)
        root, last = row["root"], store.last_restore()
        if last is None:
            raise UsageError("no restore was done in this worktree, so there is none to undo")
        async with kept_free(self.context.place, root):
            plan = await store.plan(last.safety, paths=last.paths)
        whose = last.run or (await store.get(last.safety)).run
        by_hand = "" if whose == _BY_HAND else f"It was run {whose} that went back, not a person."
        if await self._agreed(plan, root, settings, f"Undo the restore to {last.target}?", by_hand):
            await self._set_back(root, partial(store.undo, run=_BY_HAND, plan=plan))

    async def _set_back(self, root: Path, restored: Callable[[], Awaitable[Restored]]) -> None:
        """Do what was agreed to, with no agent at work there; the store refuses a plan that is out of date."""
        async with kept_free(self.context.place, root):
            done = await restored()
        self.context.screen.report(_receipt(done))
        self.context.screen.reload()

    async def _agreed(self, plan: Plan, root: Path, settings: Settings, title: str, warning: str = "") -> bool:
        rows = [change_row(change, PLANNED) for change in plan.changes]
        lines = plan_words(plan.checkpoint, one_line(str(root)), rows, plan.under_way)
        if not plan.changes:
            self.context.screen.report("Nothing to do: the files are the same.")
            return False
        much = not plan.is_within(settings.restore_share)
        # Before the files, which may fill the screen.
        lines[1:1] = [f"Those are many of {plan.files} files."] if much else []
        lines += [warning] if warning else []
        return await self.context.screen.confirm(
            title, lines, "Restore them", typed="yes" if much else "", hint="what is there now is saved first"
        )

    async def _store(self, row: Row) -> tuple[CheckpointStore, Settings]:
        settings = await self.context.settings()
        return store_of(self.context.place, row["root"], settings), settings


def _cut_off(place: Project, root: Path | None) -> str:
    """The note about a restore that was killed, until it is finished or undone."""
    last = store_of(place, root, Settings()).last_restore() if root is not None and root.is_dir() else None
    if last is None or last.done:
        return ""
    ends, undoes = spoken("checkpoints.restore"), spoken("checkpoints.undo")
    return f"a restore to {last.target} was interrupted: {ends} on it ends it, {undoes} undoes it"


def _receipt(done: Restored) -> str:
    count = len(done.changes)
    if not count:
        return "Nothing to do: the files are the same."
    files = f"{count} {'file is' if count == 1 else 'files are'}"
    undoes = spoken("checkpoints.undo")
    return f"{files} restored; the previous files are saved as {done.safety.id}, and {undoes} undoes it."
