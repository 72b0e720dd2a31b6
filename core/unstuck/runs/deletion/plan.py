"""Plan of a deletion: all that unstuck has in a project, or of one run. A failed look deletes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from unstuck.agents.config.settings_files import ConfiguredAgent, SettingsFile, settings_files
from unstuck.agents.hooks.hook_agents import KNOWN as HOOKED
from unstuck.agents.hooks.unsupervised_log import unwatched_file
from unstuck.agents.mcp.mcp_agents import KNOWN as CALLING
from unstuck.channel import socket_path
from unstuck.errors import ChannelError, UsageError
from unstuck.eventlog.storage.lock import Holder
from unstuck.eventlog.storage.project_list import listing_of
from unstuck.processes import tree_of, working_in
from unstuck.runs.deletion.inventory import Inventory, Item, Stays
from unstuck.runs.deletion.project_files import (
    Identity,
    checkpoints_of,
    describe,
    holder_of,
    kept_items,
    linked,
    processes_of,
    record_items,
    runs_in,
    state_if_any,
    strangers,
)
from unstuck.settings.paths import runtime_dir, state_dir
from unstuck.text import one_line
from unstuck.workspace.checkpoints.borrowed_commits import other_bases
from unstuck.workspace.checkpoints.checkpoint_index import Catalogue, Checkpoint
from unstuck.workspace.checkpoints.last_restore import read_last
from unstuck.workspace.git.plain_file import read_bytes, read_text
from unstuck.workspace.project import Project
from unstuck.workspace.storage.object_store import ObjectStore
from unstuck.workspace.worktrees.cleanup import LEAVING, size_of
from unstuck.workspace.worktrees.owned_refs import (
    OwnTree,
    commits_only_in,
    held_by,
    own_references,
    own_trees,
    run_of,
    users_heads,
)
from unstuck.workspace.worktrees.worktrees import trees_of

BY_HAND = "manual"
"""The run in checkpoints that a person's own commands make."""


@dataclass(slots=True, kw_only=True)
class Stock:
    """Inventory with the values that delete it. ``processes`` leaves the supervisor out."""

    inventory: Inventory
    runs: tuple[str, ...]
    holder: Holder | None
    processes: tuple[Identity, ...] = ()
    trees: tuple[OwnTree, ...] = ()
    references: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    entries: tuple[SettingsFile[ConfiguredAgent], ...] = ()


@dataclass(slots=True)
class _Found:
    items: list[Item] = field(default_factory=list)
    stays: list[Stays] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)


def trees_folder(place: Project, environ: Mapping[str, str]) -> Path:
    """Return the folder in which the worktrees of the project's tasks are made."""
    common = place.repository.common if place.repository is not None else place.home
    return trees_of(state_dir(environ) / "worktrees", common)


def sockets_of(place: Project, environ: Mapping[str, str]) -> list[Path]:
    """Return the project's sockets, live or left by a dead run or watch."""
    found = list[Path]()
    for watch in (False, True):
        with suppress(ChannelError):
            found.append(socket_path(runtime_dir(environ), place.home, watch=watch))
    return [path for path in found if os.path.lexists(path)]


async def find_deletable(place: Project, environ: Mapping[str, str], wanted: str) -> str:
    """Return the id of the run that ``wanted`` names, also one without an event log. Raises UsageError."""
    found = sorted(await _traced(place, environ))
    recorded = runs_in(place.home)
    if wanted == "last" and recorded:
        return recorded[-1]
    matching = [run for run in found if run == wanted] or [run for run in found if run.startswith(wanted)]
    if len(matching) != 1:
        if matching:
            raise UsageError(f"{wanted} could be any of: {', '.join(matching[:5])}")
        raise UsageError(f"there is no run {one_line(wanted)}; `unstuck runs` lists them")
    return matching[0]


async def take_stock(place: Project, environ: Mapping[str, str], run: str = "", *, locked: bool = False) -> Stock:
    """Return all that unstuck has in ``place``, or of ``run``; ``locked``: the caller holds the project's lock.

    Raises WorkspaceError, UnstuckError or OSError.
    """
    found, holder = _Found(), None if locked else holder_of(place, run)
    runs = (run,) if run else tuple(sorted(await _traced(place, environ)))
    stock = Stock(inventory=Inventory(name=run or one_line(place.root.name)), runs=runs, holder=holder)
    _take_live(place, stock, found, run)
    stock.processes = await asyncio.to_thread(processes_of, place, runs)
    found.items += [Item(kind="processes", name=describe(identity)) for identity in stock.processes]
    if place.repository is not None:
        await _take_repository(place, environ, stock, found, whole=not run)
    await _take_checkpoints(place, stock, found, run)
    found.stays += linked(place, run)
    for one in runs:
        found.items += await asyncio.to_thread(list, record_items(place, one))
    if not run:
        _take_shared(place, environ, stock, found)
    stock.inventory = Inventory(
        name=stock.inventory.name,
        run=run,
        items=tuple(found.items),
        stays=tuple(found.stays),
        blocked=tuple(found.blocked),
        live=holder.run if holder is not None else "",
    )
    return stock


async def _traced(place: Project, environ: Mapping[str, str]) -> set[str]:
    """Return every run with a trace here, without the runs of the repository's other worktrees."""
    found: set[str] = set()
    if place.repository is not None:
        found |= {tree.run for tree in await own_trees(place.repository, trees_folder(place, environ))}
        found |= {run_of(name) for name in await own_references(place.repository)}
    return (found - _theirs(place) - {""}) | set(runs_in(place.home))


def _theirs(place: Project) -> set[str]:
    """Return the runs of the repository's other worktrees, which own what is named after them."""
    return {run for home in place.others for run in runs_in(home)}


def _take_live(place: Project, stock: Stock, found: _Found, run: str) -> None:
    holder = stock.holder
    if holder is None:
        return
    if run and holder.run != run:
        found.blocked.append(f"{holder.run or 'something else'} is at work in this project (process {holder.pid})")
        return
    if holder.host:
        found.blocked.append(f"run {holder.run} is live on {holder.host}: end it there")
        return
    if holder.run not in stock.runs:
        found.blocked.append(f"{holder.run or 'something else'} is under way (process {holder.pid}): wait for it")
        return
    state = state_if_any(place.runs / holder.run)
    if state is None or state.run.kind == "embedded":
        said = f"process {holder.pid} works on run {holder.run} and is a program of yours: end it first"
        found.blocked.append(said)
        return
    name = f"{describe((holder.pid, holder.started))} (the supervisor of run {holder.run})"
    found.items.append(Item(kind="processes", name=name, run=holder.run))


async def _take_repository(
    place: Project, environ: Mapping[str, str], stock: Stock, found: _Found, *, whole: bool
) -> None:
    assert place.repository is not None
    repo, folder = place.repository, trees_folder(place, environ)
    every = await own_trees(repo, folder)
    runs = set(stock.runs) - _theirs(place)
    stock.trees = tuple(tree for tree in every if tree.run in runs or (whole and not tree.run))
    heads = await users_heads(repo, [tree.path for tree in every])
    ours = await asyncio.to_thread(_pids, stock)
    for tree in stock.trees:
        found.items.append(
            Item(
                kind="worktrees",
                name=one_line(str(tree.ours), 400),
                run=tree.run,
                size=await asyncio.to_thread(size_of, tree.ours),
                holds=await held_by(repo, tree, heads),
            )
        )
        for pid, where in await asyncio.to_thread(working_in, tree.ours):
            if pid not in ours:
                found.blocked.append(
                    f"process {describe((pid, 0.0))} works in {one_line(str(where), 400)}: end it first"
                )
    references = await own_references(repo)
    stock.references = tuple(name for name in references if run_of(name) in runs)
    async for item in _branches(place, stock, references, heads):
        found.items.append(item)
    for path, head in heads.items():
        if head in stock.references:
            branch = head.removeprefix("refs/heads/")
            found.blocked.append(f"{branch} is checked out in {one_line(path, 400)}: check out another branch there")
    pinned = {name.rpartition("/")[2] for name in references if name.startswith("refs/unstuck/pins/")}
    if whole and (pins := pinned - await other_bases(place.home, repo)):
        found.items.append(Item(kind="checkpoints", name="refs/unstuck/pins", count=len(pins)))


async def _branches(
    place: Project, stock: Stock, references: Mapping[str, str], heads: Mapping[str, str]
) -> AsyncIterator[Item]:
    assert place.repository is not None
    for name in stock.references:
        holds = ""
        if name.startswith("refs/heads/") and (
            count := await commits_only_in(place.repository, references[name], heads)
        ):
            holds = f"{count} commit{'s' if count > 1 else ''} on no branch of yours"
        yield Item(kind="branches", name=name.removeprefix("refs/heads/"), run=run_of(name), holds=holds)


def _pids(stock: Stock) -> set[int]:
    """Return the ids of this process and of all that end with the supervisor and the attempts."""
    roots = [identity[0] for identity in stock.processes]
    if stock.holder is not None and not stock.holder.host:
        roots.append(stock.holder.pid)
    return {os.getpid(), *tree_of(roots)}


async def _take_checkpoints(place: Project, stock: Stock, found: _Found, run: str) -> None:
    folder = place.home / "checkpoints"
    store = ObjectStore(place.home, place.repository)
    known = await Catalogue(store).all()
    mine = [checkpoint for checkpoint in known if not run or checkpoint.run == run]
    if run:
        needed = await asyncio.to_thread(_needed_by_others, place, run)
        kept = [checkpoint for checkpoint in mine if checkpoint.id in needed]
        found.stays += [Stays(name=one.id, reason=f"run {needed[one.id]} may go back to it") for one in kept]
        mine = [checkpoint for checkpoint in mine if checkpoint.id not in needed]
    stock.checkpoints = tuple(checkpoint.id for checkpoint in mine)
    undoes = dict(_undoes(store, {tree.path for tree in stock.trees}))
    undoes = {one.id: undoes[one.id] for one in mine if one.id in undoes and one.run == BY_HAND}
    plain = [checkpoint for checkpoint in mine if checkpoint.id not in undoes]
    if run and plain:
        size = sum(checkpoint.size for checkpoint in plain)
        found.items.append(Item(kind="checkpoints", name=_named(plain), run=run, count=len(plain), size=size))
    elif not run and (os.path.lexists(folder) or os.path.lexists(folder.with_name(f"{LEAVING}checkpoints"))):
        size = await asyncio.to_thread(size_of, folder)
        found.items.append(Item(kind="checkpoints", name="checkpoints", count=len(plain), size=size))
    for id, tree in undoes.items():
        holds = f"what your last restore in {one_line(tree, 300)} replaced; it could still be undone"
        found.items.append(Item(kind="checkpoints", name=id, run=BY_HAND, holds=holds))


def _named(checkpoints: Collection[Checkpoint]) -> str:
    ids = [checkpoint.id for checkpoint in checkpoints]
    return ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"


def _needed_by_others(place: Project, run: str) -> dict[str, str]:
    """Return the checkpoints that other runs may restore, each with such a run."""
    needed: dict[str, str] = {}
    for other in runs_in(place.home):
        state = state_if_any(place.runs / other) if other != run else None
        if state is not None:
            needed |= dict.fromkeys(checkpoints_of(state), other)
    return needed


def _undoes(store: ObjectStore, own: Collection[Path]) -> Iterator[tuple[str, str]]:
    """Yield the checkpoint that undoes the last restore of each of the user's trees, and the tree."""
    for folder in store.trees():
        last = read_last(folder)
        said = folder / "gitdir"
        tree = read_text(said).rstrip("\n").removesuffix("/.git") if said.is_file() else ""
        if last is not None and tree and Path(tree).is_dir() and Path(tree) not in own:
            yield last.safety, tree


def _take_shared(place: Project, environ: Mapping[str, str], stock: Stock, found: _Found) -> None:
    """Add the items that belong to no single run."""
    found.items += kept_items(place)
    found.stays += strangers(place)
    found.items += [Item(kind="socket", name=str(path)) for path in sockets_of(place, environ)]
    if (path := unwatched_file(place.home, environ)) is not None:
        found.items.append(Item(kind="logs", name=str(path), size=path.lstat().st_size))
    if (listing := listing_of(place.home, state_dir(environ))).exists():
        found.items.append(Item(kind="state", name=str(listing), size=listing.stat().st_size))
    hooks = _take_entries(place, environ, found, HOOKED, "hooks", "hooks of all your projects: unstuck hooks remove")
    servers = _take_entries(
        place, environ, found, CALLING, "servers", "the server for all your projects: unstuck mcp remove"
    )
    stock.entries = (*hooks, *servers)


def _take_entries(
    place: Project,
    environ: Mapping[str, str],
    found: _Found,
    agents: Mapping[str, ConfiguredAgent],
    kind: Literal["hooks", "servers"],
    stays: str,
) -> Iterator[SettingsFile[ConfiguredAgent]]:
    """Yield the settings files of the project with entries of unstuck; ``stays`` says why those of the home stay."""
    for file in settings_files(agents, place.root, environ):
        name = one_line(str(file.path), 400)
        if file.has_entries and file.scope == "project":
            found.items.append(Item(kind=kind, name=f"{file.agent.name} in {name}"))
            yield file
        elif file.has_entries:
            found.stays.append(Stays(name=name, reason=f"{stays} {file.agent.name}"))
        elif file.state == "unreadable" and file.scope == "project" and _names(file.path, file.agent.PROGRAM):
            found.blocked.append(f"{file.path} names {file.agent.PROGRAM} and cannot be edited: {file.problem}")


def _names(path: Path, name: str) -> bool:
    try:
        return name.encode() in read_bytes(path)
    except OSError:
        return False
