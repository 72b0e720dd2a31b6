"""What it costs to be told that a record is on the disk, beside one write and one sync for each of them."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bench_kit import Bench, seconds

from unstuck.record.log import read_lines, verify
from unstuck.record.writer import LogWriter

BODY = json.dumps({"time": "2026-11-21T20:14:09.565Z", "event": "step_recorded", "data": {"text": "x" * 250}}).encode()
RECORDS = 200_000
ALONE = 100
EACH = 100
PRODUCERS = (1, 10, 100, 1_000)


def one_by_one(path: Path, count: int) -> None:
    """The measure: one write and one sync for each record."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for _ in range(count):
        os.write(fd, BODY + b"\n")
        os.fdatasync(fd)
    os.close(fd)


def together(path: Path, producers: int, each: int) -> None:
    """Producers that each wait for their own record before the next."""

    async def produce(log: LogWriter) -> None:
        for _ in range(each):
            await log.durable(log.append(BODY))

    async def main() -> None:
        log = LogWriter.open(path)
        await asyncio.gather(*(produce(log) for _ in range(producers)))
        await log.close()

    asyncio.run(main())


def long_log(path: Path, count: int) -> None:
    """A log of ``count`` records, written without waiting."""

    async def main() -> None:
        log = LogWriter.open(path)
        for number in range(count):
            seq = log.append(BODY)
            if number % 10_000 == 0:
                await log.durable(seq)
        await log.close()

    asyncio.run(main())


def each(count: int, work: Callable[[Path], object]) -> Callable[[], float]:
    """A measurement of ``work``, which writes ``count`` records into an empty directory: microseconds a record."""

    def measure() -> float:
        # Beside the project, because a file system in memory has nothing to sync.
        with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as scratch:
            return seconds(lambda: work(Path(scratch) / "log")) * 1e6 / count

    return measure


def benches() -> Iterable[Bench]:
    """Acknowledged by few and by many at once, each against one sync for each record; then reading back."""
    alone = each(ALONE, lambda path: one_by_one(path, ALONE))
    for producers in PRODUCERS:
        yield Bench(
            name=f"acknowledged, {producers:,} producers (ratio to a sync each)",
            unit="µs",
            measure=each(producers * EACH, lambda path, p=producers, n=EACH: together(path, p, n)),  # type: ignore[misc]
            against=alone,
            budget="ratio 0.1" if producers == 100 else "",
        )
    yield Bench(
        name="appended, not awaited", unit="µs", measure=each(RECORDS, lambda path: long_log(path, RECORDS)), rounds=1
    )
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as scratch:
        path = Path(scratch) / "log"
        long_log(path, RECORDS)
        near = next(line.end for line in read_lines(path, after=RECORDS - 1_000))
        yield Bench(
            name=f"checked, {RECORDS:,} records",
            unit="µs",
            measure=lambda: seconds(lambda: verify(path)) * 1e6 / RECORDS,
            rounds=3,
        )
        yield Bench(
            name="checked from a snapshot, the last 1,000",
            unit="ms",
            measure=lambda: seconds(lambda: verify(path, start=near)) * 1e3,
        )
