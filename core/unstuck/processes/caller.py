"""Signs that a caller descends from an agent: its ancestors, their environment, and helpers that were killed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

import psutil

from unstuck.eventlog.storage.process_identity import TOLERANCE, Identity, find
from unstuck.processes.orphans import is_shim, tag_of
from unstuck.processes.shim.process_table import TAG
from unstuck.processes.shim_launcher import killed, running


def agent_sign(pid: int, agents: Iterable[Identity] = (), unwatched: Iterable[tuple[float, float]] = ()) -> str:
    """Return the sign by which process ``pid`` descends from an agent; empty if there is none.

    ``agents`` are those of the run: process id and start. An orphan of a killed helper began while that helper lived,
    and its parent is now the process that takes in orphans; ``unwatched`` are start and end of those that were killed
    beside other supervisors. A missing terminal is no sign: cron has none either.
    """
    known = tuple(agents)
    try:
        process = psutil.Process(pid)
        chain = [process, *process.parents()]
    except psutil.Error:
        return ""
    if not (running() | _helpers_of(known)).isdisjoint(ancestor.pid for ancestor in chain[1:]):
        return "an agent or a check has started it"
    tags = {tag_of(number, start) for number, start in known}
    for ancestor in chain:
        with suppress(psutil.Error, OSError):
            began = ancestor.create_time()
            if any(ancestor.pid == number and abs(began - start) < TOLERANCE for number, start in known):
                return "an agent has started it"
        with suppress(psutil.Error, OSError):
            if ancestor.environ().get(TAG) in tags:
                return "it carries the mark of an agent"
    return "it began beside an agent whose helper was killed" if _is_stray(chain, (*killed(), *unwatched)) else ""


def callers(client: int, server: int) -> list[int] | None:
    """Return the processes of this machine that hold the ``client`` port of a TCP connection to the ``server`` port.

    Empty for one of another user; None where there is none: it has gone, or is on another machine.
    """
    with suppress(psutil.Error, OSError):
        found = psutil.net_connections("tcp")
        ours = [
            one for one in found if one.laddr and one.laddr.port == client and one.status == psutil.CONN_ESTABLISHED
        ]
        held = [one.pid for one in ours if one.raddr and one.raddr.port == server]
        return [pid for pid in held if pid] if held else None
    return []


def mark_of(pid: int) -> str:
    """Return the sign that an agent or a check of any run has started process ``pid``; empty without.

    Marks and helpers that this process shares are none: it may be at work within another run.
    """
    with suppress(psutil.Error):
        process, ours = psutil.Process(pid), psutil.Process().parents()
        for ancestor in (process, *process.parents()):
            with suppress(psutil.Error, OSError):
                if (ancestor not in ours and is_shim(ancestor)) or _is_tagged(ancestor):
                    return "an agent or a check has started it"
    return ""


def _is_tagged(process: psutil.Process) -> bool:
    return process.environ().get(TAG) not in (None, os.environ.get(TAG))


def _helpers_of(agents: Iterable[Identity]) -> set[int]:
    """Return the process ids of the agents' helpers, which take in what the agents leave behind."""
    found = set()
    for agent in filter(None, (find(*one) for one in agents)):
        with suppress(psutil.Error):
            if (helper := agent.parent()) is not None and is_shim(helper):
                found.add(helper.pid)
    return found


def _is_stray(chain: list[psutil.Process], lives: tuple[tuple[float, float], ...]) -> bool:
    if not lives:
        return False
    reaper = _reaper()
    with suppress(psutil.Error):
        eldest = next((child for child, parent in pairwise(chain) if parent.pid == reaper), None)
        if eldest is not None:
            began = eldest.create_time()
            return any(start - TOLERANCE <= began <= end + TOLERANCE for start, end in lives)
    return False


def _reaper() -> int:
    """Return the process that takes in orphans of this one, which only an orphan shows."""
    made = subprocess.run(["sh", "-c", "sleep 5 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE, check=False)
    with suppress(psutil.Error, ValueError):
        orphan = psutil.Process(int(made.stdout))
        if orphan.ppid() != os.getpid():
            reaper = orphan.ppid()
            orphan.kill()
            return reaper
        orphan.kill()
    return 1
