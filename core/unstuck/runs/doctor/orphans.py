"""Leftovers: agents without a supervisor, worktrees and branches without an event log, unfinished restores.

A failed check is reported as such, never as *nothing found*.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping

from unstuck.errors import RecordError, UnstuckError
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.deletion.plan import trees_folder
from unstuck.runs.deletion.project_files import describe, holder_of, processes_of, runs_in
from unstuck.runs.doctor.finding import Finding
from unstuck.runs.queries.run_list import state_of
from unstuck.settings.paths import state_dir
from unstuck.supervision.run.delivery import cut_deliveries
from unstuck.text import one_line
from unstuck.workspace.checkpoints.last_restore import read_last
from unstuck.workspace.git.repository import refuse_home_links
from unstuck.workspace.project import Project
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.owned_refs import own_references, own_trees, run_of
from unstuck.workspace.worktrees.worktrees import kept_trees


async def orphans(place: Project, environ: Mapping[str, str]) -> list[Finding]:
    """Return everything that needs attention."""
    if place.home.exists() and not place.home.is_dir():
        return []  # a file of another program: there are no event logs
    try:
        refuse_home_links(place.home)
    except RecordError:
        return []  # where the links lead there is nothing of this project
    found = await asyncio.to_thread(lambda: [*_runs(place), *_processes(place), *_restores(place)])
    try:
        found += [_delivery(run) for run in await cut_deliveries(place)]
        kept = await kept_trees(place, state_dir(environ) / "worktrees")
        found += [Finding("kept", f"{one_line(one.place)}: {one.reason}") for one in kept]
        found += [finding async for finding in _without_record(place, environ)]
    except (UnstuckError, OSError) as error:
        found.append(Finding("kept", f"cannot be looked at: {error}", ok=False))
    return found


def _delivery(run: str) -> Finding:
    said = f"run {run} was killed while it brought in its results: your files may hold half of them"
    return Finding("delivery", said, ok=False, mend=f"unstuck run --resume {run}")


def _runs(place: Project) -> Iterator[Finding]:
    """Yield the runs with a damaged event log, and those that can be resumed."""
    open_runs = []
    for run in run_names(place.runs):
        try:
            state, damage = state_of(place, run)
        except RecordError as error:
            yield Finding("run", str(error), ok=False, mend=f"unstuck delete {run}")
            continue
        if damage is not None:
            yield Finding("run", str(damage), ok=False, mend=f"unstuck fsck {run}")
        elif state.run.state not in ("ended", "new") and state.run.plan:
            open_runs.append(run)
    if open_runs:
        live = _live(place)
        waiting = [run for run in open_runs if run != live]
        if waiting:
            said = f"{', '.join(waiting[-5:])} can be resumed: unstuck run --resume {waiting[-1]}"
            yield Finding("unfinished", said)


def _processes(place: Project) -> Iterator[Finding]:
    """Yield the agents that work for a run without a supervisor."""
    try:
        live = _live(place)
        for run in runs_in(place.home):
            names = [describe(identity) for identity in processes_of(place, [run])] if run != live else []
            if names:
                said = f"process {', '.join(names[:5])} works for run {run}, which has no supervisor"
                yield Finding("orphan", said, ok=False, mend=f"unstuck run --resume {run}")
    except (UnstuckError, OSError) as error:
        yield Finding("orphan", f"cannot be looked at: {error}", ok=False)


def _live(place: Project) -> str:
    holder = holder_of(place)
    return holder.run if holder is not None else ""


def _restores(place: Project) -> Iterator[Finding]:
    for folder in ObjectStore(place.home, place.repository).trees():
        last = read_last(folder)
        if last is not None and not last.done:
            said = f"a restore to {last.target} was interrupted"
            yield Finding("restore", said, ok=False, mend="unstuck checkpoints undo")


async def _without_record(place: Project, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Yield worktrees and branches without an event log, and event logs with an interrupted removal."""
    known = set(run_names(place.runs)) | {run for home in place.others for run in runs_in(home)}
    left = set(runs_in(place.home)) - known
    if place.repository is not None:
        left |= {tree.run for tree in await own_trees(place.repository, trees_folder(place, environ))} - known
        left |= {run_of(name) for name in await own_references(place.repository)} - known
    for run in sorted(left - {""}):
        # The results of a run removed for its age stay on their branch on purpose.
        yield Finding("left", f"the rest of run {run}, whose event log is gone: unstuck delete {run}")
