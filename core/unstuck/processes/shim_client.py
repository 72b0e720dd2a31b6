"""A shim as a subprocess: orders go to it, reports come from it.

A plain ``Popen`` and two pipe transports, and not asyncio's own subprocess: that one kills its child when the loop goes
away, while a shim must see the end of its orders and clear up behind its agent.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from unstuck.clock.process_exit import until_over
from unstuck.processes.shim_launcher import start

__all__ = ["Connection"]

_MARGIN = 10.0  # seconds; a shim whose orders have ended needs less than half of them


class _Reports(asyncio.Protocol):
    """Splits what the shim says into reports, however long their lines; None is the end."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.ended = asyncio.Event()
        self._parts: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._parts.append(first)
        for part in rest:
            self.queue.put_nowait(json.loads(b"".join(self._parts)))
            self._parts = [part]

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.put_nowait(None)
        self.ended.set()


class Connection:
    """The two ends of one shim. Make one with :meth:`open`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._reports = _Reports()
        self._orders: asyncio.WriteTransport
        self._incoming: asyncio.ReadTransport

    @classmethod
    async def open(cls) -> Connection:
        """Start a shim. Raises OSError when the machine has no room for another process."""
        loop = asyncio.get_running_loop()
        connection = cls(start())
        pipes, reports = connection._process, connection._reports
        connection._orders, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, pipes.stdin)
        connection._incoming, _ = await loop.connect_read_pipe(lambda: reports, pipes.stdout)
        return connection

    def send(self, order: Mapping[str, Any]) -> None:
        """Give an order; a shim that has ended does not mind, and one that its agent has stopped goes on."""
        if not self._orders.is_closing():
            self._orders.write(json.dumps(order).encode() + b"\n")
            self.wake()

    def wake(self) -> None:
        """Let a shim go on that somebody has stopped."""
        self._process.send_signal(signal.SIGCONT)

    async def next_report(self) -> dict[str, Any] | None:
        """The next report; None once the shim has ended, however often it is asked for."""
        if self._reports.ended.is_set() and self._reports.queue.empty():
            return None
        return await self._reports.queue.get()

    def kill(self) -> None:
        """End the shim at once; its agent dies with it, the agent's descendants are then left over."""
        self._process.kill()

    def hang_up(self) -> None:
        """End the orders, upon which the shim ends its agent and then itself."""
        if not self._orders.is_closing():
            self._orders.abort()
            self.wake()

    async def close(self) -> None:
        """Hang up, and return when the shim is gone."""
        self.hang_up()
        try:
            async with asyncio.timeout(_MARGIN):
                await self._reports.ended.wait()
        except TimeoutError:
            self.kill()
        self._incoming.close()
        await until_over(self._process.pid, lambda: self._process.poll() is not None)
