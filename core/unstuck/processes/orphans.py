"""Processes that outlived their supervisor, known by process id and start time and never by process id alone."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

import psutil

from unstuck.clock.process_exit import until_over
from unstuck.contract import Receipt
from unstuck.processes.shim.process_table import TAG
from unstuck.processes.shim_launcher import SHIM, running

__all__ = ["Identity", "end_survivors", "find", "is_alive", "is_ours", "is_shim", "tag_of"]

Identity = tuple[int, float]

_TOLERANCE = 0.05  # seconds; start times are read in ticks of 0.01
_RUNGS = ((signal.SIGTERM, 2.0, "terminated"), (signal.SIGKILL, 3.0, "killed"))


def tag_of(pid: int, start: float) -> str:
    """What an agent and all it starts carry in their environment: it outlives the agent, and a change of the clock."""
    return f"{pid}:{start:.2f}"


def is_alive(pid: int, start: float) -> bool:
    """Whether the very process that started at ``start`` (seconds since 1970) still runs; a zombie does not."""
    return find(pid, start) is not None


def is_ours(pid: int) -> bool:
    """Whether ``pid`` belongs to what this very process has started: an agent, a check, or anything of theirs."""
    try:
        return not running().isdisjoint(parent.pid for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


async def end_survivors(identities: Iterable[Identity]) -> Receipt:
    """End what is left of agents whose run is dead: them, their sessions, their descendants, and their shims.

    Never call it for an agent whose run is alive. A process that has one of the ids but another start time is not
    touched. Returns when all are dead, or after 5 s with those in ``alive`` that would not end.
    """
    wanted = frozenset(identities)
    if not wanted:
        return Receipt()
    known: dict[psutil.Process, str] = {}
    ended: list[tuple[int, float, str]] = []
    for number, patience, how in _RUNGS:
        family = await _family_now(wanted, known, ended)
        limit = time.monotonic() + patience  # theirs alone: with many processes the look takes long, too
        while family and time.monotonic() < limit:
            for process in family - {process for process, last in known.items() if last == how}:
                _send(process, number)
            known |= dict.fromkeys(family, how)
            await _all_over(family, limit)
            # Also who was forked meanwhile; whoever stays deaf is waited for until the next signal.
            family = await _family_now(wanted, known, ended)
    await _family_now(wanted, known, ended)
    return Receipt(ended=tuple(ended), alive=tuple((process.pid, process.create_time()) for process in known))


async def _family_now(
    identities: frozenset[Identity], known: dict[psutil.Process, str], ended: list[tuple[int, float, str]]
) -> set[psutil.Process]:
    """Who is there now; whoever was known and is not there any more has ended by its last signal."""
    family = await asyncio.to_thread(family_of, identities, tuple(known))
    for process in known.keys() - family:
        ended.append((process.pid, process.create_time(), known.pop(process)))
    return family


async def _all_over(processes: Iterable[psutil.Process], limit: float) -> None:
    """Until all of them have ended, at most until the monotonic moment ``limit``."""
    for process in processes:
        await until_over(process.pid, partial(is_over, process), max(0.0, limit - time.monotonic()))


def find(pid: int, start: float) -> psutil.Process | None:
    """The very process that started at ``start``, unless it has gone or is a zombie."""
    try:
        process = psutil.Process(pid)
        if abs(process.create_time() - start) < _TOLERANCE and process.status() != psutil.STATUS_ZOMBIE:
            return process
    except psutil.Error:
        pass
    return None


def family_of(identities: frozenset[Identity], known: Iterable[psutil.Process] = ()) -> set[psutil.Process]:
    """All living processes that belong to one of the agents, ourselves never among them.

    ``known`` have been seen to belong to them; nothing else may lead to one whose parent has ended meanwhile.
    """
    tags = {tag_of(pid, start) for pid, start in identities}
    roots = {process for pid, start in identities if (process := find(pid, start))}
    sessions = {process.pid for process in roots}
    found = {*roots, *known}
    for process in psutil.process_iter():
        if _session(process) in sessions or _tag(process) in tags:
            found.add(process)
    for process in tuple(found):
        with suppress(psutil.Error):
            found.update(process.children(recursive=True))
            found.update(parent for parent in [process.parent()] if parent and is_shim(parent))
    return {process for process in found if process.pid != os.getpid() and not is_over(process)}


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return 0


def _tag(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(TAG)
    except (psutil.Error, OSError):
        return None


def is_shim(process: psutil.Process) -> bool:
    """Whether this is the small process that stands between an agent and us; one that has just ended is none."""
    try:
        return str(SHIM) in process.cmdline()
    except psutil.Error:
        return False


def is_over(process: psutil.Process) -> bool:
    """Whether it has ended; whoever has its number by now is somebody else, and a zombie does nothing any more."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def _send(process: psutil.Process, number: signal.Signals) -> None:
    """Signal a process, and wake it if it is frozen; psutil refuses where the id belongs to somebody else by now."""
    with suppress(psutil.Error):
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
