"""The checkpoints tab: look at them, compare them, and restore one, by the rules of the commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from unstuck.contract import Guidance
from unstuck.errors import UsageError
from unstuck.runs.checkpoint_commands import change_row, checkpoint_row, kept_free, store_of
from unstuck.settings.models import Settings
from unstuck.text import one_line
from unstuck.words.amounts import time_of_day
from unstuck.words.labels import counted
from unstuck.words.story import PLANNED
from unstuck.workspace.checkpoints.comparison import step_counts, step_diff
from unstuck.workspace.checkpoints.manager import (
    Checkpoint,
    CheckpointStore,
    Plan,
    Restored,
    find_checkpoints,
    last_restored,
)
from unstuck.workspace.git.diff_limit import Counted
from unstuck.workspace.project import Project
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.checkpoints import (
    COLUMNS,
    OF_ALL_RUNS,
    Saved,
    changed_lines,
    comparing_lines,
    diff_lines,
    plan_words,
    saved_about,
    saved_line,
    saved_texts,
    step_lines,
)
from unstuck_tui.render.browse.columns import Column, RowTexts
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.diff import FILE, DiffLine, brief, heading, read_diff
from unstuck_tui.render.format import Cell, Line
from unstuck_tui.screens.browse.tab import Tab, TabContext

Row = Mapping[str, Any]
_BY_HAND = "manual"
_COUNTED = 300
"""The changes of so many of the newest checkpoints are counted."""


class CheckpointsTab(Tab[Saved]):
    """The checkpoints of the run, or of the project and of its tasks' worktrees; those of a task together."""

    name: ClassVar[str] = "checkpoints"
    empty = "no checkpoints yet"
    would: ClassVar[str] = "The files are saved before anything risky. You can compare and restore them."
    head = "TASK"
    spans_runs = True
    title = "checkpoints by task"
    orders: ClassVar[Sequence[Order]] = (
        Order("newest first"),
        Order("by name", lambda saved: str(saved.row["task"])),
        Order("most changes first", changed_lines, descends=True),
    )

    def __init__(self, context: TabContext) -> None:
        super().__init__(context)
        self._marked: tuple[str, ...] = ()
        self._found: dict[str, Checkpoint] = {}
        self._counts: dict[tuple[str, str], tuple[Counted, ...]] = {}
        self._steps: dict[str, Sequence[DiffLine]] = {}
        self._compared: tuple[str, str, Sequence[Row], Sequence[DiffLine]] | None = None
        self._comparing: tuple[str, asyncio.Future[None]] | None = None

    def key(self, row: Saved) -> str:
        return str(row.row["id"])

    @property
    def columns(self) -> Sequence[Column]:  # type: ignore[override]
        """The run of each checkpoint is named where there are several."""
        return OF_ALL_RUNS if self.all_runs else COLUMNS

    @property
    def summary(self) -> str:
        tasks = len({saved.row["task"] for saved in self.found})
        return f"{counted(len(self.found), 'checkpoint')} of {counted(tasks, 'task')}" if self.found else ""

    async def read(self) -> Sequence[Saved]:
        place = self.context.place
        found = await find_checkpoints(place.home, place.repository)
        self.note = await asyncio.to_thread(_cut_off, place, await last_restored(place.home, place.repository))
        self._found = {one.id: one for one in found}
        before = _befores(found)
        wanted = [
            (before[one.id], one)
            for one in found[-_COUNTED:]
            if one.id in before and (before[one.id].tree, one.tree) not in self._counts
        ]
        counts = await step_counts(place.home, place.repository, wanted)
        self._counts |= {(old.tree, new.tree): count for (old, new), count in zip(wanted, counts, strict=False)}
        attempts = self.context.view.state.attempts.values()
        after = {one.checkpoint: one.guidance for one in attempts if one.checkpoint}
        self._marked = tuple(id for id in self._marked if id in self._found)
        own = (self.context.view.state.run.id, _BY_HAND)
        listed = [one for one in found[::-1] if self.all_runs or one.run in own]
        others = len(found) - len(listed)
        self.empty = (
            f"no checkpoints of this run yet; {spoken('browse.all_runs')} shows {others:,} of other runs"
            if others
            else "no checkpoints yet"
        )
        return await asyncio.to_thread(
            lambda: [self._saved(one, before.get(one.id), after.get(one.id)) for one in listed]
        )

    def _saved(self, one: Checkpoint, old: Checkpoint | None, guidance: Guidance | None) -> Saved:
        return Saved(
            row=checkpoint_row(one),
            root=one.root,
            attempt=guidance.number if guidance is not None else 0,
            level=guidance.level if guidance is not None else "",
            before=old.id if old is not None else "",
            before_time=checkpoint_row(old)["created"] if old is not None else "",
            changed=self._counts.get((old.tree, one.tree)) if old is not None else None,
        )

    def group(self, row: Saved) -> str:
        return f"{row.row['run']} {row.row['task']}"

    def texts(self, row: Saved) -> RowTexts:
        return saved_texts(row, now=self.context.view.clock.now(), marked=self.key(row) in self._marked)

    @property
    def beside_title(self) -> str:  # type: ignore[override]
        """The name of the pane with the changes; while others are compared they take all the room."""
        if self._comparing is not None or self._compared is not None:
            return ""
        before = self.row.before_time if self.row is not None else ""
        return f"changed since {time_of_day(before, seconds=True)}" if before else "changed"

    def about(self, row: Saved, width: int) -> Sequence[Line]:
        if self._comparing is not None:
            return comparing_lines(self._comparing[0], width)
        if self._compared is not None:
            since, diff, changes, lines = self._compared
            return diff_lines(heading(since, diff, width), changes, lines, width)
        return saved_about(row, width)

    def beside(self, row: Saved, width: int) -> Sequence[Line]:
        if self._comparing is not None or self._compared is not None:
            return ()
        return step_lines(row, self._steps.get(self.key(row)), width)

    def stacked(self, row: Saved, width: int) -> Sequence[Line]:
        if self._comparing is not None or self._compared is not None:
            return self.about(row, width)
        changes = step_lines(row, self._steps.get(self.key(row)), width)
        return [saved_line(row, width), *changes, (Cell(""),), *saved_about(row, width)]

    async def look(self, row: Saved) -> None:
        """Read what has changed since the checkpoint before."""
        id, place = self.key(row), self.context.place
        old, new = self._found.get(row.before), self._found.get(id)
        if id not in self._steps and old is not None and new is not None:
            diff = await step_diff(place.home, place.repository, old, new)
            self._steps[id] = brief(await asyncio.to_thread(read_diff, diff))

    def back(self) -> bool:
        """Leave what was compared, or is being compared."""
        compared, comparing = self._compared, self._comparing
        self._compared = self._comparing = None
        if comparing is not None:
            comparing[1].cancel()
        return compared is not None or comparing is not None

    # --- what the person does ----------------------------------------------------------------------------------------

    def do_mark(self, row: Saved) -> None:
        id = self.key(row)
        others = tuple(other for other in self._marked if other != id)
        self._marked = others if id in self._marked else (*others, id)[-2:]
        self.context.screen.redraw()

    async def do_diff(self, row: Saved) -> None:
        chosen = [self._found[id] for id in self._marked if id in self._found]
        chosen.sort(key=lambda one: one.number)
        if len(chosen) < 2:
            chosen = [self._found[self.key(row)]]
        elif chosen[0].root != chosen[1].root:
            raise UsageError("these two are of different worktrees, so they cannot be compared")
        first, other = chosen[0].id, chosen[1].id if len(chosen) > 1 else None
        text = f"{first} up to {other}" if other else f"{first} up to now"
        work = asyncio.ensure_future(self._compare(text, chosen[0].root, first, other))
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

    async def _compare(self, said: str, root: Path, first: str, other: str | None) -> None:
        if other is None and not root.is_dir():
            raise UsageError("its worktree is gone, because its task is done: mark two of its checkpoints instead")
        store = store_of(self.context.place, root, await self.context.settings(), gone=True)
        changes = await store.changed(first, other)
        diff = await store.diff(first, other)
        lines = brief(await asyncio.to_thread(read_diff, diff))
        self._compared = said, diff, [change_row(change) for change in changes], lines

    def do_next(self, row: Saved) -> None:
        self.context.screen.scroll_to_next(FILE)

    async def do_restore(self, row: Saved) -> None:
        store, settings = await self._store(row)
        id, root = self.key(row), row.root
        async with kept_free(self.context.place, root):
            plan = await store.plan(id)
        if await self._agreed(plan, root, settings, f"Restore {id}?"):
            await self._set_back(root, partial(store.restore, id, run=_BY_HAND, plan=plan))

    async def do_undo(self, row: Saved) -> None:
        store, settings = await self._store(row)
        root, last = row.root, store.last_restore()
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

    async def _store(self, row: Saved) -> tuple[CheckpointStore, Settings]:
        settings = await self.context.settings()
        return store_of(self.context.place, row.root, settings), settings


def _befores(found: Sequence[Checkpoint]) -> dict[str, Checkpoint]:
    """The checkpoint before each one in its worktree; ``found`` are the oldest first."""
    last: dict[Path, Checkpoint] = {}
    before = {}
    for one in found:
        if one.root in last:
            before[one.id] = last[one.root]
        last[one.root] = one
    return before


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
