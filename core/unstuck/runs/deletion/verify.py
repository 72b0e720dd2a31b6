"""Search for leftovers of a deletion, by places and names alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from unstuck.agents.config.settings_files import ConfiguredAgent, settings_files
from unstuck.agents.hooks.hook_agents import KNOWN as HOOKED
from unstuck.agents.hooks.unsupervised_log import unwatched_file
from unstuck.agents.mcp.mcp_agents import KNOWN as CALLING
from unstuck.eventlog.storage.project_list import listing_of
from unstuck.processes import prompted_from
from unstuck.runs.deletion.inventory import Stays
from unstuck.runs.deletion.plan import sockets_of, trees_folder
from unstuck.runs.deletion.project_files import describe, folders_of, runs_in
from unstuck.settings.paths import state_dir
from unstuck.workspace.checkpoints.borrowed_commits import other_bases
from unstuck.workspace.checkpoints.checkpoint_index import Catalogue
from unstuck.workspace.project import Project
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.owned_refs import own_references, own_trees, run_of


async def leftovers(
    place: Project, environ: Mapping[str, str], run: str, stays: Collection[Stays] = ()
) -> tuple[str, ...]:
    """Return what is left of the project, or of ``run``; the items of ``stays`` are no leftovers."""
    found = await asyncio.to_thread(lambda: list(_on_disk(place, environ, run, {one.name for one in stays})))
    theirs = {other for home in place.others for other in runs_in(home)}
    if place.repository is not None:
        pinned = await other_bases(place.home, place.repository)
        for name in await own_references(place.repository):
            if run_of(name) in theirs or name.rpartition("/")[2] in pinned:
                continue
            if run in ("", run_of(name)):
                found.append(f"the reference {name}")
        for tree in await own_trees(place.repository, trees_folder(place, environ)):
            if run in ("", tree.run) and tree.run not in theirs:
                found.append(f"the worktree {tree.ours}")
    if run:
        kept = {one.name for one in stays}
        known = await Catalogue(ObjectStore(place.home, place.repository)).all()
        found += [f"the checkpoint {one.id}" for one in known if one.run == run and one.id not in kept]
    return tuple(found)


def _on_disk(place: Project, environ: Mapping[str, str], run: str, stays: Collection[str]) -> Iterator[str]:
    folder = trees_folder(place, environ)
    for identity in prompted_from(place.runs / run if run else place.runs):
        yield f"process {describe(identity)}"
    if run:
        yield from (str(path) for path in (*folders_of(place, run), folder / run) if os.path.lexists(path))
        return
    yield from (str(path) for path in _below(place.home) if not any(map(path.is_relative_to, stays)))
    listing = listing_of(place.home, state_dir(environ))
    for path in (*sockets_of(place, environ), unwatched_file(place.home, environ), listing):
        if path is not None and os.path.lexists(path):
            yield str(path)
    tables: tuple[tuple[str, Mapping[str, ConfiguredAgent]], ...] = (("hooks", HOOKED), ("a server", CALLING))
    for what, agents in tables:
        for file in settings_files(agents, place.root, environ):
            if file.has_entries and file.scope == "project":
                yield f"{what} in {file.path}"


def _below(home: Path) -> Iterator[Path]:
    """Yield every file, link and empty folder below ``home``; a link in its place counts as a folder."""
    if home.is_file() or (home.is_symlink() and not home.is_dir()):
        yield home
    for where, folders, files in os.walk(home):
        yield from (Path(where, name) for name in files)
        yield from (Path(where, name) for name in folders if os.path.islink(os.path.join(where, name)))
        if not folders and not files:
            yield Path(where)
