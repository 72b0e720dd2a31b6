"""Facts for the last lines of a run: its claims beside its checks, and what a successful run has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from unstuck.errors import UnstuckError
from unstuck.eventlog.state import State
from unstuck.runs.checkpoint_commands import store_of
from unstuck.runs.queries.run_list import state_of
from unstuck.runs.queries.truth import CONFIRMED
from unstuck.settings.models import Settings
from unstuck.workspace.checkpoints.manager import Checkpoint, find_checkpoints
from unstuck.workspace.git.diff_limit import Counted, parse_counts
from unstuck.workspace.git.repository import run_git
from unstuck.workspace.project import Project

_COUNTING = ("diff", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Changed files and lines of a run, and the ``command`` that shows them. Lines of binary files do not count."""

    files: int
    added: int
    removed: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Claims of the agents of a run beside its checks, counted as ``unstuck truth`` counts them."""

    attempts: int = 0
    claimed_done: int = 0
    compared: int = 0
    agreed: int = 0
    false_claims: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """``claims`` is None without one that a check could judge, ``changes`` without success or checkpoints."""

    claims: Claims | None = None
    changes: Changes | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for the JSON result of a run: ``claims`` and ``changes``, each only if it is known."""
        return {name: asdict(part) for name in ("claims", "changes") if (part := getattr(self, name)) is not None}


async def end_of_run(place: Project, run: str) -> RunEnd:
    """Return the facts about the end of ``run``; less of them if a file cannot be read."""
    claims = changes = None
    with suppress(UnstuckError, OSError):
        state, _ = await asyncio.to_thread(state_of, place, run)
        claims = claims_of(state)
        if state.run.exit_code == 0:
            changes = await _changes(place, state)
    return RunEnd(claims=claims, changes=changes)


def claims_of(state: State) -> Claims | None:
    """Count the claims from the state: reading a long log again for them would take longer than its resume."""
    said = [(row.report.claim if row.report is not None else "", row.check) for row in state.attempts.values()]
    found = [(claim, CONFIRMED[check]) for claim, check in said if claim in ("done", "not_done") and check in CONFIRMED]
    if not found:
        return None
    return Claims(
        attempts=len(said),
        claimed_done=sum(claim == "done" for claim, _ in said),
        compared=len(found),
        agreed=sum((claim == "done") == passed for claim, passed in found),
        false_claims=sum(claim == "done" and not passed for claim, passed in found),
    )


async def _changes(place: Project, state: State) -> Changes | None:
    ids = {id for row in state.tasks.values() for id in (row.baseline, row.good)}
    saved = [one for one in await find_checkpoints(place.home, place.repository) if one.id in ids]
    roots = {one.root for one in saved}
    if len(roots) == 1:
        return await _between_checkpoints(place, state, {one.id: one for one in saved})
    return await _between_commits(place, state) if roots else None


async def _between_checkpoints(place: Project, state: State, saved: dict[str, Checkpoint]) -> Changes | None:
    """Compare the first baseline with the last passing checkpoint of the one tree in which all tasks worked."""
    begins = [saved[row.baseline] for row in state.tasks.values() if row.baseline in saved]
    ends = [saved[row.good] for row in state.tasks.values() if row.good in saved]
    if not begins or not ends:
        return None
    first, last = min(begins, key=lambda one: one.number), max(ends, key=lambda one: one.number)
    store = store_of(place, first.root, Settings(), gone=True)
    counted = await store.counted(first.id, last.id)
    return _sum(counted, f"unstuck checkpoints diff {first.id} {last.id}")


async def _between_commits(place: Project, state: State) -> Changes | None:
    """Compare the base of the run with its results, which git has on a branch or in the commit delivered."""
    run = state.run
    if place.repository is None or not run.base:
        return None
    for tip in (run.delivered, f"refs/heads/unstuck/{run.id}/_run"):
        result = await run_git(place.root, "rev-parse", "--verify", "--quiet", f"{tip}^{{commit}}", check=False)
        if tip and result.code == 0:
            counted = parse_counts((await run_git(place.root, *_COUNTING, run.base, result.line)).out)
            return _sum(counted, f"git diff {run.base[:_SHORT]} {result.line[:_SHORT]}")
    return None


def _sum(counted: Iterable[Counted], command: str) -> Changes:
    files = list(counted)
    added, removed = sum(one.added or 0 for one in files), sum(one.removed or 0 for one in files)
    return Changes(files=len(files), added=added, removed=removed, command=command)
