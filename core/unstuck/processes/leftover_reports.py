"""Leftovers of a killed supervisor: reports of shims that ended after it, and agents still at work."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from unstuck.clock.process_exit import until_over
from unstuck.contract import Receipt
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck.eventlog.storage.process_identity import Identity, find
from unstuck.processes.orphans import end_survivors, family_of, is_over, is_shim
from unstuck.processes.shim.agent_process import ACCOUNT

_HELPERS_S = 6.0  # a helper without a supervisor needs less
_PAUSE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Seconds that the agent ran, and the processes that its shim ended."""

    seconds: float
    receipt: Receipt


def account_of(output: Path) -> Account | None:
    """Return the last report of a shim without a supervisor, left beside ``output``; None without one."""
    try:
        report: dict[str, Any] = json.loads(_read(output.with_name(output.name + ACCOUNT)))
        ended = tuple((int(pid), float(start), str(how)) for pid, start, how in report["ended"])
        alive = tuple((int(pid), float(start)) for pid, start in report["alive"])
        return Account(seconds=float(report["exited"]["seconds"]), receipt=Receipt(ended=ended, alive=alive))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read(file: Path) -> bytes:
    with open_for_reading(file) as opened:
        return opened.read()


async def helpers_done(identities: Iterable[Identity]) -> None:
    """Wait for the shims of these agents: each ends its agent once its supervisor is gone."""
    family = await asyncio.to_thread(family_of, frozenset(identities))
    limit = time.monotonic() + _HELPERS_S
    for helper in family:
        with suppress(psutil.Error):
            if not is_shim(helper):
                continue
            helper.send_signal(signal.SIGCONT)  # a suspended shim cannot see the end of its supervisor
            await until_over(helper.pid, partial(is_over, helper), max(0.0, limit - time.monotonic()))


class Remains:
    """Processes of one agent whose supervisor and shim are gone."""

    def __init__(self, pid: int, start: float) -> None:
        self._identity = frozenset({(pid, start)})

    def family(self) -> set[psutil.Process]:
        """Return its live processes: the agent, its session, its descendants, and those with its tag."""
        return {process for process in family_of(self._identity) if not is_shim(process)}

    def identities(self) -> tuple[Identity, ...]:
        """Return the identities of its live processes, oldest first."""
        found = [(process.pid, process.create_time()) for process in self.family()]
        return tuple(sorted(found, key=lambda identity: identity[::-1]))

    @staticmethod
    def described(pid: int, start: float) -> tuple[str, str]:
        """Return the name and the command of a process; empty where they cannot be read."""
        process = find(pid, start)
        with suppress(psutil.Error, OSError):
            return (process.name(), shlex.join(process.cmdline())) if process is not None else ("", "")
        return "", ""

    async def over(self) -> None:
        """Wait for the end of all its processes. Their exit codes are unknown: only a parent gets them."""
        while family := await asyncio.to_thread(self.family):
            for process in family:
                await until_over(process.pid, partial(is_over, process), pause=_PAUSE)

    def hold(self, freeze: bool) -> None:
        """Suspend all its processes, or continue them."""
        for _ in range(2):  # the second look finds what was forked during the first
            for process in self.family():
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGSTOP if freeze else signal.SIGCONT)

    async def end(self) -> Receipt:
        return await end_survivors(self._identity)
