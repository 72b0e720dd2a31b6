"""Starting the helpers that stand between us and each agent (:mod:`unstuck.processes.shim`).

On Linux a process of ours that has imported everything forks them, which spares each attempt and each check two thirds
of what it costs to start. Where there is none, or where it has been killed, a helper is started as a program.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Protocol
from weakref import WeakSet

from unstuck.clock.process_exit import readable
from unstuck.processes import shim

__all__ = ["SHIM", "Helper", "running", "start"]

SHIM = Path(shim.__file__).with_name("__main__.py")
_started: WeakSet[Helper] = WeakSet()
_PATIENCE = 10.0  # seconds; whoever forks needs milliseconds, unless an agent has stopped it


class Helper(Protocol):
    """What is needed of a started helper; a ``Popen`` has it."""

    pid: int

    @property
    def stdin(self) -> IO[bytes] | None: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...

    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def send_signal(self, sig: int, /) -> None: ...


async def start() -> Helper:
    """Start a helper. Raises OSError when the machine has no room for another process."""
    helper: Helper | None = None
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):
            helper = await _forked()
    helper = helper or _program()
    _started.add(helper)
    return helper


def running() -> set[int]:
    """The process ids of the helpers that this very process has started and that have not ended."""
    return {helper.pid for helper in _started if helper.poll() is None}


class _Forked:
    """A helper that another process forked: its number may be somebody else's later, its descriptor never is."""

    def __init__(self, pid: int, descriptor: int, orders: int, reports: int) -> None:
        self.pid, self._descriptor = pid, descriptor
        self.stdin, self.stdout = open(orders, "wb", 0), open(reports, "rb", 0)  # noqa: SIM115

    def poll(self) -> int | None:
        """0 once it has ended, however it did."""
        look = select.poll()
        look.register(self._descriptor, select.POLLIN)
        return 0 if look.poll(0) else None

    def send_signal(self, sig: int, /) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._descriptor)


class _Forks:
    """The process that forks helpers, and our end of its socket."""

    current: _Forks | None = None
    lock = threading.Lock()

    def __init__(self) -> None:
        os.close(os.pidfd_open(os.getpid()))  # an old kernel, or a sandbox, refuses: not worth a process
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            self._process = _program("serve", stdin=theirs.fileno(), stdout=subprocess.DEVNULL)

    @classmethod
    def request(cls, *descriptors: int) -> None:
        """Ask for a helper that gets ``descriptors``."""
        with cls.lock:
            forks = cls.current = cls.current or cls()
            socket.send_fds(forks._socket, [b"+"], descriptors)
            forks._process.send_signal(signal.SIGCONT)  # an agent may have stopped it

    @classmethod
    def end(cls) -> None:
        """End it; the helpers go on."""
        with cls.lock:
            if forks := cls.current:
                cls.current = None
                forks._socket.close()
                forks._process.kill()
                forks._process.wait()

    @classmethod
    def forget(cls) -> None:
        """In a fork of ours: it is the parent's, and has to hear of the parent's end."""
        cls.lock = threading.Lock()
        if forks := cls.current:
            cls.current = None
            forks._socket.close()
            forks._process.returncode = 0


atexit.register(_Forks.end)
os.register_at_fork(after_in_child=_Forks.forget)


async def _forked() -> _Forked:
    """A helper from whoever forks them. Raises OSError where that is not to be had."""
    with ExitStack() as stack:
        (their_orders, orders), (reports, their_reports) = _pipe(stack), _pipe(stack)
        asking, answering = (stack.enter_context(end) for end in socket.socketpair())
        try:
            _Forks.request(their_orders, their_reports, answering.fileno())
            answering.close()  # or the end of whoever forks would not be heard
            if not await readable(asking.fileno(), _PATIENCE):
                raise TimeoutError
            pid, descriptors, _, _ = socket.recv_fds(asking, 32, 1, socket.MSG_CMSG_CLOEXEC)
            if not descriptors:
                raise ConnectionError
        except OSError:
            _Forks.end()
            raise
        return _Forked(int(pid), descriptors[0], os.dup(orders), os.dup(reports))


def _pipe(stack: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        stack.callback(os.close, end)
    return ends


def _program(*arguments: str, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(SHIM), *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
