"""Cost of a durable record, beside a sync for each through aiofiles and beside SQLite; cost of a long run's start.

Prints its own table. ``UNSTUCK_BENCH_EVENTS`` is how many events the long run has (200,000). Each row is the median
of its rounds; the three ways to record take turns, because a shared disk is another one a minute later.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from statistics import median, quantiles

import aiofiles

from unstuck.eventlog.envelope import decode
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import read_lines, verify
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.log.writer import LogWriter

EVENTS = int(os.environ.get("UNSTUCK_BENCH_EVENTS", "200000"))
PRODUCERS = (1, 10, 100)
ROUNDS = 3
BODY = json.dumps(
    {
        "time": "2026-11-21T20:14:09.565Z", "mono": 12.5, "run": "r", "actor": "agent", "task": "web",
        "attempt": "web.1", "cause": 3, "event": "step_recorded",
        "data": {"kind": "action", "tool": "bash", "text": "x" * 150, "exit_code": None, "identity": "", "role": ""},
    }
).encode()  # fmt: skip

Append = Callable[[], Awaitable[None]]


@asynccontextmanager
async def ours(place: Path):  # type: ignore[no-untyped-def]
    """The log of this project."""
    log = LogWriter.open(place / "ours")
    yield lambda: log.durable(log.append(BODY))
    await log.close()


@asynccontextmanager
async def each_by_itself(place: Path):  # type: ignore[no-untyped-def]
    """One write and one sync for each event, as one writes it with aiofiles."""
    lock = asyncio.Lock()
    async with aiofiles.open(place / "aiofiles", "ab") as file:

        async def append() -> None:
            async with lock:
                await file.write(BODY + b"\n")
                await file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())

        yield append


@asynccontextmanager
async def sqlite(place: Path):  # type: ignore[no-untyped-def]
    """SQLite, WAL with synchronous=FULL: a thread commits all that has come together, as our own does."""
    loop = asyncio.get_running_loop()
    waiting: queue.SimpleQueue[asyncio.Future[None] | None] = queue.SimpleQueue()

    def work() -> None:
        base = sqlite3.connect(place / "sqlite", isolation_level=None)
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=FULL")
        base.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body BLOB)")
        while (first := waiting.get()) is not None:
            batch = [first]
            while not waiting.empty() and (more := waiting.get()) is not None:
                batch.append(more)
            base.execute("BEGIN")
            base.executemany("INSERT INTO events (body) VALUES (?)", [(BODY,)] * len(batch))
            base.execute("COMMIT")
            loop.call_soon_threadsafe(lambda done=batch: [future.set_result(None) for future in done])
        base.close()

    thread = threading.Thread(target=work)
    thread.start()

    def append() -> asyncio.Future[None]:
        future: asyncio.Future[None] = loop.create_future()
        waiting.put(future)
        return future

    yield append
    waiting.put(None)
    await asyncio.to_thread(thread.join)


WAYS = {"ours": (ours, 400), "a sync each, aiofiles": (each_by_itself, 20), "SQLite WAL FULL, batched": (sqlite, 400)}


async def acknowledged(way: str, producers: int) -> tuple[float, list[float]]:
    """Events per second, and how long each was waited for (ms)."""
    opened, each = WAYS[way]
    each = max(2, each // (1 if producers == 1 else 4))
    latencies: list[float] = []

    async def produce(append: Append) -> None:
        for _ in range(each):
            start = time.perf_counter()
            await append()
            latencies.append((time.perf_counter() - start) * 1e3)

    # Beside the project, because a file system in memory has nothing to sync.
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as scratch:
        async with opened(Path(scratch)) as append:
            start = time.perf_counter()
            await asyncio.gather(*(produce(append) for _ in range(producers)))
            taken = time.perf_counter() - start
    return len(latencies) / taken, latencies


def compare_ways() -> None:
    """Acknowledged events per second and their latency, with our ratio to the others."""
    for producers in PRODUCERS:
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        waits: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way in WAYS:
                rate, latencies = asyncio.run(acknowledged(way, producers))
                rates[way].append(rate)
                waits[way] += latencies
        own = median(rates["ours"])
        for way in WAYS:
            rate, cuts = median(rates[way]), quantiles(waits[way], n=100)
            ratio = "" if way == "ours" else f"  ours is {own / rate:.1f} ×"
            budget = "  budget ≥ 10 ×" if producers == 100 and "aiofiles" in way else ""
            said = f"{rate:>10,.0f}/s  p50 {cuts[49]:>8.2f} ms  p99 {cuts[98]:>8.2f} ms"
            print(f"  acknowledged, {producers:>3} producers, {way:<26} {said}{ratio}{budget}", flush=True)


def long_run(folder: Path) -> None:
    """The log of a long run, written without waiting."""

    async def main() -> None:
        log = LogWriter.open(folder / LOG_NAME)
        for number in range(EVENTS):
            seq = log.append(BODY)
            if number % 10_000 == 0:
                await log.durable(seq)
        await log.close()

    asyncio.run(main())


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


OPENER = """
import asyncio, sys, time
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.eventlog.log.journal import Journal

async def main():
    before = time.perf_counter()
    journal = await Journal.open(Path(sys.argv[1]), run="r", clock=SystemClock())
    took = time.perf_counter() - before
    # Not getrusage: its peak is also that of whoever started this process.
    (peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(took, peak, journal.head.seq)
    await journal.close()

asyncio.run(main())
"""


def opened_elsewhere(folder: Path) -> tuple[float, float]:
    """Seconds and peak memory (MB) of a fresh process that opens the run to go on with it."""
    said = subprocess.run([sys.executable, "-c", OPENER, str(folder)], capture_output=True, text=True, check=True)
    seconds, kilobytes, seq = said.stdout.split()
    assert int(seq) == EVENTS
    return float(seconds), int(kilobytes) / 1024


def read_back() -> None:
    """Checking, replaying and starting on a long run."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as scratch:
        folder = Path(scratch)
        took = timed(lambda: long_run(folder))
        path = folder / LOG_NAME
        print(f"  appended, not awaited, {EVENTS:,} events {took:>20.2f} s  {path.stat().st_size / 2**20:,.0f} MB")
        print(f"  checked (checksums) {timed(lambda: verify(path)):>42.2f} s")
        lines = [line.raw for line in islice(read_lines(path), 50_000)]
        decode(lines[0])
        alone = timed(lambda: [decode(raw) for raw in lines]) * EVENTS / len(lines)
        whole = timed(lambda: replay(path))
        print(f"  validated alone {alone:>46.2f} s")
        rate = f"{EVENTS / whole:,.0f}/s  budget ≥ 200,000/s"
        print(f"  replayed {whole:>53.2f} s  {alone / whole:.2f} of validating alone  {rate}")
        seconds, memory = opened_elsewhere(folder)
        print(f"  started without a snapshot {seconds:>35.2f} s  {memory:.0f} MB")
        assert (folder / SNAPSHOT_NAME).exists()
        seconds, memory = opened_elsewhere(folder)
        print(f"  started from a snapshot {seconds:>38.2f} s  {memory:.0f} MB  budget < 1 s")


if __name__ == "__main__":
    compare_ways()
    read_back()
