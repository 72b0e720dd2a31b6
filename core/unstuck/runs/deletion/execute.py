"""Execution of a deletion. Every step is idempotent; the event log goes last, because it leads to the rest.

Run again after a kill, it continues. The user's files, index, branches, stash, configuration and reflogs stay byte for
byte as they are.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from unstuck.agents.config.settings_files import removal
from unstuck.agents.hooks.unsupervised_log import unwatched_file
from unstuck.contract import Receipt
from unstuck.errors import RecordError, UnstuckError, UsageError
from unstuck.eventlog import events as e
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.eventlog.storage.lock import RUN_LOCK, WATCH_LOCK, Holder, ProjectLock
from unstuck.eventlog.storage.project_list import forget_home
from unstuck.processes import TAG, end_survivors, helpers_done, lives, until_over
from unstuck.runs.deletion.inventory import Inventory
from unstuck.runs.deletion.plan import Stock, sockets_of, take_stock, trees_folder
from unstuck.runs.deletion.project_files import Identity, folders_of, home_files, memory_files
from unstuck.runs.deletion.verify import leftovers
from unstuck.settings.paths import state_dir
from unstuck.workspace.git.repository import SHARED, project_home
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.cleanup import (
    drop_checkpoints,
    drop_half_gone,
    drop_references,
    drop_tree,
    erase,
    erase_checkpoints,
)

_PATIENCE_S = 30.0
_RECEIPTS = Wanted(types=frozenset({"stop_receipt"}))


async def end_supervisor(holder: Holder, folder: Path) -> Receipt:
    """End the supervisor of the run in ``folder``: by SIGTERM, or by SIGKILL after 30 s. Raises UnstuckError.

    The stop report has the processes of its agents, and the supervisor itself.
    """
    before = len(_receipts(folder))
    how = await _ended(holder)
    ended = [process for receipt in _receipts(folder)[before:] for process in receipt.ended]
    return Receipt(ended=(*ended, (holder.pid, holder.started, how)))


async def _ended(holder: Holder) -> str:
    """End the supervisor; return how it ended."""
    for number, how in ((signal.SIGTERM, "terminated"), (signal.SIGKILL, "killed")):
        with suppress(ProcessLookupError):
            os.kill(holder.pid, number)
        if await until_over(holder.pid, lambda: not lives(holder.pid, holder.started), _PATIENCE_S):
            return how
    raise UnstuckError(f"process {holder.pid}, which works on run {holder.run}, does not end")


async def end_processes(identities: Collection[Identity]) -> Receipt:
    """End orphans, agents without a supervisor. Raises UnstuckError where one does not end."""
    if not identities:
        return Receipt()
    await helpers_done(identities)
    receipt = await end_survivors(identities)
    alive = [f"{pid}" for pid, start in {*receipt.alive, *identities} if lives(pid, start)]
    if alive:
        raise UnstuckError(f"would not end: process {', '.join(alive)}; nothing was deleted")
    return receipt


def _receipts(folder: Path) -> list[e.StopReceipt]:
    """Return the stop reports of an event log, up to its damage if it has any."""
    found: list[e.StopReceipt] = []
    with suppress(RecordError):
        for record in RunReader(folder).records(_RECEIPTS):
            if isinstance(record.event, e.StopReceipt):
                found.append(record.event)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroyed:
    """Result of a deletion: the inventory, the stop report, and leftovers that the search found."""

    inventory: Inventory
    receipt: Receipt
    left: tuple[str, ...]


def refuse(inventory: Inventory, environ: Mapping[str, str], *, lose: bool) -> None:
    """Raise UsageError where a deletion is refused; ``lose`` agrees to lose work that exists nowhere else."""
    if environ.get(TAG):
        raise UsageError("an agent may not delete: this is for a person")
    if inventory.blocked:
        raise UsageError(f"nothing was deleted: {'; '.join(inventory.blocked)}")
    if inventory.holding and not lose:
        first, count = inventory.holding[0], len(inventory.holding)
        held = f"{first.name}: {first.holds}" + (f"; and {count - 1} more" if count > 1 else "")
        raise UsageError(f"nothing was deleted: --lose-work is needed for what exists nowhere else: {held}")


async def destroy(place: Project, environ: Mapping[str, str], agreed: Inventory, *, lose: bool = False) -> Destroyed:
    """Delete the items of ``agreed``, after a new inventory under the project's lock.

    Raises UsageError, with nothing deleted, where that inventory has work that was not agreed to. Raises ProjectLocked
    where another process works here, and UnstuckError where a process cannot be ended or inspected.
    """
    refuse(agreed, environ, lose=lose)
    stock = await take_stock(place, environ, agreed.run)
    refuse(stock.inventory, environ, lose=lose)
    stopped = Receipt()
    if stock.holder is not None and stock.inventory.live in stock.runs:
        stopped = await end_supervisor(stock.holder, place.runs / stock.holder.run)
    project_home(place.root, place.repository, links=True)  # which are removed, and what they lead to stays
    with ExitStack() as locks:
        for name in (RUN_LOCK, WATCH_LOCK):
            locks.enter_context(ProjectLock(place.home / name, run="delete"))
        ended = await end_processes(stock.processes)
        stock = await take_stock(place, environ, agreed.run, locked=True)
        _refuse_news(agreed, stock.inventory)
        await _delete(place, environ, stock)
    left = await leftovers(place, environ, agreed.run, agreed.stays)
    receipt = Receipt(ended=(*stopped.ended, *ended.ended))
    return Destroyed(inventory=agreed, receipt=receipt, left=left)


def _refuse_news(agreed: Inventory, now: Inventory) -> None:
    """Raise UsageError where ``now`` would lose work that is not in ``agreed``."""
    known = {(item.kind, item.name) for item in agreed.holding}
    news = [f"{item.name}: {item.holds}" for item in now.holding if (item.kind, item.name) not in known]
    if news or now.blocked:
        raise UsageError(f"nothing was deleted, because this is new: {'; '.join([*news, *now.blocked])}")


async def _delete(place: Project, environ: Mapping[str, str], stock: Stock) -> None:
    for file in stock.entries:
        removal(file.agent, file.scope, root=place.root, environ=environ).apply()
    folder = trees_folder(place, environ)
    if place.repository is not None:
        for tree in stock.trees:
            await drop_tree(place.repository, tree, folder)
        await drop_references(place.repository, stock.references)
        await drop_half_gone(place.repository)
    _leave_folders(folder, stock)
    whole = not stock.inventory.run
    if whole:
        await erase_checkpoints(place.home, place.repository)
        await _delete_socket(place, environ)
        for memory in memory_files(place):
            memory.unlink()
        _leave_list(place, environ)
    else:
        await drop_checkpoints(place.home, place.repository, stock.checkpoints)
    for run in stock.runs:
        for path in folders_of(place, run):
            await asyncio.to_thread(erase, path)
    if whole:
        _leave_home(place)


def _leave_folders(folder: Path, stock: Stock) -> None:
    """Remove the empty folders around the worktrees, also those from before a move of the project."""
    state = folder.parent.parent
    before = [tree.path.parent for tree in stock.trees if tree.path.parent.parent.parent == folder.parent]
    around = dict.fromkeys(one for run in before for one in (run, run.parent))
    for place in (*around, *(folder / run for run in stock.runs), folder, folder.parent):
        with suppress(OSError):
            place.rmdir()
    _leave_state(state)


def _leave_state(state: Path) -> None:
    if state.name == "unstuck":  # another folder was made by the user
        with suppress(OSError):
            state.rmdir()


def _leave_list(place: Project, environ: Mapping[str, str]) -> None:
    """Remove the project from the list of projects, and the folder around an empty list."""
    state = state_dir(environ)
    forget_home(place.home, state)
    _leave_state(state)


async def _delete_socket(place: Project, environ: Mapping[str, str]) -> None:
    """Delete the sockets, which have no listener under the locks, and the logs that hooks keep beside them."""
    while (kept := unwatched_file(place.home, environ)) is not None:
        kept.unlink(missing_ok=True)
    for path in sockets_of(place, environ):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise UnstuckError(f"{path} is in the place of our socket and is none: remove it yourself")
        path.unlink(missing_ok=True)


def _leave_home(place: Project) -> None:
    """Remove the project's home, the lock last; other files in it keep it."""
    for name in home_files(place):
        (place.home / name).unlink(missing_ok=True)
    for folder in (place.runs, place.home / "worktrees", place.home):
        if folder.is_symlink() and folder.is_dir() and not any(folder.iterdir()):
            folder.unlink()  # unstuck did not make the target of the link
        with suppress(OSError):
            folder.rmdir()
    if place.repository is not None and place.home.parent.name == "worktrees":
        for name in () if place.others else SHARED:
            (place.home.parent.parent / name).unlink(missing_ok=True)
        for folder in (place.home.parent, place.home.parent.parent):
            with suppress(OSError):
                folder.rmdir()
