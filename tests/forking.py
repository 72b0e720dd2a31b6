"""Forks ``unstuck``, ``unstuck-hook`` or Python with a script or ``-c`` as often as it is asked to; no test by itself.

``python forking.py`` has a socket as standard input. Each message on it is a JSON object (``arguments``, ``folder``,
``environment``, ``terminal``, ``ignored``) with the descriptors of the new program's standard streams, and is answered
with its process id. It is the program in a process of its own in all but this: what a start of Python and its imports
cost is paid once. Like one that was started in the usual way it is the child of whoever asks, who alone can wait for
it.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import platform
import runpy
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
"""The number of the system call that forks a sibling; None where it is not known."""

MORE = (
    "concurrent.futures.thread",
    "textual.layouts.horizontal",
    "textual.scrollbar",
    "unstuck.agents.forwarder",
    "unstuck.supervision.run.supervisor",
    "unstuck_tui.app.unstuck_app",
    "unstuck_tui.keys.keymap",
    "unstuck_tui.screens.main",
    "unstuck_tui.app.host",
)
"""Modules that most commands import only when they need them."""

_AS_SIBLING = 0x8000 | signal.SIGCHLD  # CLONE_PARENT
_LONGEST = 1 << 18


def fork_sibling() -> int:
    """Fork a child of our own parent: its process id, 0 in the child itself."""
    python, system = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    number = int(system.syscall(CLONE, _AS_SIBLING, 0, 0, 0, 0))
    if number:
        python.PyOS_AfterFork_Parent()
    else:
        python.PyOS_AfterFork_Child()
    return number


def become(order: dict[str, Any], streams: list[int]) -> None:
    """Turn this process into what was ordered, but for running it."""
    if order["terminal"]:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.closerange(3, max(streams) + 1)
    # Whoever runs the tests in the background hands on that some signals are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    for number in order["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    sys.argv[:] = order["arguments"]
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def _stream(number: int) -> io.TextIOWrapper:
    """A standard stream as Python makes it."""
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    mode, buffering = ("wb", 0 if at_once else -1) if number else ("rb", -1)
    binary: Any = open(number, mode, buffering, closefd=False)  # noqa: SIM115
    lines = number == 2 or os.isatty(number)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    errors = "backslashreplace" if number == 2 else errors or "strict"
    return io.TextIOWrapper(binary, encoding or "utf-8", errors, line_buffering=lines, write_through=at_once)


def imported_for(arguments: list[str]) -> None:
    """Import slow modules that one command only needs when it is first asked for."""
    if arguments[1:] == ["mcp"] and "mcp" not in sys.modules:
        for name in ("mcp.server.stdio", "unstuck.agents.mcp.server"):
            importlib.import_module(name)
        gc.freeze()


def serve() -> None:
    """Fork for every message; returns in each child, and ends this process when nobody is there any more."""
    with socket.socket(fileno=0) as asking:
        while True:
            message, streams, _, _ = socket.recv_fds(asking, _LONGEST, 3)
            if not message:
                os._exit(0)
            order = json.loads(message)
            imported_for(order["arguments"])
            number = fork_sibling()
            if not number:
                break
            for stream in streams:
                os.close(stream)
            asking.send(b"%d" % number)
    become(order, streams)


def _end(code: Any) -> None:
    """End as Python does, but for taking apart what was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


def built(model: type[BaseModel]) -> None:
    """Build what validates the models below ``model``, which each program does when it first meets one."""
    for each in model.__subclasses__():
        if each.__module__.startswith("unstuck"):
            each.model_rebuild()
        built(each)


def main() -> None:
    """Import everything, and serve."""
    del sys.path[0]
    commands = importlib.import_module("unstuck_tui.cli")
    for name in commands.COMMANDS:
        importlib.import_module(commands.module_of(name))
    for name in MORE:
        importlib.import_module(name)
    built(BaseModel)
    state = importlib.import_module("unstuck.eventlog.state")
    state.dump(state.State())  # what writes a snapshot is built once it is first needed
    gc.freeze()
    serve()
    try:
        if os.path.basename(sys.argv[0]) == "unstuck-hook":
            _end(sys.modules["unstuck.agents.forwarder"].main())
        elif sys.argv[0] == sys.executable:
            del sys.argv[0]
            if sys.argv[0] == "-c":
                exec(sys.argv.pop(1), {"__name__": "__main__"})
            else:
                runpy.run_path(sys.argv[0], run_name="__main__")
        else:
            commands.main()
    except SystemExit as ended:
        _end(ended.code)


if __name__ == "__main__":
    main()
