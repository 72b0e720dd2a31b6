"""Start time of commands, and of a hook with and without a listening supervisor."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
from bench_kit import Bench, Turns, processor_time, seconds
from tests.compare.peer_screens import MINIMAL

import unstuck
from unstuck.channel import ChannelServer, Message, Peer

BIN = Path(sys.executable).parent
# Of a run with nothing to do, two thirds are imports: most of it the making of models and dataclasses. The rest is
# twenty gits, three helpers of processes, and their programs.
COMMANDS = (
    ("unstuck --help", ("--help",), "ratio 10"),
    ("unstuck run --help", ("run", "--help"), "120 ms CPU"),
    ("unstuck runs, one run", ("runs",), "120 ms CPU"),
    ("unstuck show", ("show", "last"), "120 ms CPU"),
    ("unstuck run, with nothing to do", ("run", "--headless", "--verify", "true", "--", "true"), "ratio 40"),
)
FRAMES = {
    "unstuck watch": (("watch",), b"no sessions yet"),
    "unstuck run, one command": (("run", "--check", "true", "--", "sleep", "60"), b"queued"),
    "unstuck run, a plan of two tasks": (("run", "plan.yaml"), b"waits for first"),
    "unstuck run --resume, a paused run": (("run", "--resume", "last"), b"waits for you"),
}
"""Arguments, and words of the first frame."""
PLAN = """\
agents: {sleeper: {command: sleep 60}}
check: "true"
tasks:
  - {id: first, prompt: Begin}
  - {id: second, prompt: Go on, needs: [first]}
"""
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
PAYLOAD = b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}'


# Installed programs are compiled once. Where an environment forbids that, each start would compile all it loads.
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{tempfile.gettempdir()}/unstuck-bench-compiled"}


def milliseconds(command: Sequence[str], stdin: bytes = b"", **variables: str) -> Callable[[], float]:
    """A measurement of one start of ``command``, in a place where nobody listens unless ``variables`` say so."""

    def measure() -> float:
        with tempfile.TemporaryDirectory(prefix="u-") as empty:
            return 1e3 * seconds(lambda: _run(command, Path(empty), stdin, variables))

    return measure


def processor_milliseconds(command: Sequence[str], project: Path) -> Callable[[], float]:
    """A measurement of the processor time of one start of ``command`` in a copy of ``project``."""

    def measure() -> float:
        with copied(project) as copy:
            begun = processor_time()
            _run(command, copy)
            return 1e3 * (processor_time() - begun)

    return measure


def _run(command: Sequence[str], place: Path, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> None:
    environment = {**os.environ, **COMPILED, "UNSTUCK_RUNTIME_DIR": str(place), **(variables or {})}
    subprocess.run(command, input=stdin, cwd=place, env=environment, capture_output=True, check=True)


@contextmanager
def copied(project: Path) -> Iterator[Path]:
    """A copy of ``project``, which a measurement may change."""
    with tempfile.TemporaryDirectory(prefix="u-") as folder:
        yield shutil.copytree(project, Path(folder) / "p", symlinks=True)


@contextmanager
def paused_project() -> Iterator[Path]:
    """A project with a plan, and with a run that waits for an answer."""
    with tempfile.TemporaryDirectory(prefix="u-") as folder:
        project = Path(folder)
        subprocess.run(["git", "init", "-q", project], check=True)
        (project / "plan.yaml").write_text(PLAN, encoding="utf-8")
        command = [str(BIN / "unstuck"), "run", "--headless", "--direct", "--check", "false", "--", "true"]
        subprocess.run(command, cwd=project, env={**os.environ, **COMPILED}, capture_output=True, check=False)
        yield project


def first_frame(command: Sequence[str], shows: bytes, project: Path) -> float:
    """The processor time until ``command`` has drawn ``shows`` at a terminal of its own, in a copy of ``project``."""
    with copied(project) as copy:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(copy)
            environment = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "UNSTUCK_RUNTIME_DIR": str(copy)}
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
    """A hook against the barest start of Python, commands against a bare one, frames against the least of Textual."""
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
    with paused_project() as project:
        bare = processor_milliseconds([sys.executable, "-c", "pass"], project)
        for name, arguments, budget in COMMANDS:
            yield Bench(
                name=f"{name} (ratio to a bare Python)",
                unit="ms CPU",
                measure=processor_milliseconds([str(BIN / "unstuck"), *arguments], project),
                against=bare,
                budget=budget,
                rounds=7,
            )
        loads = {"minimal": partial(first_frame, [sys.executable, "-c", MINIMAL], b"HELLO", project)}
        for name, (arguments, shows) in FRAMES.items():
            loads[name] = partial(first_frame, [str(BIN / "unstuck"), *arguments], shows, project)
        look = Turns(loads).look
        for name in FRAMES:
            yield Bench(
                name=f"{name}: first frame (ratio to a minimal Textual app)",
                unit="ms CPU",
                measure=look(lambda used: used, name),
                against=look(lambda used: used, "minimal"),
                budget="ratio 1.5",
                rounds=9,
            )
