"""Cost of the screen beside a run of ten thousand tasks, its memory, and the time from key to paint.

The floors are a Textual app of one widget that changes once a second, and one with a list of options.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from bench_kit import Bench, Turns
from meter import Spent
from screen_load import change, run_of
from textual.app import App, ComposeResult
from textual.widget import Widget
from textual.widgets import OptionList

from unstuck.runs.view.local_run import LiveRun
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.widgets.task_table import TaskTable

HERE = Path(__file__).parent
SIZE = (120, 40)
KEYS = 60
PAINTED = {500: "50 ms", 10_000: "100 ms"}


def seconds_of(script: str) -> dict[str, list[Spent]]:
    """Return the use per second in each part of a load, in a process and terminal of its own that are read here."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, SIZE[::-1])
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, str(HERE / script), file.name]
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, start_new_session=True, env=environment)
        os.close(its)
        written = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        if process.wait():
            raise RuntimeError(written.decode(errors="replace")[-2_000:])
        parts = json.loads(Path(file.name).read_bytes())
        return {name: [Spent(*spent) for spent in seconds] for name, seconds in parts.items()}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # nobody has it open any more
        return b""


def share(seconds: list[Spent]) -> float:
    """The screen's own share of a core in the median second: its callbacks, threads and writing, and its listening.

    Every second does the same, so what makes one dearer is the collector of garbage or the machine.
    """
    forgotten = median(abs(second.rest) for second in seconds)
    if forgotten > max(0.001, 0.05 * median(second.screen for second in seconds)):
        raise RuntimeError(f"{forgotten:.4f} s of a second are neither the screen's nor the run's")
    return 100 * median(second.screen for second in seconds)


def share_of_screen(seconds: list[Spent]) -> float:
    """The same of a load with nothing that could be forgotten, or with other processes that answer it."""
    return 100 * median(second.screen for second in seconds)


def share_of_process(seconds: list[Spent]) -> float:
    """The share of a core of the whole process."""
    return 100 * median(second.process for second in seconds)


async def _resident(count: int) -> float:
    async with run_of(count) as supervisor:
        app = UnstuckApp(LiveRun(supervisor))
        async with app.run_test(size=SIZE) as pilot:
            for number in range(3 * count):
                change(supervisor, number % count)
            await supervisor.core.journal.committed()
            await pilot.pause()
            return psutil.Process().memory_info().rss / 2**20


def memory() -> float:
    """The memory of a process that shows a thousand tasks, in MB: a process of its own, that has done nothing else."""
    code = "import asyncio, bench_screen; print(asyncio.run(bench_screen._resident(1_000)))"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout.split()[-1])


def key_to_paint(tasks: int) -> float:
    """The 95th percentile of the milliseconds from a key to the frame that shows it, while an agent prints."""

    async def measured() -> float:
        async with run_of(tasks) as supervisor:
            change(supervisor, 0)
            app = UnstuckApp(LiveRun(supervisor))
            async with app.run_test(size=SIZE) as pilot:
                await pilot.pause()
                table = app.screen.query_one(TaskTable)
                with printing(supervisor.core.folder / "output" / "task-00000.1.log"):
                    return await _pressed(app, table, lambda: table.selected)

    return asyncio.run(measured())


def key_to_paint_of_options() -> float:
    """The same of an app with nothing but Textual's own list of 500 options."""

    async def measured() -> float:
        options = OptionList(*(f"task-{number:05}" for number in range(500)))
        app = _Listing(options)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as folder, printing(Path(folder) / "output"):
                return await _pressed(app, options, lambda: options.highlighted, ("down", "up"))

    return asyncio.run(measured())


class _Listing(App[None]):
    def __init__(self, options: OptionList) -> None:
        super().__init__()
        self._options = options

    def compose(self) -> ComposeResult:
        yield self._options


@contextmanager
def printing(output: Path) -> Iterator[None]:
    """A process that prints a million lines into ``output``."""
    code = "for n in range(1_000_000): print('a line of output, number', n)"
    with output.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=file)
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def _pressed(
    app: App[Any], shown: Widget, selected: Callable[[], object], keys: tuple[str, str] = ("j", "k")
) -> float:
    taken = []
    for number in range(KEYS):
        painted = asyncio.Event()
        before, begun = selected(), time.perf_counter()
        app.simulate_key(keys[number % 2])
        while selected() == before:
            await asyncio.sleep(0)
        shown.call_after_refresh(painted.set)
        await painted.wait()
        taken.append(1e3 * (time.perf_counter() - begun))
        await asyncio.sleep(0.02)
    return sorted(taken)[int(0.95 * KEYS)]


def benches() -> Iterable[Bench]:
    """The first row takes as long as all rounds: the next four look at what was measured in them."""
    scripts = {"local": "screen_load.py", "hosts": "fleet_load.py", "floor": "screen_floor.py"}
    look = Turns({name: partial(seconds_of, script) for name, script in scripts.items()}).look
    for rate, budget in (("1 Hz", "1.5 %"), ("10 Hz", "3 %"), ("1 Hz, as a plan", "1.5 %")):
        yield Bench(
            name=f"10,000 tasks, every one changes in 10 s, {rate}",
            unit="% core",
            measure=look(lambda local, rate=rate: share(local[rate]), "local"),
            against=look(lambda floor: share_of_screen(floor["1 Hz"]), "floor"),
            budget=budget,
            rounds=3,
        )
    yield Bench(
        name="10,000 tasks of 20 other hosts, 1 Hz",
        unit="% core",
        measure=look(lambda hosts: share_of_screen(hosts["1 Hz"]), "hosts"),
        against=look(lambda local: share(local["1 Hz"]), "local"),
        budget="1.5 %",
        rounds=3,
    )
    # A thousand records a second are copied, checked and folded here, which the process of a local run does itself.
    whole = "the same with what takes them in"
    of_process = look(lambda hosts: share_of_process(hosts["1 Hz"]), "hosts")
    yield Bench(name=whole, unit="% core", measure=of_process, rounds=3)
    yield Bench(name="memory with 1,000 tasks", unit="MB", measure=memory, budget="80 MB", rounds=3)
    listed = {str(tasks): partial(key_to_paint, tasks) for tasks in PAINTED}
    look = Turns({**listed, "options": key_to_paint_of_options}).look
    for tasks, budget in PAINTED.items():
        yield Bench(
            name=f"key to paint, {tasks:,} tasks, while a million lines are printed, p95",
            unit="ms",
            measure=look(lambda milliseconds: milliseconds, str(tasks)),
            against=look(lambda milliseconds: milliseconds, "options"),
            budget=budget,
            rounds=3,
        )
