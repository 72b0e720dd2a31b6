"""Writes to the terminal never block the run, whatever the terminal does."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from io import FileIO, TextIOWrapper
from typing import IO

import pytest

from unstuck_tui.terminal.driver import Outlet
from unstuck_tui.terminal.whole_writes import whole

PIPE_SIZE = 65_536


@pytest.fixture
def pipe() -> Iterator[tuple[int, IO[str]]]:
    """The reading end of a pipe, and a text file on its writing end."""
    reading, writing = os.pipe()
    file = os.fdopen(writing, "w", encoding="utf-8", newline="")
    yield reading, file
    # What the file could not write any more must not complain when it is closed.
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    file.close()
    os.close(reading)


def test_everything_is_written_in_order(pipe: tuple[int, IO[str]]) -> None:
    """A terminal that reads gets every frame, in order, and nothing that was only meant for one that did not."""
    reading, file = pipe
    outlet = Outlet(file)
    for number in range(100):
        outlet.write(f"{number},")
    outlet.close("reset")
    assert os.read(reading, 1_000).decode() == "".join(f"{number}," for number in range(100))


def test_a_stalled_terminal_stops_nobody(pipe: tuple[int, IO[str]]) -> None:
    """Somebody holds the terminal still: writing goes on at once, is bounded, and a new picture follows the stall."""
    reading, file = pipe
    caught_up = threading.Event()
    outlet = Outlet(file, caught_up=caught_up.set, limit=300_000)
    frame = "x" * 1_000
    for _ in range(5_000):
        outlet.write(frame)
    taken = 0
    while not caught_up.is_set():
        taken += len(os.read(reading, 65_536)) if select.select([reading], [], [], 0.01)[0] else 0
    # All that was taken is in the pipe by now.
    while select.select([reading], [], [], 0)[0]:
        taken += len(os.read(reading, 65_536))
    # The limit, a frame over it, and what the pipe itself took meanwhile.
    assert taken <= 300_000 + 1_000 + PIPE_SIZE
    outlet.write("new picture")
    assert os.read(reading, 100) == b"new picture"
    outlet.close("reset")
    assert os.read(reading, 100) == b"reset"


def test_a_lost_terminal_is_told_once(pipe: tuple[int, IO[str]]) -> None:
    """The window is closed: it is noticed at the next frame, and later frames do no harm."""
    reading, file = pipe
    lost = threading.Event()
    outlet = Outlet(file, lost=lost.set)
    os.dup2(os.open(os.devnull, os.O_RDONLY), reading)
    outlet.write("frame")
    lost.wait()
    for _ in range(100):
        outlet.write("frame")
    outlet.close("reset")


def test_a_write_that_signals_interrupt_is_whole() -> None:
    """A child ends while a frame waits for a slow terminal, and standard error has no buffer: all of it comes."""
    terminal, screen = pty.openpty()
    tty.setraw(screen)
    unbuffered = TextIOWrapper(FileIO(screen, "w", closefd=False), encoding="utf-8", write_through=True)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    writer, ended, came = threading.get_ident(), threading.Event(), bytearray()

    def interrupt() -> None:
        while not ended.wait(0.001):
            signal.pthread_kill(writer, signal.SIGUSR1)

    def read() -> None:
        while not came.endswith(b"$"):
            came.extend(os.read(terminal, 256))

    threads = [threading.Thread(target=interrupt), threading.Thread(target=read)]
    try:
        for thread in threads:
            thread.start()
        with whole(unbuffered) as file:
            file.write("─" * 200_000 + "$")
    finally:
        ended.set()
        os.write(screen, b"$")
        for thread in threads:
            thread.join()
        signal.signal(signal.SIGUSR1, before)
        os.close(terminal)
        os.close(screen)
    assert came.decode(errors="replace").rstrip("$") == "─" * 200_000


def test_streams_of_a_command_have_a_buffer() -> None:
    """With PYTHONUNBUFFERED a command writes whole lines, as without."""
    said = "from unstuck_tui import main\ntry: main()\nfinally: print(type(sys.stdout.buffer).__name__, flush=True)"
    command = [sys.executable, "-c", f"import sys\nsys.argv = ['unstuck', '--version']\n{said}"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["BufferedWriter"]
