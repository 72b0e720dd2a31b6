"""A run of a machine that is lost, brought to this one: its log from a copy, its results from the fleet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.errors import UsageError
from unstuck.eventlog.log.load_state import LOG_NAME, checked_state
from unstuck.eventlog.storage.durable_files import make_directory
from unstuck.fleet.copies import Copies
from unstuck.fleet.names import log_name
from unstuck.fleet.shared_plan.entries import LeaseEntry, PlanEntry, subject
from unstuck.fleet.shared_plan.owner import plan_name
from unstuck.fleet.shared_plan.placement import Placement
from unstuck.fleet.shared_plan.transport import Transport
from unstuck.text import one_line
from unstuck.workspace.git.repository import run_git
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.worktree import safe_name


async def bring_run(run: str, place: Project, placed: Placement, environ: Mapping[str, str]) -> None:
    """Copy the log of ``run`` here, and fetch its branch. Nothing where no copy is known: then there is no such run.

    Raises UsageError where this is no clone of its repository, RecordError for a damaged copy, and FleetError.
    """
    found = _copy_of(run, environ)
    if found is None:
        return
    state = (await asyncio.to_thread(checked_state, found.parent)).state
    if place.repository is None or not state.run.base:
        raise UsageError(f"run {one_line(run, 80)} needs a clone of its repository: type this in one")
    root = place.root
    async with placed.table() as table:
        name = plan_name(table.name, run, state.run.base)
        plan = table.value(subject("plan", *name), PlanEntry)
        lease = table.value(subject("lease", *name), LeaseEntry)
        if plan is None or lease is None:
            raise UsageError(f"the server knows no plan of {table.name} with the run {one_line(run, 80)}")
        transport = Transport(root, run, plan.remote, table, state.run.base)
        for files in (plan.base, *([lease.tip] if lease.tip is not None else [])):
            await transport.fetch(files)
        tip = lease.tip.commit if lease.tip is not None else plan.base.commit
    roots = (await run_git(root, "rev-list", "--max-parents=0", "HEAD")).line.split()
    if not set(roots) & set(plan.roots.split()):
        raise UsageError(f"{root} is no clone of the repository of run {one_line(run, 80)}")
    await run_git(root, "update-ref", f"refs/unstuck/bases/{safe_name(run)}", plan.base.commit)
    await run_git(root, "update-ref", f"refs/heads/unstuck/{safe_name(run)}/_run", tip)
    await asyncio.to_thread(_keep, found, place.runs / run)


def _copy_of(run: str, environ: Mapping[str, str]) -> Path | None:
    """Return the longest copy of the log of ``run``."""
    copies = Copies(environ)
    found = []
    hosts = copies.folder.iterdir() if copies.folder.is_dir() else ()
    for host in sorted(path.name for path in hosts if path.is_dir()):
        for log in copies.logs(host):
            with suppress(ValueError, UsageError):
                if log_name(log).run == run and (path := copies.path(host, log)).is_file():
                    found.append(path)
    return max(found, key=lambda path: path.stat().st_size, default=None)


def _keep(copy: Path, folder: Path) -> None:
    make_directory(folder)
    draft = folder / f".{LOG_NAME}.new"
    draft.write_bytes(copy.read_bytes())
    draft.chmod(0o600)
    os.replace(draft, folder / LOG_NAME)
