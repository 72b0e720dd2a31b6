"""Throughput of an agent's output, the start of an attempt or a check, and the time from *stop* to the receipt."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import psutil
from bench_kit import Bench, Turns

from unstuck.processes import Launch, Process

FLOOD = """
import os
line = b"x" * 99 + b"\\n"
chunk = line * 655
while True:
    os.write(1, chunk)
"""
CROWD = """
import subprocess, time
for _ in range(20):
    subprocess.Popen(["sleep", "1000"])
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("ready", flush=True)
time.sleep(1000)
"""
STARTS = 20
FLOOD_S = 2.0
TICK_S = 0.005


def _launch(folder: str, script: str) -> Launch:
    here = Path(folder)
    command = (sys.executable, "-c", script)
    return Launch(command=command, cwd=here, environment=dict(os.environ), output=here / "output")


async def _flooded() -> tuple[float, float, float, float]:
    """MB a second; MB per processor second of helper and supervisor; lag (p99) in ms; helper's growth in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        heard = [0]
        process = await Process.start(_launch(folder, FLOOD), progress=lambda total, tail: heard.__setitem__(0, total))
        shim = psutil.Process(process.pid).parent()
        while not heard[0]:
            await asyncio.sleep(TICK_S)
        assert shim is not None
        size, start, first, busy = shim.memory_info().rss, time.monotonic(), heard[0], _busy(shim)
        lags = []
        while time.monotonic() - start < FLOOD_S:
            before = time.monotonic()
            await asyncio.sleep(TICK_S)
            lags.append(time.monotonic() - before - TICK_S)
        taken, seconds, busy = (heard[0] - first) / 1e6, time.monotonic() - start, _busy(shim) - busy
        grown = (shim.memory_info().rss - size) / 2**20
        await process.stop(interrupt=0, terminate=1)
        return taken / seconds, taken / busy, sorted(lags)[int(len(lags) * 0.99)] * 1e3, grown


async def _started() -> float:
    """Milliseconds for an attempt or a check to start and end, the mean of 20 in a row."""
    with tempfile.TemporaryDirectory() as folder:
        launch = Launch(command=("true",), cwd=Path(folder), environment=dict(os.environ), output=Path(folder, "out"))
        start = time.monotonic()
        for _ in range(STARTS):
            await (await Process.start(launch)).wait()
        return (time.monotonic() - start) / STARTS * 1e3


def _interpreters() -> float:
    """Milliseconds for a bare Python to start and end, the mean of 20 in a row."""
    start = time.monotonic()
    for _ in range(STARTS):
        subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
    return (time.monotonic() - start) / STARTS * 1e3


def _busy(shim: psutil.Process) -> float:
    """Seconds of processor time that the helper and we have used."""
    return sum(sum(process.cpu_times()[:2]) for process in (shim, psutil.Process()))


async def _stopped() -> float:
    """Milliseconds from *stop* to the receipt of an agent with 21 descendants, all of which listen."""
    with tempfile.TemporaryDirectory() as folder:
        ready = asyncio.Event()
        process = await Process.start(_launch(folder, CROWD), progress=lambda total, tail: ready.set())
        await ready.wait()
        start = time.monotonic()
        receipt = await process.stop()
        took = time.monotonic() - start
        assert len(receipt.ended) == 22, receipt
        return took * 1e3


def benches() -> Iterable[Bench]:
    """A flood seen from the loop that supervises it; starts; then a stop."""
    look = Turns({"flood": lambda: asyncio.run(_flooded())}).look
    for place, (name, unit, budget) in enumerate(
        (
            ("flood: taken in", "MB/s", "200 MB/s or more"),
            ("flood: taken in per processor second", "MB", ""),
            ("flood: lag of the loop, p99", "ms", "50 ms"),
            ("flood: growth of the helper", "MiB", "8.5 MiB: the half of the output that is kept is 8"),
        )
    ):
        yield Bench(
            name=name,
            unit=unit,
            measure=look(lambda flooded, place=place: flooded[place], "flood"),
            budget=budget,
            rounds=3,
        )
    starts = f"attempt or check, start to end, {STARTS} in a row"
    yield Bench(name=starts, unit="ms", measure=lambda: asyncio.run(_started()), against=_interpreters)
    yield Bench(
        name="stop of 22 processes to the receipt", unit="ms", measure=lambda: asyncio.run(_stopped()), rounds=3
    )
