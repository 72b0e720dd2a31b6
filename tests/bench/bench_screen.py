"""What the screen costs beside a run of ten thousand tasks, what it holds in memory, and how soon a key is seen."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from statistics import mean

import psutil
from bench_kit import Bench

from unstuck import Guidance, Supervisor, Task, admit
from unstuck.record import events as e
from unstuck_tui.app import UnstuckApp
from unstuck_tui.view import LiveRun
from unstuck_tui.widgets.task_table import TaskTable

TASKS = 10_000
SECONDS = 10
PAIRS = 2
SIZE = (120, 40)
KEYS = 100


@asynccontextmanager
async def run_of(count: int) -> AsyncIterator[Supervisor]:
    """A run with ``count`` tasks: real log, real fold."""
    gc.collect()  # what an earlier run left behind is not this one's cost
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as directory:
        async with Supervisor.open(Path(directory), person=True) as supervisor:
            for number in range(count):
                supervisor.add(Task(id=f"task-{number:05}", prompt=admit("Make it work"), agent_type="backend"))
            await supervisor.core.journal.committed()
            yield supervisor


def change(supervisor: Supervisor, number: int) -> None:
    """A new attempt of one task begins: its state, its rung, its clock and its timeline change."""
    core, task = supervisor.core, f"task-{number:05}"
    attempt = core.row(task).attempts + 1
    guidance = Guidance(
        attempt=f"{task}.{attempt}", number=attempt, level="retry", text=admit("Again"), workdir=core.root
    )
    core.append(e.AttemptStarted(guidance=guidance, limit_s=900), task=task, attempt=guidance.attempt)


async def busy(supervisor: Supervisor, *, per_second: int) -> list[float]:
    """The processor's share in each second, while every task changes once, in so many bursts a second."""
    burst = TASKS // (SECONDS * per_second)
    start, seconds, task = time.monotonic(), [], iter(range(TASKS))
    for second in range(SECONDS):
        begun = time.process_time()
        for number in range(second * per_second, (second + 1) * per_second):
            for place in islice(task, burst):
                change(supervisor, place)
            await supervisor.core.journal.committed()
            await asyncio.sleep(max(0.0, start + (number + 1) / per_second - time.monotonic()))
        seconds.append(time.process_time() - begun)
    return seconds


async def alone(*, per_second: int) -> list[float]:
    """``busy`` without a screen."""
    async with run_of(TASKS) as supervisor:
        return await busy(supervisor, per_second=per_second)


async def watched(*, per_second: int) -> list[float]:
    """``busy`` with the screen beside it."""
    async with run_of(TASKS) as supervisor, UnstuckApp(LiveRun(supervisor)).run_test(size=SIZE) as pilot:
        await pilot.pause()
        return await busy(supervisor, per_second=per_second)


def share(*, per_second: int) -> Callable[[], float]:
    """The screen's own share of a core: the same changes with and without it, second by second.

    What else the machine does, and the collector of garbage, fall upon single seconds: the middle half of them counts.
    Every other pair begins with the screen, so that a machine which grows slower or faster favours neither.
    """

    async def measured() -> float:
        more: list[float] = []
        for pair in range(PAIRS):
            runs = [alone, watched] if pair % 2 == 0 else [watched, alone]
            taken = {run: await run(per_second=per_second) for run in runs}
            more += [seen - unseen for seen, unseen in zip(taken[watched], taken[alone], strict=True)]
        return 100 * mean(sorted(more)[len(more) // 4 : -(len(more) // 4)])

    return lambda: asyncio.run(measured())


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
    return float(
        subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True).stdout.split()[
            -1
        ]
    )


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
    """The screen's share is the difference of two runs with the same events, so single values may be below zero."""
    for rate, budget in ((1, "2 %"), (10, "10 %")):
        yield Bench(
            name=f"10,000 tasks, every one changes in 10 s, {rate} Hz",
            unit="% core",
            measure=share(per_second=rate),
            budget=budget,
            rounds=3,
        )
    yield Bench(name="memory with 1,000 tasks", unit="MB", measure=memory, budget="80 MB", rounds=3)
    yield Bench(
        name="key to paint while a million lines are printed, p95",
        unit="ms",
        measure=key_to_paint,
        budget="100 ms",
        rounds=3,
    )
