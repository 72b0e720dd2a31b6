"""Measure the log: `python tests/bench/bench_log.py [DIRECTORY]`. Ratios of one run count, absolute numbers do not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from unstuck.record.log import LogWriter, read_lines, verify

BODY = json.dumps({"time": "2026-11-21T20:14:09.565Z", "event": "step_recorded", "data": {"text": "x" * 250}}).encode()


def rate(count: int, work: Callable[[], object]) -> float:
    """How often a second ``work``, which does ``count`` things, does one."""
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


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


def main(directory: Path, records: int = 200_000) -> None:
    single = rate(300, lambda: one_by_one(directory / "single", 300))
    print(f"one sync per record          {single:12,.0f} /s")
    for producers in (1, 10, 100, 1000):
        path = directory / f"together-{producers}"
        each = max(20, 300 // producers)
        many = rate(producers * each, lambda path=path, p=producers, n=each: together(path, p, n))  # type: ignore[misc]
        print(f"acknowledged, {producers:4} producers {many:12,.0f} /s   {many / single:6.1f} x")
    path = directory / "long"
    print(f"appended, not awaited        {rate(records, lambda: long_log(path, records)):12,.0f} /s")
    print(f"checked                      {rate(records, lambda: verify(path)):12,.0f} /s")
    near = next(line.end for line in read_lines(path, after=records - 1_000))
    last = rate(1, lambda: verify(path, start=near))
    print(f"checked from a snapshot      {1000 / last:12.2f} ms for the last 1,000 of {records:,}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(dir=".") as scratch:
            main(Path(scratch))
