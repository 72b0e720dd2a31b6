"""Weakened checks of a task whose check passed: found in its own changes, and protected files among them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from unstuck.contract import WEAKENED
from unstuck.errors import WorkspaceError
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checks.check import Check
from unstuck.supervision.checks.weakenings import Weakening, weakenings
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit, one_line

_NAMED = 20


@dataclass(frozen=True, slots=True)
class Weakened:
    """``findings`` in what the task changed since its start; ``protected`` paths that it changed."""

    findings: tuple[Weakening, ...] = ()
    protected: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Clean, ...]:
        """The findings as people read them, at most 20."""
        return tuple(one_line(str(finding), 240) for finding in self.findings[:_NAMED])


async def weakened_by(core: RunContext, row: TaskRow) -> Weakened:
    """Findings in what ``row`` changed since its start; none where its start was not saved."""
    if row.baseline in ("", "none"):
        return Weakened()
    store = core.checkpoints(core.tree_of(row))
    try:
        own = await store.written_by(row.id, row.baseline)
        changes = await store.changed(row.baseline)
        paths = [change.path for change in changes if own is None or change.path in own]
        diff = await store.diff(row.baseline, paths=paths) if paths else ""
    except WorkspaceError:
        return Weakened()
    found = await asyncio.to_thread(weakenings, diff, check=row.task.verify or "")
    return Weakened(found, _protected(paths, core.settings.check_policy.protected))


def decided_on(check: Check, weakened: Weakened, row: TaskRow, *, may_ask: bool) -> tuple[Check, str]:
    """``check`` and its trouble once protected files are taken into account.

    Paths that a person has accepted for this task count no more. Where nobody may be asked, or a person has refused
    the changes, the check counts as failed.
    """
    paths = [path for path in weakened.protected if path not in row.accepted]
    if check.result != "passed" or not paths:
        return check, ""
    named = ", ".join(one_line(path, 100) for path in paths[:_NAMED])
    problem = admit(f"the check passed, but protected files were changed: {named}", limit=2_000)
    if may_ask and not row.refused:
        return replace(check, result="contradicted", problem=problem), WEAKENED
    told = admit(f"{problem}. Restore them: they decide whether the task is done.", limit=2_500)
    return replace(check, result="failed", problem=problem, text=told), WEAKENED


def _protected(paths: Sequence[str], patterns: Collection[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if any(fnmatchcase(path, pattern) for pattern in patterns))
