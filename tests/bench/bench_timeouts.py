"""Thousands of tasks under the monitor: how late each is told, what watching costs, and what their gates cost."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable

from bench_kit import Bench, Turns

from unstuck import GateManager
from unstuck.supervision.standalone.timeout_monitor import TimeoutMonitor

TASKS = 10_000
SPREAD_S = 2.0
QUIET_S = 2.0
TIMEOUTS = 20_000


async def _lateness() -> list[float]:
    """Milliseconds between each task's limit and its callback, with limits spread over two seconds."""
    late: list[float] = []
    monitor = TimeoutMonitor()
    await monitor.start()
    began = time.monotonic()
    for number in range(TASKS):
        limit = 1.0 + SPREAD_S * number / TASKS

        def told(due: float = time.monotonic() + limit) -> None:
            late.append((time.monotonic() - due) * 1e3)

        await monitor.monitor_task(f"t{number}", "a", "x", timeout_seconds=limit, on_timeout=told)
    while len(late) < TASKS:
        await asyncio.sleep(began + 1.0 + SPREAD_S - time.monotonic() if not late else 0.1)
    await monitor.stop()
    return sorted(late)


async def _idle() -> float:
    """Milliseconds of processor time in two seconds in which no limit is reached."""
    monitor = TimeoutMonitor()
    await monitor.start()
    for number in range(TASKS):
        await monitor.monitor_task(f"t{number}", "a", "x", timeout_seconds=3_600 + number)
    await asyncio.sleep(0.1)
    before = time.process_time()
    await asyncio.sleep(QUIET_S)
    used = time.process_time() - before
    await monitor.stop()
    return used * 1e3


async def _all_at_once(gates: GateManager | None) -> float:
    """Processor seconds to watch 20,000 tasks until each is told that its time is up, with a gate from ``gates``."""
    told, done = 0, asyncio.Event()

    def on_timeout() -> None:
        nonlocal told
        told += 1
        if told == TIMEOUTS:
            done.set()

    gc.collect()  # what the measurement before has left
    before = time.process_time()
    monitor = TimeoutMonitor(gates)
    for number in range(TIMEOUTS):
        await monitor.monitor_task(f"t{number}", "a", "x", timeout_seconds=1e-6, on_timeout=on_timeout)
    await monitor.start()
    await done.wait()
    used = time.process_time() - before
    await monitor.stop()
    assert gates is None or len(gates.open_gates()) == TIMEOUTS
    return used


def benches() -> Iterable[Bench]:
    """Lateness of the middle and of the last hundredth; the cost of waiting; gates beside the timers alone."""
    look = Turns({"late": lambda: asyncio.run(_lateness())}).look
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        yield Bench(
            name=f"{TASKS:,} tasks, lateness {name}",
            unit="ms",
            measure=look(lambda late, share=share: late[int(TASKS * share)], "late"),
            budget="50 ms" if name == "p99" else "",
            rounds=3,
        )
    yield Bench(
        name=f"{TASKS:,} tasks, nothing due for {QUIET_S:g} s: processor time",
        unit="ms",
        measure=lambda: asyncio.run(_idle()),
        budget="about nothing",
        rounds=3,
    )
    yield Bench(
        name=f"{TIMEOUTS:,} time-outs with gates (ratio to the timers alone)",
        unit="s",
        measure=lambda: asyncio.run(_all_at_once(GateManager())),
        against=lambda: asyncio.run(_all_at_once(None)),
        budget="ratio 2",
        rounds=3,
    )
