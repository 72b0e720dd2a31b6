"""Approach of an attempt and the size of its change, and what its history says of both."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from unstuck.contract import Report
from unstuck.detection import is_circular_fix
from unstuck.detection.similarity import SIMILAR, similarity
from unstuck.diagnosis.enums import Cause, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import WorkspaceError
from unstuck.escalation.complexity import grows
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, one_line

_DEFINED = re.compile(
    r"^\+\s{0,80}(?:async |export |pub |public |static )*(?:def|class|function|func|fn) (\w{1,80})", re.M
)
_NAMES = 4
_LIMIT = 300
_OPEN = (Cause.SIMPLE_LOGIC, Cause.TEST_ASSERTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """Attempt that failed. ``approach`` is empty where the agent stated one; ``size`` is in changed lines."""

    approach: Clean = Clean("")
    size: int = 0
    circular: bool = False
    cause: Cause | None = None

    def labelled(self, diagnosis: Diagnosis) -> Diagnosis:
        """Return ``diagnosis`` with the type and the cause that only the history shows."""
        if self.circular and diagnosis.failure_type is not FailureType.CONTEXT_EXHAUSTED:
            diagnosis = replace(diagnosis, failure_type=FailureType.CIRCULAR_FIX)
        return replace(diagnosis, cause=self.cause) if self.cause and diagnosis.cause in _OPEN else diagnosis


async def attempted(
    core: RunContext, row: TaskRow, report: Report, diagnosis: Diagnosis | None, files: str, *, progresses: bool
) -> Attempted:
    """Return the approach of the last attempt of ``row``, which failed with ``diagnosis`` and left ``files`` (a hash).

    It is the one that the agent stated or the directive's, else the first sentence of its last message, else what it
    changed. A stated approach is circular by its history alone. Another one needs the same failure as well, because
    sentences such as *all tests pass now* recur.
    """
    if diagnosis is None:
        return Attempted()
    size, changed = await _changes(core, row, files)
    stated = report.approach or row.climb.approach
    approach = stated or report.summary or changed
    comes_back = diagnosis.identity in row.climb.seen
    circular = (
        not progresses
        and bool(stated or comes_back)
        and is_circular_fix(approach, _history(row, approach, bool(stated)))
    )
    same = diagnosis.identity == row.climb.signature
    grown = same and not progresses and grows((*row.climb.sizes, size))
    return Attempted(
        approach=Clean("") if stated else Clean(approach),
        size=size,
        circular=circular,
        cause=Cause.PATTERN_MISMATCH if grown else Cause.read(report.cause, None),
    )


def _history(row: TaskRow, approach: str, stated: bool) -> tuple[str, ...]:
    """Return the approaches before this one; retries of the same approach are one attempt.

    Where nobody stated it, a similar one is the same: retries change the same files.
    """
    history = row.climb.approaches
    if stated:
        return history[:-1] if history and history[-1] == approach else history
    while history and similarity(approach, history[-1]) > SIMILAR:
        history = history[:-1]
    return history


async def _changes(core: RunContext, row: TaskRow, files: str) -> tuple[int, Clean]:
    """Return the number of changed lines since the baseline, and the changed files with their new definitions."""
    if row.baseline in ("", "none"):
        return 0, Clean("")
    store = core.checkpoints(core.tree_of(row))
    try:
        counted = await store.counted(row.baseline, files=files)
        size = sum((one.added or 0) + (one.removed or 0) for one in counted)
        if not counted or row.climb.approach or (row.report and (row.report.approach or row.report.summary)):
            return size, Clean("")
        diff = await store.diff(row.baseline, files=files)
    except WorkspaceError:
        return 0, Clean("")
    names = list(dict.fromkeys(_DEFINED.findall(diff)))[:_NAMES]
    paths = [one.path for one in counted[:_NAMES]]
    return size, one_line(": ".join(filter(None, (f"change {', '.join(paths)}", ", ".join(names)))), _LIMIT)
