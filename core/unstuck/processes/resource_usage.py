"""Resource usage of a process and its descendants: processor time, and bytes read and written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from unstuck.eventlog.storage.process_identity import find
from unstuck.processes.orphans import family_of, is_shim


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Sample of a family of processes.

    ``cpu`` is in seconds and includes children that have ended. ``moved`` has the bytes that each live process read and
    wrote; None where the platform does not count them. ``stopped``: all are suspended (SIGSTOP). ``peers`` are the
    remote ends of open TCP connections as ``address:port``, without connections inside the family.
    """

    cpu: float
    moved: Mapping[int, int] | None = field(default_factory=dict)
    alive: int = 0
    stopped: bool = False
    peers: tuple[str, ...] = ()


def sample(pid: int, start: float) -> Vitals | None:
    """Return a sample of the process that started at ``start`` (seconds since 1970) and of its descendants.

    None where they have ended or cannot be read.
    """
    try:
        agent = find(pid, start)
        # Of an orphan, the agent itself may have ended.
        family, cpu = _family(agent) if agent else (list(family_of(frozenset({(pid, start)}))), 0.0)
    except psutil.Error:
        return None
    if not family:
        return None
    moved: dict[int, int] = {}
    known, states = True, list[str]()
    for process in family:
        try:
            with process.oneshot():
                state = process.status()
                if state == psutil.STATUS_ZOMBIE:
                    continue
                states.append(state)
                cpu += sum(process.cpu_times()[:4])
            counters = process.io_counters()
            moved[process.pid] = counters.read_chars + counters.write_chars
        except AttributeError:
            known = False
        except psutil.Error:
            continue
    return Vitals(
        cpu=cpu, moved=moved if known else None, alive=len(states), stopped=_are_suspended(states), peers=_peers(family)
    )


def _peers(family: list[psutil.Process]) -> tuple[str, ...]:
    """Return the remote ends of their connections, without connections inside the family."""
    ends: dict[tuple[str, int], tuple[str, int]] = {}
    for process in family:
        with suppress(psutil.Error):
            for found in process.net_connections(kind="tcp"):
                if found.status == psutil.CONN_ESTABLISHED and found.raddr:
                    ends[found.laddr.ip, found.laddr.port] = found.raddr.ip, found.raddr.port
    return tuple(sorted({f"{ip}:{port}" for ip, port in ends.values() if (ip, port) not in ends}))


def _are_suspended(states: list[str]) -> bool:
    """Return whether all are suspended; a parent may wait on disk for a child suspended before its exec."""
    stopped = {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}
    return bool(stopped & set(states)) and set(states) <= stopped | {psutil.STATUS_DISK_SLEEP}


def _family(agent: psutil.Process) -> tuple[list[psutil.Process], float]:
    """Return the agent with its descendants, orphans included, and the seconds of orphans that have ended."""
    parent = agent.parent()
    if parent is None or not is_shim(parent):
        return [agent, *agent.children(recursive=True)], 0.0
    times = parent.cpu_times()
    return parent.children(recursive=True), times.children_user + times.children_system
