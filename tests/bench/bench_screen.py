"""Cost of the screen beside a run of ten thousand tasks, its memory, and the time from key to paint."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import psutil
from bench_kit import Bench
from meter import Spent
from screen_load import change, run_of

from unstuck.runs.view.local_run import LiveRun
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.widgets.task_table import TaskTable

HERE = Path(__file__).parent
SIZE = (120, 40)
KEYS = 100


def seconds_of(*load: object, key: bytes = b"", shows: bytes = b"") -> list[Spent]:
    """Return the use per second of a ``load`` in a process and terminal of its own, whose output is read here.

    ``key`` is typed there, and leads to what ``shows`` these words.
    """
    ours, its = os.openpty()
    termios.tcsetwinsize(its, SIZE[::-1])
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        script, *words = map(str, load)
        command = [sys.executable, str(HERE / script), *words, file.name]
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, start_new_session=True, env=environment)
        os.close(its)
        begun = _read(ours)
        os.write(ours, key)
        written = begun + b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        if process.wait() or shows not in written:
            raise RuntimeError(written.decode(errors="replace")[-2_000:])
        return [Spent(*spent) for spent in json.loads(Path(file.name).read_bytes())]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # nobody has it open any more
        return b""


LOADS: dict[str, Callable[[], list[Spent]]] = {
    "1 Hz": partial(seconds_of, "screen_load.py", 1, 1),
    "floor": partial(seconds_of, "screen_floor.py"),
    "10 Hz": partial(seconds_of, "screen_load.py", 1, 10),
    "plan": partial(seconds_of, "screen_load.py", 1, 1, key=b"d", shows=b"plan of"),
    "hosts": partial(seconds_of, "fleet_load.py", 1),
    "alone": partial(seconds_of, "screen_load.py", 0, 1),
}


class Turns:
    """Rounds in which each load is run once, one after the other; every row looks at the same rounds.

    Half of the time of a row of its own would go to loads that other rows have, too, and it would compare what ran
    minutes apart.
    """

    def __init__(self) -> None:
        self._rounds: list[dict[str, list[Spent] | Exception]] = []

    def look(self, figure: Callable[..., float], *names: str) -> Callable[[], float]:
        """Return a measurement whose n-th call gives the ``figure`` of the loads ``names`` in round n."""
        numbers = count()

        def measure() -> float:
            number = next(numbers)
            while len(self._rounds) <= number:
                self._rounds.append({name: _tried(load) for name, load in LOADS.items()})
            found = [self._rounds[number][name] for name in names]
            for one in found:
                if isinstance(one, Exception):
                    raise one
            return figure(*found)

        return measure


def _tried(load: Callable[[], list[Spent]]) -> list[Spent] | Exception:
    try:
        return load()
    except Exception as error:  # of this load's rows alone
        return error


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


def difference(watched: list[Spent], alone: list[Spent]) -> float:
    """The same by another way: what the process uses in the median second, less that of one without a screen."""
    return share_of_process(watched) - share_of_process(alone)


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


def key_to_paint() -> float:
    """The 95th percentile of the milliseconds from a key to the frame that shows it, while the agent prints."""

    async def measured() -> float:
        async with run_of(1_000) as supervisor:
            change(supervisor, 0)
            output = supervisor.core.folder / "output" / "task-00000.1.log"
            code = "for n in range(1_000_000): print('a line of output, number', n)"
            app = UnstuckApp(LiveRun(supervisor))
            async with app.run_test(size=SIZE) as pilot:
                await pilot.pause()
                with output.open("wb") as file:
                    printing = subprocess.Popen([sys.executable, "-c", code], stdout=file)
                try:
                    return await _pressed(app)
                finally:
                    printing.kill()
                    printing.wait()

    return asyncio.run(measured())


async def _pressed(app: UnstuckApp) -> float:
    table = app.screen.query_one(TaskTable)
    taken = []
    for number in range(KEYS):
        painted = asyncio.Event()
        before, begun = table.selected, time.perf_counter()
        app.simulate_key("k" if number % 2 else "j")
        while table.selected == before:
            await asyncio.sleep(0)
        table.call_after_refresh(painted.set)
        await painted.wait()
        taken.append(1e3 * (time.perf_counter() - begun))
        await asyncio.sleep(0.02)
    return sorted(taken)[int(0.95 * KEYS)]


def benches() -> Iterable[Bench]:
    """The first row takes as long as all rounds: the next five look at what was measured in them."""
    look = Turns().look
    for rate, budget in (("1 Hz", "1.5 %"), ("10 Hz", "3 %")):
        yield Bench(
            name=f"10,000 tasks, every one changes in 10 s, {rate}",
            unit="% core",
            measure=look(share, rate),
            against=look(share_of_screen, "floor"),
            budget=budget,
            rounds=3,
        )
    yield Bench(name="the same as a plan, 1 Hz", unit="% core", measure=look(share, "plan"), budget="2 %", rounds=3)
    yield Bench(
        name="10,000 tasks of 20 other hosts, 1 Hz",
        unit="% core",
        measure=look(share_of_screen, "hosts"),
        against=look(share, "1 Hz"),
        budget="1.5 %",
        rounds=3,
    )
    # A thousand records a second are copied, checked and folded here, which the process of a local run does itself.
    whole = "the same with what takes them in"
    yield Bench(name=whole, unit="% core", measure=look(share_of_process, "hosts"), rounds=3)
    # The difference of two figures that are ten times as large: noisy, but nothing can be left out of it.
    apart = "1 Hz, as the difference of two processes"
    yield Bench(name=apart, unit="% core", measure=look(difference, "1 Hz", "alone"), rounds=3)
    yield Bench(name="memory with 1,000 tasks", unit="MB", measure=memory, budget="80 MB", rounds=3)
    yield Bench(
        name="key to paint while a million lines are printed, p95",
        unit="ms",
        measure=key_to_paint,
        budget="100 ms",
        rounds=3,
    )
