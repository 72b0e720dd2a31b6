"""Collisions: two live tasks that change the same file, noticed before their results meet.

The files of a task in a worktree are those that git finds there. Of any other, such as a watched session in the
project's own directory, those are known that it gives to tools that edit a file.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import combinations
from os.path import normpath
from pathlib import Path

from unstuck.clock.deadlines import Deadlines
from unstuck.errors import RecordError, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.text import one_line

LOOK_S = 2.0
"""Seconds between two looks while at least two tasks are at work, one of them in a worktree."""
_SHARE = 20
"""A look may take one part in so many of the time."""
_LOOK, _EDITS = "collisions", "edits"
_MOST_FILES, _MOST_OPEN = 10_000, 64


class Collisions:
    """Looks at the files that the tasks at work change, and records each pair of tasks with files in common."""

    def __init__(self, core: RunContext, deadlines: Deadlines) -> None:
        self._core, self._deadlines = core, deadlines
        self._files: dict[str, dict[str, float]] = {}
        self._calls: dict[tuple[str, str, str], deque[tuple[str, ...]]] = {}
        self._edited: set[str] = set()
        self._is_armed = False
        core.journal.on_append(self._on_append)

    def _on_append(self, record: Record) -> None:
        match record.event:
            case e.AttemptStarted() if not self._is_armed and self._core.worktrees is not None:
                # The look finds out whether there is anything to compare: that is no work of a record.
                self._arm(LOOK_S)
            case e.StepRecorded(kind="action" | "success" | "failure") as step if step.tool:
                self._on_step(record.task, step)
            case e.TaskEnded():
                self._files.pop(record.task, None)
                self._calls = {key: calls for key, calls in self._calls.items() if key[0] != record.task}

    def _on_step(self, task: str, step: e.StepRecorded) -> None:
        """Note the files of a call that edits them once it has succeeded."""
        from unstuck.detection.steps.tool_call_kind import edited_files  # its patterns are not for the first frame

        row, key = self._core.head.tasks.get(task), (task, step.agent_id, step.tool)
        if row is None or self._is_apart(row):
            return
        if step.kind == "action":
            if paths := edited_files(step.tool, step.text):
                self._calls.setdefault(key, deque(maxlen=_MOST_OPEN)).append(paths)
        elif calls := self._calls.get(key):
            paths, known = calls.popleft(), self._files.setdefault(task, {})
            if step.kind == "success" and len(known) < _MOST_FILES:
                now = self._core.clock.now()
                known |= {path: now for path in map(self._within, paths) if path not in known}
                self._edited.add(task)
                self._deadlines.at(_EDITS, self._core.clock.monotonic(), self._compare_edited)

    def _within(self, path: str) -> str:
        """Return the path below the project's directory, as git names it; any other as it is."""
        place = Path(normpath(self._core.root / path))
        return str(place.relative_to(self._core.root)) if place.is_relative_to(self._core.root) else str(place)

    def _arm(self, seconds: float) -> None:
        self._is_armed = True
        self._deadlines.at(_LOOK, self._core.clock.monotonic() + seconds, self._look)

    def _is_apart(self, row: TaskRow) -> bool:
        return row.task.isolation == "worktree" and self._core.worktrees is not None

    def _looks(self) -> list[TaskRow]:
        """Return the tasks at work in worktrees, if there is another one beside them."""
        running = [row for row in self._core.busy() if row.state == "running"]
        return [row for row in running if self._is_apart(row)] if len(running) > 1 else []

    async def _look(self) -> None:
        """Compare the changed files of all tasks that have not ended; worktrees at work are looked at again."""
        began = self._core.clock.monotonic()
        worktrees = self._core.worktrees
        assert worktrees is not None
        for row in self._looks():
            with suppress(WorkspaceError, OSError):  # a tree that goes away
                known, now = self._files.get(row.id, {}), await worktrees.changed(row.id)
                self._files[row.id] = {path: known.get(path, at) for path, at in now.items()}
        self._record(*combinations(self._files, 2))
        self._is_armed = bool(self._looks())
        if self._is_armed:
            self._arm(max(LOOK_S, _SHARE * (self._core.clock.monotonic() - began)))

    def _compare_edited(self) -> None:
        edited, self._edited = self._edited, set()
        self._record(*((task, other) for task in edited for other in self._files if other != task))

    def _record(self, *pairs: tuple[str, str]) -> None:
        head = self._core.head
        with suppress(RecordError):  # without space the next look sees
            for first, second in pairs:
                if all(task in self._files and head.tasks[task].state != "ended" for task in (first, second)):
                    self._compare(first, second)

    def _compare(self, first: str, second: str) -> None:
        one = self._core.head.tasks[first]
        known = next((other for other in one.collisions if other.other == second), None)
        before = known.paths if known is not None else ()
        common = sorted(self._files[first].keys() & self._files[second].keys())
        found = {one_line(path) for path in common}
        if not (self._is_apart(one) and self._is_apart(self._core.head.tasks[second])):
            found |= set(map(one_line, before))  # no call says that a file is as it was
        paths = tuple(sorted(found)[:MAX_PATHS_IN_EVENT])
        if paths == before:
            return
        is_later = known.is_later if known is not None else self._is_later(first, second, common)
        later, other = (first, second) if is_later else (second, first)
        self._core.append(e.FilesCollide(other=other, paths=paths), task=later)

    def _is_later(self, first: str, second: str, common: list[str]) -> bool:
        """Return whether ``first`` changed the files in common after ``second``."""
        since = [min(self._files[task][path] for path in common) for task in (first, second)]
        return since[0] > since[1]
