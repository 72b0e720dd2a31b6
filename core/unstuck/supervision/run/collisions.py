"""Collisions: two live tasks that change the same file in their worktrees, noticed before their results are merged."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations

from unstuck.clock.deadlines import Deadlines
from unstuck.errors import RecordError, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.text import one_line

LOOK_S = 2.0
"""Seconds between two looks while at least two tasks are at work in worktrees."""
_SHARE = 20
"""A look may take one part in so many of the time."""
_KEY = "collisions"


class Collisions:
    """Looks at the worktrees of the tasks at work, and records each pair of tasks with changed files in common."""

    def __init__(self, core: RunContext, deadlines: Deadlines) -> None:
        self._core, self._deadlines = core, deadlines
        self._files: dict[str, dict[str, float]] = {}
        self._is_armed = False
        if core.worktrees is not None:
            core.journal.on_append(self._on_append)

    def _on_append(self, record: Record) -> None:
        if isinstance(record.event, e.AttemptStarted) and not self._is_armed and len(self._at_work()) > 1:
            self._arm(LOOK_S)

    def _arm(self, seconds: float) -> None:
        self._is_armed = True
        self._deadlines.at(_KEY, self._core.clock.monotonic() + seconds, self._look)

    def _at_work(self) -> list[TaskRow]:
        return [row for row in self._core.busy() if row.task.isolation == "worktree" and row.state == "running"]

    async def _look(self) -> None:
        """Compare the changed files of all tasks that have not ended; those at work are looked at again."""
        began = self._core.clock.monotonic()
        worktrees = self._core.worktrees
        assert worktrees is not None
        for row in self._at_work():
            with suppress(WorkspaceError, OSError):  # a tree that goes away
                known, now = self._files.get(row.id, {}), await worktrees.changed(row.id)
                self._files[row.id] = {path: known.get(path, at) for path, at in now.items()}
        with suppress(RecordError):  # without space the next look sees
            self._record()
        self._is_armed = len(self._at_work()) > 1
        if self._is_armed:
            self._arm(max(LOOK_S, _SHARE * (self._core.clock.monotonic() - began)))

    def _record(self) -> None:
        head = self._core.head
        for task in [task for task in self._files if head.tasks[task].state == "ended"]:
            del self._files[task]
        for first, second in combinations(self._files, 2):
            known = next((one for one in head.tasks[first].collisions if one.other == second), None)
            common = sorted(self._files[first].keys() & self._files[second].keys())
            paths = tuple(one_line(path) for path in common[:MAX_PATHS_IN_EVENT])
            if paths == (known.paths if known is not None else ()):
                continue
            is_later = known.is_later if known is not None else self._is_later(first, second, common)
            later, other = (first, second) if is_later else (second, first)
            self._core.append(e.FilesCollide(other=other, paths=paths), task=later)

    def _is_later(self, first: str, second: str, common: list[str]) -> bool:
        """Return whether ``first`` changed the files in common after ``second``."""
        since = [min(self._files[task][path] for path in common) for task in (first, second)]
        return since[0] > since[1]
