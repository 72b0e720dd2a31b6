"""Orphans: processes that outlived their supervisor, identified by process id and start time."""

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
from unstuck.eventlog.storage.process_identity import Identity, find
from unstuck.processes.shim.process_table import TAG
from unstuck.processes.shim_launcher import SHIM

_RUNGS = ((signal.SIGTERM, 2.0, "terminated"), (signal.SIGKILL, 3.0, "killed"))


def tag_of(pid: int, start: float) -> str:
    """Return the tag that an agent and its children carry in their environment."""
    return f"{pid}:{start:.2f}"


async def end_survivors(identities: Iterable[Identity]) -> Receipt:
    """End orphaned agents, their sessions, their descendants, and their shims.

    Never call it for an agent whose run is alive. A process with one of the ids but another start time is not touched.
    Returns when all are dead, or after 5 s with the remaining ones in ``alive``.
    """
    wanted = frozenset(identities)
    if not wanted:
        return Receipt()
    known: dict[psutil.Process, str] = {}
    ended: list[tuple[int, float, str]] = []
    for number, patience, how in _RUNGS:
        family = await _family_now(wanted, known, ended)
        limit = time.monotonic() + patience  # after the look, which takes long with many processes
        while family and time.monotonic() < limit:
            for process in family - {process for process, last in known.items() if last == how}:
                _send(process, number)
            known |= dict.fromkeys(family, how)
            for process in family:
                await until_over(process.pid, partial(is_over, process), max(0.0, limit - time.monotonic()))
            # This finds new forks, too; processes that ignore the signal get the next one.
            family = await _family_now(wanted, known, ended)
    await _family_now(wanted, known, ended)
    return Receipt(ended=tuple(ended), alive=tuple((process.pid, process.create_time()) for process in known))


async def _family_now(
    identities: frozenset[Identity], known: dict[psutil.Process, str], ended: list[tuple[int, float, str]]
) -> set[psutil.Process]:
    """Return the live processes; known ones that are gone are added to ``ended`` with their last signal."""
    family = await asyncio.to_thread(family_of, identities, tuple(known))
    for process in known.keys() - family:
        ended.append((process.pid, process.create_time(), known.pop(process)))
    return family


def family_of(identities: frozenset[Identity], known: Iterable[psutil.Process] = ()) -> set[psutil.Process]:
    """Return all live processes of the agents, never this process.

    ``known`` belonged to them at an earlier look: one whose parent has ended may not be found again.
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
    """Return whether this is a shim; one that has just ended is none."""
    try:
        return str(SHIM) in process.cmdline()
    except psutil.Error:
        return False


def is_over(process: psutil.Process) -> bool:
    """Return whether the process has ended; a zombie has, and a reused id is another process."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def _send(process: psutil.Process, number: signal.Signals) -> None:
    """Signal a process, and continue a suspended one; psutil refuses a reused id."""
    with suppress(psutil.Error):
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
