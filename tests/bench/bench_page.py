"""The page: its weight, how soon an event is on it, its memory, and what it costs while nobody looks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
import psutil
from bench_kit import Bench

from unstuck import Supervisor
from unstuck.eventlog import events as e
from unstuck.runs.view.local_run import LiveRun
from unstuck.workspace.project import locate
from unstuck_web.server import PageOptions, served

EVENTS = 10
IDLE_S = 5.0

MEMORY = """
import asyncio, os, pathlib, sys
import psutil
from unstuck import Supervisor
from unstuck.runs.view.local_run import LiveRun
from unstuck.workspace.project import locate

async def main():
    root = pathlib.Path(sys.argv[1])
    async with Supervisor.open(root, person=True) as supervisor:
        before = psutil.Process().memory_info().rss
        from unstuck_web.server import PageOptions, served
        own = LiveRun(supervisor, "page")
        async with served(await locate(root), PageOptions(), dict(os.environ), own=own) as page:
            ask = sys.argv[2].replace("ADDRESS", page.address).replace("TOKEN", page.access.link())
            asker = await asyncio.create_subprocess_exec(sys.executable, "-c", ask.replace("RUN", supervisor.run))
            assert await asker.wait() == 0
            print((psutil.Process().memory_info().rss - before) / 1e6)

asyncio.run(main())
"""
ASK = """
import httpx
with httpx.Client(base_url="ADDRESS", trust_env=False) as http:
    http.post("/enter", data={"token": "TOKEN"}, headers={"origin": "ADDRESS"})
    assert {http.get("/runs/RUN").status_code for _ in range(20)} == {200}
"""
"""A reader in another process, whose memory does not count."""


@contextmanager
def project() -> Iterator[Path]:
    """A directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


async def _latencies(root: Path, *, beside: bool) -> list[float]:
    """Milliseconds from a record to its event on a page."""
    found: list[float] = []
    async with Supervisor.open(root, person=True, start=e.RunStarted(project="bench")) as supervisor:
        own = None if beside else LiveRun(supervisor, "page")
        async with (
            served(await locate(root), PageOptions(), dict(os.environ), own=own) as page,
            httpx.AsyncClient(base_url=page.address, trust_env=False, timeout=30) as http,
        ):
            await http.post("/enter", data={"token": page.access.link()}, headers={"origin": page.address})
            path = f"/runs/{supervisor.run}"
            async with http.stream("GET", f"{path}/events?after={supervisor.run}:{supervisor.state.seq}") as stream:
                lines = stream.aiter_lines()
                for _ in range(EVENTS):
                    begun = time.perf_counter()
                    supervisor.core.append(e.TimerCancelled(gate="none"), task="t")
                    await supervisor.core.journal.committed()
                    async for line in lines:
                        if line.startswith("data: ") and "head" in json.loads(line[6:]):
                            break
                    found.append((time.perf_counter() - begun) * 1e3)
                    await asyncio.sleep(0.3)  # the next one finds the page at rest
    return found


def _latency(*, beside: bool) -> float:
    with project() as root:
        return median(asyncio.run(_latencies(root, beside=beside)))


@contextmanager
def command(root: Path) -> Iterator[tuple[psutil.Process, str]]:
    """``unstuck web`` as a process, and the address that it prints."""
    words = [sys.executable, "-m", "unstuck", "web", "--project", str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = next(word for line in process.stdout for word in line.split() if word.startswith("http")).rstrip(";")
        try:
            yield psutil.Process(process.pid), address
        finally:
            process.terminate()


def _idle() -> float:
    """Milliseconds of processor time in five seconds in which nobody looks."""
    with project() as root, command(root) as (process, _):
        time.sleep(1)
        before = sum(process.cpu_times()[:2])
        time.sleep(IDLE_S)
        return (sum(process.cpu_times()[:2]) - before) * 1e3


def _memory() -> float:
    """Megabytes that the page adds to a process that knows a run."""
    with project() as root:
        said = subprocess.run(
            [sys.executable, "-c", MEMORY, str(root), ASK], capture_output=True, text=True, check=True
        )
    return float(said.stdout)


def _weight() -> float:
    """Kilobytes of the first page of a run of 1,000 tasks, with its style and its script."""

    async def load(root: Path) -> float:
        async with Supervisor.open(root, person=True) as supervisor:
            from unstuck import Task

            for number in range(1000):
                supervisor.add(Task(id=f"task-{number}", prompt="Work"))  # type: ignore[arg-type]
            await supervisor.core.journal.committed()
            own = LiveRun(supervisor, "page")
            async with (
                served(await locate(root), PageOptions(), dict(os.environ), own=own) as page,
                httpx.AsyncClient(base_url=page.address, trust_env=False) as http,
            ):
                await http.post("/enter", data={"token": page.access.link()}, headers={"origin": page.address})
                paths = (f"/runs/{supervisor.run}", "/static/page.css", "/static/page.js")
                return sum([len((await http.get(path)).content) for path in paths]) / 1e3

    with project() as root:
        return asyncio.run(load(root))


def benches() -> Iterator[Bench]:
    """The budgets of the page."""
    yield Bench(name="first page of 1,000 tasks, in 3 requests", unit="KB", measure=_weight, budget="≤ 100", rounds=1)
    yield Bench(
        name="event to page, in the run's process (median)",
        unit="ms",
        measure=lambda: _latency(beside=False),
        budget="≤ 250",
        rounds=3,
    )
    yield Bench(
        name="event to page, beside the run (median)",
        unit="ms",
        measure=lambda: _latency(beside=True),
        budget="≤ 250",
        rounds=3,
    )
    yield Bench(name="memory of the page in a run's process", unit="MB", measure=_memory, budget="≤ 30", rounds=3)
    yield Bench(name="processor time in 5 s, nobody looks", unit="ms", measure=_idle, budget="0", rounds=1)
