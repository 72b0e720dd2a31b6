"""Start time of commands, and of a hook with and without a listening supervisor."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from bench_kit import Bench, seconds

import unstuck
from unstuck.channel import ChannelServer, Message, Peer

BIN = Path(sys.executable).parent
COMMANDS = (
    ("unstuck --help", ("--help",), "ratio 10"),
    ("unstuck runs, where there are none", ("runs",), "ratio 20"),
    ("unstuck run, with nothing to do", ("run", "--headless", "--verify", "true", "--", "true"), "ratio 40"),
)
FRAMES = (
    ("unstuck watch", ("watch",), "no sessions yet"),
    ("unstuck run", ("run", "--check", "true", "--", "sleep", "60"), "queued"),
)
MINIMAL = """
from textual.app import App
from textual.widgets import Static

class Minimal(App):
    def compose(self):
        yield Static("HELLO")

Minimal().run()
"""
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
PAYLOAD = b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}'


# Installed programs are compiled once. Where an environment forbids that, each start would compile all it loads.
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{tempfile.gettempdir()}/unstuck-bench-compiled"}


def milliseconds(command: Sequence[str], stdin: bytes = b"", **variables: str) -> Callable[[], float]:
    """A measurement of one start of ``command``, in a place where nobody listens unless ``variables`` say so."""

    def measure() -> float:
        with tempfile.TemporaryDirectory(prefix="u-") as empty:
            environment = {**os.environ, **COMPILED, "UNSTUCK_RUNTIME_DIR": empty, **variables}
            return 1e3 * seconds(
                lambda: subprocess.run(
                    command, input=stdin, cwd=empty, env=environment, capture_output=True, check=True
                )
            )

    return measure


def first_frame(command: Sequence[str], shows: bytes) -> Callable[[], float]:
    """A measurement of the processor time until ``command`` has drawn ``shows`` at a terminal of its own."""

    def measure() -> float:
        with tempfile.TemporaryDirectory(prefix="u-") as project:
            subprocess.run(["git", "init", "-q", project], check=True)
            pid, terminal = pty.fork()
            if pid == 0:
                os.chdir(project)
                environment = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "UNSTUCK_RUNTIME_DIR": project}
                os.execve(command[0], list(command), {**os.environ, **environment, **COMPILED})
            termios.tcsetwinsize(terminal, (40, 120))
            written = b""
            while shows not in _ESCAPES.sub(b"", written):
                written += os.read(terminal, 65_536)
            times = psutil.Process(pid).cpu_times()
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)
            return 1e3 * (times.user + times.system)

    return measure


@contextmanager
def listening() -> Iterator[Path]:
    """A supervisor's socket that lets every hook go on at once, served by another thread."""

    async def reply(message: Message, peer: Peer) -> Message:
        return {"v": 1, "output": {}}

    async def serve(path: Path, ready: threading.Event, over: threading.Event) -> None:
        server = ChannelServer(path, reply)
        await server.start()
        ready.set()
        await asyncio.to_thread(over.wait)
        await server.close()

    with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as directory:
        path, ready, over = Path(directory) / "bench.sock", threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(serve(path, ready, over)))
        thread.start()
        try:
            ready.wait(10)
            yield path
        finally:
            over.set()
            thread.join()


def benches() -> Iterable[Bench]:
    """Each against ``python -c pass`` in the same run, and a hook against the barest start of Python."""
    python = milliseconds([sys.executable, "-c", "pass"])
    barest = milliseconds([sys.executable, "-S", "-c", "pass"])
    forwarder = [sys.executable, "-IS", str(Path(unstuck.__file__).parent / "agents" / "forwarder.py"), "claude"]
    yield Bench(
        name="a hook with nobody listening",
        unit="ms",
        measure=milliseconds(forwarder, PAYLOAD),
        against=barest,
        budget="ratio 2",
        rounds=15,
    )
    with listening() as path:
        yield Bench(
            name="a hook with a supervisor that lets it go on",
            unit="ms",
            measure=milliseconds(forwarder, PAYLOAD, UNSTUCK_SOCKET=str(path)),
            against=barest,
            budget="ratio 2",
            rounds=15,
        )
    for name, arguments, budget in COMMANDS if (BIN / "unstuck").exists() else ():
        yield Bench(
            name=name,
            unit="ms",
            measure=milliseconds([str(BIN / "unstuck"), *arguments]),
            against=python,
            budget=budget,
            rounds=7,
        )
    minimal = first_frame([sys.executable, "-c", MINIMAL], b"HELLO")
    for name, arguments, shows in FRAMES if (BIN / "unstuck").exists() else ():
        yield Bench(
            name=f"{name}: first frame (ratio to a minimal Textual app)",
            unit="ms CPU",
            measure=first_frame([str(BIN / "unstuck"), *arguments], shows.encode()),
            against=minimal,
            budget="ratio 1.5",
            rounds=15,
        )
