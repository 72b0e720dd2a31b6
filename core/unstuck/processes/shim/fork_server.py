"""A process that has imported everything and forks a shim for each request, which then begins in a few milliseconds.

Requests come through a socket (standard input), each with three descriptors: the shim's orders, its reports, and a
socket for the answer, which is the shim's process id and a descriptor of it (a pidfd). The socket's end is this
process's end; the shims it has forked go on.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from contextlib import suppress

from .pipe_loop import CHUNK
from .process_table import FORKS, PR_SET_CHILD_SUBREAPER, process_control
from .redactor import Redactor

__all__ = ["serve"]

_SHIM = "unstuck-shim"


def serve() -> None:
    """Fork a shim for each request. Returns in each of them, and never in this process itself."""
    _show_as(FORKS)
    process_control(PR_SET_CHILD_SUBREAPER, 0)  # what a shim imports only once it needs it is there, too
    Redactor(()).clean(b"")
    gc.freeze()
    control = socket.socket(fileno=0)
    wake, wake_write = os.pipe()
    for descriptor in (wake, wake_write):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready = select.select([control.fileno(), wake], [], [])[0]
        if wake in ready:
            os.read(wake, CHUNK)
            _reap()
        if control.fileno() in ready and _answer(control):
            break
    signal.set_wakeup_fd(-1)
    for descriptor in (wake, wake_write):
        os.close(descriptor)


def _answer(control: socket.socket) -> bool:
    """Fork once; True in the shim, which has its orders and reports as standard input and output by then."""
    requested, descriptors, _, _ = socket.recv_fds(control, 1, 3, socket.MSG_CMSG_CLOEXEC)
    if not requested:
        os._exit(0)
    shim = _fork()
    if not shim:
        os.setsid()
        _show_as(_SHIM)
        control.detach()
        for target, source in enumerate(descriptors[:2]):
            os.dup2(source, target)
    elif shim > 0:
        with suppress(OSError), socket.socket(fileno=os.dup(descriptors[2])) as asking:
            pidfd = os.pidfd_open(shim)
            descriptors.append(pidfd)
            socket.send_fds(asking, [b"%d" % shim], [pidfd])
    for descriptor in descriptors:
        os.close(descriptor)
    return not shim


def _fork() -> int:
    """The new process; -1 where the machine has no room for one, which whoever asks hears by the missing answer."""
    try:
        return os.fork()
    except OSError:
        return -1


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _show_as(name: str) -> None:
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(name)
