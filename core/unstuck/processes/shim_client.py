"""Client of a shim: sends orders, receives reports.

It uses ``Popen`` and two pipe transports. Asyncio's subprocess kills its child with the loop, while a shim must see the
end of its orders and end its agent.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from unstuck.clock.process_exit import until_over
from unstuck.processes.shim_launcher import note_end, start

_MARGIN = 10.0  # seconds; a shim whose orders have ended needs less than half of them


class _Reports(asyncio.Protocol):
    """Queue of reports, parsed from lines of any length; None is the end."""

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
    """Connection to one shim. Make one with :meth:`open`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._reports = _Reports()
        self._orders: asyncio.WriteTransport
        self._incoming: asyncio.ReadTransport

    @classmethod
    async def open(cls) -> Connection:
        """Start a shim. Raises OSError when the machine has no room for another process."""
        connection = cls(start())
        connecting = asyncio.ensure_future(connection._connect())
        try:
            await asyncio.shield(connecting)
        except BaseException:
            # A caller that is cancelled here would leave the shim running.
            await asyncio.shield(asyncio.ensure_future(connection._abandon(connecting)))
            raise
        return connection

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._orders, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._incoming, _ = await loop.connect_read_pipe(lambda: self._reports, self._process.stdout)

    async def _abandon(self, connecting: asyncio.Future[None]) -> None:
        await asyncio.wait((connecting,))
        if connecting.exception() is None:
            await self.close()
        else:
            self.kill()
            self._process.wait()

    def send(self, order: Mapping[str, Any]) -> None:
        """Send an order; it continues a suspended shim, and does nothing to one that has ended."""
        if not self._orders.is_closing():
            self._orders.write(json.dumps(order).encode() + b"\n")
            self.wake()

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def next_report(self) -> dict[str, Any] | None:
        """Return the next report; None after the end of the shim."""
        if self._reports.ended.is_set() and self._reports.queue.empty():
            return None
        return await self._reports.queue.get()

    def kill(self) -> None:
        """Kill the shim; its agent dies with it, and the agent's descendants become orphans."""
        self._process.kill()

    def hang_up(self) -> None:
        """Close the orders; the shim then ends its agent and itself."""
        if not self._orders.is_closing():
            self._orders.abort()
            self.wake()

    async def close(self) -> None:
        """Close the orders, and return when the shim has ended."""
        self.hang_up()
        try:
            async with asyncio.timeout(_MARGIN):
                await self._reports.ended.wait()
        except TimeoutError:
            self.kill()
        self._incoming.close()
        await until_over(self._process.pid, lambda: self._process.poll() is not None)
        note_end(self._process)
