"""What a process and everything below it have used so far: processor time and bytes read and written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from unstuck.processes.orphans import family_of, find, is_shim

__all__ = ["Vitals", "sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """One look at a family of processes.

    ``cpu`` is in seconds, with that of children who have ended; ``moved`` holds the bytes each living process has read
    and written, and is None where the platform does not say. ``stopped``: somebody has stopped all of them (SIGSTOP).
    ``peers`` are the other ends of their open TCP connections, as ``address:port``; one between themselves is none.
    """

    cpu: float
    moved: Mapping[int, int] | None = field(default_factory=dict)
    alive: int = 0
    stopped: bool = False
    peers: tuple[str, ...] = ()


def sample(pid: int, start: float) -> Vitals | None:
    """Look at the process that started at ``start`` (seconds since 1970) and at its descendants.

    None where they are gone or may not be looked at.
    """
    try:
        agent = find(pid, start)
        # The agent itself may have gone from what has outlived its supervisor.
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
        cpu=cpu, moved=moved if known else None, alive=len(states), stopped=_stand_still(states), peers=_peers(family)
    )


def _peers(family: list[psutil.Process]) -> tuple[str, ...]:
    """Whom they are connected with; a connection whose other end is theirs, too, leads to nobody."""
    ends: dict[tuple[str, int], tuple[str, int]] = {}
    for process in family:
        with suppress(psutil.Error):
            for found in process.net_connections(kind="tcp"):
                if found.status == psutil.CONN_ESTABLISHED and found.raddr:
                    ends[found.laddr.ip, found.laddr.port] = found.raddr.ip, found.raddr.port
    return tuple(sorted({f"{ip}:{port}" for ip, port in ends.values() if (ip, port) not in ends}))


def _stand_still(states: list[str]) -> bool:
    """Whether somebody has stopped them all; a parent whose new child was stopped before its exec waits for it."""
    stopped = {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}
    return bool(stopped & set(states)) and set(states) <= stopped | {psutil.STATUS_DISK_SLEEP}


def _family(agent: psutil.Process) -> tuple[list[psutil.Process], float]:
    """The agent and all that descends from it, orphans included, and the seconds of those who ended as orphans."""
    parent = agent.parent()
    if parent is None or not is_shim(parent):
        return [agent, *agent.children(recursive=True)], 0.0
    times = parent.cpu_times()
    return parent.children(recursive=True), times.children_user + times.children_system
