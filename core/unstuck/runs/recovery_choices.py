"""Recovery of an interrupted run: its unfinished attempts, and the choices from the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from unstuck.clock import SystemClock
from unstuck.errors import ProjectError, RecordError, UsageError
from unstuck.eventlog.state import State, TaskRow
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.checkpoint_commands import store_of
from unstuck.runs.queries.run_list import live_runs, state_of
from unstuck.settings.models import Settings
from unstuck.settings.paths import state_dir
from unstuck.supervision.checks.check import Verifier
from unstuck.supervision.recovery.facts import CHOICES, Observed, RecoveryState, reconstruct, was_cut_off
from unstuck.supervision.recovery.interrupted_attempt import chosen_for
from unstuck.supervision.recovery.observations import check_now, observe
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.worktrees import Worktrees


def unfinished(place: Project) -> str:
    """Return the newest run if it can be resumed, empty otherwise. Runs with a damaged log are skipped."""
    for run in reversed(run_names(place.runs)):
        try:
            state, damage = state_of(place, run)
        except RecordError:
            continue
        if damage is None and state.run.kind in ("plan", "command"):
            if state.run.state != "ended" or any(row.state == "interrupted" for row in state.tasks.values()):
                return run
            return ""
    return ""


def chosen_in(options: Iterable[str]) -> dict[str, str]:
    """Return the choices of ``TASK=CHOICE`` options by task or pattern. Raises UsageError."""
    chosen: dict[str, str] = {}
    for option in options:
        task, equals, choice = option.partition("=")
        known = choice.strip().replace("-", "_")
        if not equals or not task.strip() or known not in CHOICES:
            raise UsageError(f"--recover: {one_line(option)!r} is not TASK=CHOICE{suggestion(known, CHOICES)}")
        chosen[task.strip()] = known
    return chosen


def require_possible(state: State, chosen: Mapping[str, str], *, git: bool) -> None:
    """Raise UsageError for a choice that no interrupted task has or allows."""
    if not chosen:
        return
    facts = reconstruct(state, {}, git=git)
    for name in chosen:
        if not any(fnmatchcase(one.task, name) for one in facts.tasks):
            named = ", ".join(one.task for one in facts.tasks) or "none was"
            raise UsageError(f"--recover: no task {one_line(name)} was interrupted in run {facts.run} ({named})")
    for one in facts.tasks:
        choice = chosen_for(chosen, one.task)
        if choice is not None and choice in one.refused:
            raise UsageError(f"--recover {one.task}={choice}: {one.refused[choice]}")


async def what_is_left(
    place: Project, run: str, settings: Settings, environ: Mapping[str, str], *, check: bool = False
) -> RecoveryState:
    """Return the interrupted attempts of ``run``. With ``check`` the check of each task runs now, one by one.

    Raises RecordError, and ProjectError for a live run.
    """
    live = next((one for one in live_runs(place) if one.run == run), None)
    if live is not None:
        raise ProjectError(f"run {run} is live (process {live.pid}): `unstuck watch` shows it")
    state, damage = state_of(place, run)
    if damage is not None:
        raise damage
    looking = _Looking(place, run, settings, environ)
    rows = [row for row in state.tasks.values() if was_cut_off(row)]
    observed = {row.id: await looking.at(state, row, check=check) for row in rows}
    return reconstruct(state, observed, git=place.repository is not None)


class _Looking:
    """Observer of the worktrees of one run."""

    def __init__(self, place: Project, run: str, settings: Settings, environ: Mapping[str, str]) -> None:
        self._place, self._run, self._settings, self._environ = place, run, settings, environ

    async def at(self, state: State, row: TaskRow, *, check: bool) -> Observed:
        place, tree = self._place, tree_of(self._place, self._run, row, self._environ)
        store = self._store if place.repository is not None else None
        seen = await observe(state, row, tree, store, output=place.runs / self._run / "output")
        if not check or seen.processes:
            return seen
        directory = tree / place.directory.relative_to(place.root)
        with tempfile.TemporaryDirectory(prefix="unstuck-check-") as folder:
            verifier = Verifier(
                Path(folder),
                clock=SystemClock(),
                timeout=self._settings.verify_timeout,
                limit=self._settings.output_limit,
                environ=self._environ,
            )
            found = await check_now(verifier, row, directory)
        return seen.model_copy(update={"check": found})

    def _store(self, tree: Path) -> CheckpointStore:
        return store_of(self._place, tree, self._settings)


def tree_of(place: Project, run: str, row: TaskRow, environ: Mapping[str, str]) -> Path:
    """Return the worktree of a task of ``run``, which may not exist."""
    if row.task.isolation != "worktree" or place.repository is None:
        return place.root
    return Worktrees(place.repository, state_dir(environ) / "worktrees", run).path(row.id)
