"""The loop of the shim, and its two ends towards the supervisor: orders come in, reports go out."""

from __future__ import annotations

import json
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CHUNK = 256 * 1024


class Loop:
    """Callbacks for descriptors that can be read, or written to."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._callbacks: dict[int, Callable[[], None]] = {}

    def watch(self, descriptor: int, callback: Callable[[], None], event: int = select.POLLIN) -> None:
        self._callbacks[descriptor] = callback
        self._poll.register(descriptor, event)

    def forget(self, descriptor: int) -> None:
        del self._callbacks[descriptor]
        self._poll.unregister(descriptor)

    def turn(self, seconds: float | None) -> bool:
        """Wait for at most ``seconds`` (None: for ever) and serve what came; False where nothing did."""
        milliseconds = None if seconds is None else max(0.0, seconds * 1000)
        callbacks = [self._callbacks[descriptor] for descriptor, _ in self._poll.poll(milliseconds)]
        for callback in callbacks:
            callback()
        return bool(callbacks)


class Orders:
    """JSON lines from a descriptor, each given to ``obey``; ``deserted`` is called once at its end."""

    def __init__(
        self, descriptor: int, loop: Loop, obey: Callable[[dict[str, Any]], None], deserted: Callable[[], None]
    ):
        self._descriptor, self._loop = descriptor, loop
        self._obey, self._deserted = obey, deserted
        self._rest = b""
        loop.watch(descriptor, self._hear)

    def _hear(self) -> None:
        chunk = os.read(self._descriptor, CHUNK)
        if not chunk:
            self._loop.forget(self._descriptor)
            self._deserted()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))


class Outgoing:
    """Bytes to a descriptor, kept as long as its reader has no room for them. A reader that is gone never matters."""

    def __init__(self, descriptor: int, loop: Loop) -> None:
        self._descriptor, self._loop = descriptor, loop
        self._unsent, self._waits = bytearray(), False
        os.set_blocking(descriptor, False)

    def write(self, data: bytes) -> None:
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._descriptor, self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()
        if self._waits != self.behind:
            self._waits = self.behind
            if self._waits:
                self._loop.watch(self._descriptor, self.flush, select.POLLOUT)
            else:
                self._loop.forget(self._descriptor)

    @property
    def behind(self) -> bool:
        return bool(self._unsent)

    @property
    def unread(self) -> int:
        """Number of bytes that the reader has not taken yet."""
        return len(self._unsent)


class Reports(Outgoing):
    """JSON lines to a descriptor. A supervisor that is suspended, or gone, never makes the shim wait."""

    def send(self, fields: dict[str, Any]) -> None:
        self.write(json.dumps(fields).encode() + b"\n")

    def drain(self) -> None:
        """Send everything, waiting for a reader as long as there is one."""
        os.set_blocking(self._descriptor, True)
        self.flush()
