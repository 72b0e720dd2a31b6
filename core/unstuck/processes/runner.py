"""Process behind a shim, owned from asyncio.

Call ``stop()`` of a :class:`Process` in a ``finally``: cancelling a task that awaits ``wait()`` leaves the process
running. Cancelling ``start()`` ends it. The shim ends the process when the owner dies.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from unstuck.clock import Clock
from unstuck.clock.process_exit import until_over
from unstuck.clock.waits import first_of
from unstuck.contract import Receipt
from unstuck.errors import AgentNotFound, system_failure
from unstuck.eventlog.storage.process_identity import is_alive
from unstuck.processes.orphans import end_survivors, tag_of
from unstuck.processes.shim_client import Connection
from unstuck.text import known_values

_WAKE_EVERY = 1.0  # seconds
_MARGIN = 10.0  # seconds beyond the ladder after which a shim that does not answer is killed itself

Spawned = Callable[[int, float], Awaitable[None]]
Progress = Callable[[int, str], None]
Said = Callable[[str], None]
Heard = Callable[[bytes], None]

# From `git rev-parse --local-env-vars`, and the quarantine of hooks: inherited, they lead git to another repository.
_DROPPED = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
        "PYTEST_CURRENT_TEST",
        "PYTEST_VERSION",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
    }
)
_DROPPED_PREFIXES = ("UNSTUCK_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_KEPT = ("UNSTUCK_SLOT", "UNSTUCK_PORT", "UNSTUCK_PORTS")
"""Numbers that keep the services of approaches at the same time apart, also below an agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Program to run. ``environment`` is complete: nothing is inherited.

    ``output`` gets standard output and error, merged, raw but for the secrets that are known or can be recognised, at
    most ``limit`` bytes of it (the first and the last half); ``stdin`` is a file to read, without one the process reads
    end-of-file at once. With ``objects`` the process speaks to us in JSON, an object a line. One that ``talks`` reads
    what :meth:`Process.say` says, and its standard output also comes to us, whole and apart from its errors.
    """

    command: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    output: Path
    stdin: Path | None = None
    limit: int = 16 * 2**20
    objects: bool = False
    talks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """End of a process: ``code`` or ``signal``, neither where it did not end. ``bytes`` counts all output.

    ``receipt`` lists the process and everything it had left behind; ``start`` and ``end`` are the bytes of the output
    file that it wrote, ``lost`` says why some could not be kept.
    """

    code: int | None
    signal: int | None
    seconds: float
    bytes: int
    receipt: Receipt
    start: int = 0
    end: int = 0
    lost: str = ""


class Process:
    """A running process. Make one with :meth:`start`."""

    pid: int = 0
    start_time: float = 0.0

    def __init__(self, launch: Launch, shim: Connection) -> None:
        self._launch, self._shim = launch, shim
        self._bytes = 0

    @classmethod
    async def start(
        cls,
        launch: Launch,
        *,
        spawned: Spawned | None = None,
        progress: Progress | None = None,
        said: Said | None = None,
        heard: Heard | None = None,
    ) -> Process:
        """Start ``launch``; the program's first instruction runs after ``spawned(pid, start)`` has returned.

        ``progress(bytes, tail)`` is called at most five times a second with the count of bytes so far and the last 4 KB
        as text, unsanitised; ``said(line)`` with each line by which the process speaks to us (``UNSTUCK {...}``, at
        most 20 KB; where it speaks in JSON each object, at most 1 MiB), unsanitised too; ``heard(bytes)`` with each
        piece of what one that talks says, and with nothing at its end. Raises AgentNotFound when the program, its
        directory or its files do not work.
        """
        process = cls(launch, await Connection.open())
        try:
            await process._begin(spawned, progress, said, heard)
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(process._give_up()))
            raise
        return process

    async def wait(self) -> Exit:
        """Wait for the end of the process and of all it started. Any number of tasks may wait."""
        return await asyncio.shield(self._exit)

    async def stop(self, *, interrupt: float = 2.0, terminate: float = 3.0) -> Receipt:
        """End the process and all it started; returns when they are dead, with the receipt of its end.

        ``interrupt`` and ``terminate`` are the seconds after SIGINT and after SIGTERM before the next signal. May be
        called at any time and again; shorter times then win.
        """
        if not self._exit.done():
            self._shim.send({"stop": {"interrupt": interrupt, "terminate": terminate}})
            await asyncio.wait([self._exit], timeout=interrupt + terminate + _MARGIN)
            if not self._exit.done():
                self._shim.kill()
        return (await self.wait()).receipt

    def freeze(self) -> None:
        """Suspend the process and its descendants (SIGSTOP)."""
        self._shim.send({"freeze": True})

    def resume(self) -> None:
        """Continue them (SIGCONT)."""
        self._shim.send({"continue": True})

    def say(self, words: bytes) -> None:
        """Write ``words`` to the standard input of a process that talks; does nothing after its end."""
        self._shim.send({"say": words.decode("latin-1")})

    def hush(self) -> None:
        self._shim.send({"hush": True})

    async def _begin(
        self, spawned: Spawned | None, progress: Progress | None, said: Said | None, heard: Heard | None
    ) -> None:
        self._shim.send(_order(self._launch))
        report = await self._shim.next_report() or {"message": "its helper process ended"}
        self._require("spawned", report)
        self.pid = report["spawned"]
        self.start_time = report["start"] or psutil.Process(self.pid).create_time()
        if spawned is not None:
            await spawned(self.pid, self.start_time)
        self._began = time.monotonic()
        self._shim.send({"go": tag_of(self.pid, self.start_time)})
        # An agent may stop or kill its helper before that can say that it has started: it has.
        with suppress(TimeoutError):
            async with asyncio.timeout(_MARGIN):
                started = await self._shim.next_report()
            if started is not None:
                self._require("started", started)
        self._exit = asyncio.ensure_future(self._follow(progress, said, heard))

    def _require(self, name: str, report: dict[str, Any]) -> None:
        if name not in report:
            problem = f"cannot start {self._launch.command[0]}"
            number = getattr(errno, str(report.get("not_started")), 0)
            if (failure := system_failure(OSError(number, "", problem))) is not None:
                raise failure
            raise AgentNotFound(f"{problem}: {report.get('message', report)}")

    async def _give_up(self) -> None:
        """End the shim, and the orphans of a killed one."""
        await self._shim.close()
        if self.pid:
            await end_survivors([(self.pid, self.start_time)])

    async def _follow(self, progress: Progress | None, said: Said | None, heard: Heard | None) -> Exit:
        waking = asyncio.ensure_future(self._wake_at_end())
        try:
            while report := await self._shim.next_report():
                if "exited" in report:
                    await self._shim.close()
                    receipt = _receipt(report)
                    return Exit(**report["exited"], receipt=await self._swept(receipt) if report["blind"] else receipt)
                if "not_started" in report:
                    self._require("started", report)
                if "started" in report:
                    continue
                if "lines" in report:
                    if said is not None:
                        for line in report["lines"]:
                            asyncio.get_running_loop().call_soon(said, line)
                    continue
                if "heard" in report:
                    if heard is not None:
                        asyncio.get_running_loop().call_soon(heard, report["heard"].encode("latin-1"))
                    continue
                self._bytes = report["bytes"]
                if progress is not None:
                    asyncio.get_running_loop().call_soon(progress, self._bytes, report["tail"])
            await self._shim.close()
            return await self._without_shim()
        except asyncio.CancelledError:  # the loop ends, and with it every caller of stop()
            self._shim.hang_up()
            raise
        finally:
            waking.cancel()

    async def _wake_at_end(self) -> None:
        """Continue a suspended shim once the process has ended, so that it reports the end."""
        await until_over(self.pid, lambda: not is_alive(self.pid, self.start_time), pause=_WAKE_EVERY)
        while True:
            self._shim.wake()
            await asyncio.sleep(_WAKE_EVERY)

    async def _swept(self, receipt: Receipt) -> Receipt:
        """Return the stop report with the processes that the shim could not see."""
        more = await end_survivors([(self.pid, self.start_time)])
        return Receipt(ended=(*receipt.ended, *more.ended), alive=(*receipt.alive, *more.alive))

    async def _without_shim(self) -> Exit:
        """Return the end of a process that died with its shim, after ending all it had started."""
        receipt = await end_survivors([(self.pid, self.start_time)])
        if self.pid not in {entry[0] for entry in (*receipt.ended, *receipt.alive)}:
            receipt = replace(receipt, ended=((self.pid, self.start_time, "killed"), *receipt.ended))
        seconds = time.monotonic() - self._began
        return Exit(code=None, signal=int(signal.SIGKILL), seconds=seconds, bytes=self._bytes, receipt=receipt)


async def run(launch: Launch, *, timeout: float | None = None, clock: Clock) -> Exit:
    """Run ``launch`` to its end, for checks.

    Raises TimeoutError, once the process is stopped, after ``timeout`` seconds; and AgentNotFound as ``start`` does.
    """
    process = await Process.start(launch)
    waiter = asyncio.ensure_future(process.wait())
    try:
        await first_of(waiter, clock.sleep(timeout) if timeout is not None else None)
        if not waiter.done():
            raise TimeoutError(f"{launch.command[0]} did not end within {timeout:g} s")
        return waiter.result()
    finally:
        await process.stop()
        await waiter


def _order(launch: Launch) -> dict[str, Any]:
    return {
        "command": list(launch.command),
        "cwd": os.path.abspath(launch.cwd),
        "env": dict(launch.environment),
        "output": os.path.abspath(launch.output),
        "stdin": os.path.abspath(launch.stdin) if launch.stdin else None,
        "limit": launch.limit,
        "objects": launch.objects,
        "talks": launch.talks,
        "secrets": list(known_values()),
    }


def _receipt(report: Mapping[str, Any]) -> Receipt:
    ended = tuple((pid, start, how) for pid, start, how in report["ended"])
    return Receipt(ended=ended, alive=tuple((pid, start) for pid, start in report["alive"]))


def clean_environment(environ: Mapping[str, str], **extra: str) -> dict[str, str]:
    """Return ``environ`` without the per-process variables of git, pytest and unstuck, and with ``extra``."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or (name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES))
    }
    return kept | extra
