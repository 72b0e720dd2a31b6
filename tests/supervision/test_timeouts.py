"""The monitor of time-outs alone, by a clock that the test moves.

What is asked of the monitor, and where it is shown:

| timeout detection | ``test_to_the_second_and_not_before`` |
| timeout accuracy | ``test_to_the_second_and_not_before``, ``test_many_tasks_one_timer`` |
| gate creation on timeout | ``test_the_gate_of_a_timeout``, ``test_more_time_puts_it_back_under_the_monitor`` |
| task completion removes monitoring | ``test_done_in_time_is_left_alone`` |
| multiple concurrent tasks | ``test_many_tasks_one_timer`` |
| custom timeout values | ``test_other_types_and_own_limits`` |
| statistics accuracy | ``test_statistics`` |
| callbacks | ``test_a_callback_may_be_a_coroutine_function``, ``test_a_callback_that_raises_stops_nobody`` |
| graceful shutdown | ``test_stopped_it_leaves_its_gates_open`` |
"""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck import Answer, GateManager, TimeoutMonitor

PATIENCE = 60


@pytest.fixture
async def monitor(clock: ManualClock) -> AsyncIterator[TimeoutMonitor]:
    watching = TimeoutMonitor(GateManager(), clock=clock)
    await watching.start()
    yield watching
    await watching.stop()


async def test_to_the_second_and_not_before(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """The callback comes exactly at the limit of the agent's type, once, and the task is watched no more."""
    fired: list[float] = []
    began = clock.monotonic()
    await monitor.monitor_task("t", "a", "qa_engineer", on_timeout=lambda: fired.append(clock.monotonic() - began))
    await clock.advance(599.999)
    assert fired == []
    await clock.advance(0.001)
    assert fired == [600.0]
    await clock.advance(10_000)
    assert fired == [600.0]
    assert monitor.get_monitor_stats()["active_count"] == 0


async def test_the_gate_of_a_timeout(clock: ManualClock) -> None:
    """The gate says who, how long and since when."""
    gates = GateManager()
    monitor = TimeoutMonitor(gates, clock=clock)
    await monitor.start()
    await monitor.monitor_task("task-123", "backend-dev-1", "backend_developer")
    await clock.advance(900)
    (gate,) = gates.open_gates()
    assert gate.type == "timeout"
    assert gate.task == "task-123"
    assert dict(gate.context) == {
        "task_id": "task-123",
        "agent_id": "backend-dev-1",
        "elapsed_seconds": 900.0,
        "timeout_seconds": 900,
        "started_at": "2027-01-15T08:00:00.000Z",
        "timeout_type": "task_timeout",
    }
    await monitor.stop()
    assert gates.open_gates() == (gate,), "a monitor that stops leaves its gates open"


async def test_statistics(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """Elapsed and remaining seconds of each task, as they are now."""
    await monitor.monitor_task("t", "a", "orchestrator", metadata={"why": "test"})
    await clock.advance(300)
    stats = monitor.get_monitor_stats()
    assert stats["active_count"] == 1
    assert stats["running"] is True
    (row,) = stats["tasks"]
    assert row["task_id"] == "t"
    assert row["elapsed_seconds"] == 300.0
    assert row["remaining_seconds"] == 1500.0
    assert row["metadata"] == {"why": "test"}
    monitor.complete_task("t")
    monitor.complete_task("never seen")
    assert monitor.get_monitor_stats() == {"active_count": 0, "running": True, "tasks": []}
    await monitor.stop()
    assert monitor.get_monitor_stats()["running"] is False


async def test_done_in_time_is_left_alone(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """A task that completes before its limit is never heard of again, and may be watched anew with a new limit."""
    fired: list[str] = []
    await monitor.monitor_task("t", "a", "x", timeout_seconds=10, on_timeout=lambda: fired.append("first"))
    await clock.advance(9)
    monitor.complete_task("t")
    await monitor.monitor_task("t", "a", "x", timeout_seconds=10, on_timeout=lambda: fired.append("second"))
    await clock.advance(9)
    assert fired == []
    await clock.advance(1)
    assert fired == ["second"]


async def test_other_types_and_own_limits(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """A type without a limit has 900 seconds; a limit that is given wins; none that cannot be met is taken."""
    fired: list[str] = []
    await monitor.monitor_task("other", "a", "poet", on_timeout=lambda: fired.append("other"))
    await monitor.monitor_task("own", "a", "poet", timeout_seconds=1, on_timeout=lambda: fired.append("own"))
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="above zero"):
            await monitor.monitor_task("w", "a", "poet", timeout_seconds=wrong)
    await clock.advance(899)
    assert fired == ["own"]
    await clock.advance(1)
    assert fired == ["own", "other"]


async def test_a_callback_may_be_a_coroutine_function(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """An asynchronous callback is awaited, and a slow one delays no other deadline."""
    fired: list[str] = []
    finish = asyncio.Event()

    async def slow() -> None:
        await finish.wait()
        fired.append("slow")

    await monitor.monitor_task("slow", "a", "x", timeout_seconds=1, on_timeout=slow)
    await monitor.monitor_task("next", "a", "x", timeout_seconds=2, on_timeout=lambda: fired.append("next"))
    await clock.advance(2)
    assert fired == ["next"]
    finish.set()
    await clock.settle()
    assert fired == ["next", "slow"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_callback_that_raises_stops_nobody(
    monitor: TimeoutMonitor, clock: ManualClock, asynchronous: bool
) -> None:
    """A mistake in one callback is reported to the loop; the monitor goes on and the next task is told in time."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    fired: list[str] = []

    def wrong() -> None:
        raise ZeroDivisionError("oops")

    async def wrong_later() -> None:
        raise ZeroDivisionError("oops")

    callback: Callable[[], object] = wrong_later if asynchronous else wrong
    await monitor.monitor_task("wrong", "a", "x", timeout_seconds=1, on_timeout=callback)
    await monitor.monitor_task("right", "a", "x", timeout_seconds=2, on_timeout=lambda: fired.append("right"))
    await clock.advance(5)
    assert fired == ["right"]
    assert monitor.get_monitor_stats()["running"]
    (context,) = told
    assert "wrong" in context["message"]
    assert isinstance(context["exception"], ZeroDivisionError)


async def test_a_gate_that_cannot_be_opened_stops_nobody(clock: ManualClock) -> None:
    """The callback is called, and the monitor goes on, even if the gate manager fails."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))

    class Broken:
        async def create_gate(self, gate_type: str, **about: Any) -> str:
            raise OSError("disk full")

    fired: list[str] = []
    monitor = TimeoutMonitor(Broken(), clock=clock)
    await monitor.start()
    for name in ("one", "two"):
        await monitor.monitor_task(name, "a", "x", timeout_seconds=1, on_timeout=lambda: fired.append("fired"))
    await clock.advance(1)
    assert fired == ["fired", "fired"]
    assert len(told) == 2
    await monitor.stop()


async def test_more_time_puts_it_back_under_the_monitor(clock: ManualClock) -> None:
    """Extended by 50 seconds it is watched again, from the answer on, and asked about anew after exactly those."""
    gates, fired = GateManager(), list[float]()
    monitor = TimeoutMonitor(gates, clock=clock)
    await monitor.start()
    await monitor.monitor_task(
        "t", "a", "x", 100, on_timeout=lambda: fired.append(clock.monotonic()), metadata={"k": 1}
    )
    began = clock.monotonic()
    await clock.advance(100)
    (gate,) = gates.open_gates()
    await clock.advance(1_000)
    await gates.answer(gate.id, Answer(choice="extend", number=50))
    await clock.settle()
    (row,) = monitor.get_monitor_stats()["tasks"]
    assert row["remaining_seconds"] == 50
    assert row["timeout_seconds"] == 1_150
    assert row["metadata"] == {"k": 1}
    await clock.advance(49)
    assert len(fired) == 1
    await clock.advance(1)
    assert [moment - began for moment in fired] == [100, 1_150]
    (again,) = gates.open_gates()
    assert again.context["elapsed_seconds"] == 1_150
    await gates.answer(again.id, Answer(choice="continue"))
    await clock.advance(10_000)
    assert len(fired) == 2
    assert gates.open_gates() == ()
    assert monitor.get_monitor_stats()["active_count"] == 0
    await monitor.stop()


async def test_stopped_it_leaves_its_gates_open(clock: ManualClock) -> None:
    """Stopping the monitor answers nothing, and tells nobody whose time is not up."""
    gates = GateManager()
    monitor = TimeoutMonitor(gates, clock=clock)
    await monitor.start()
    for task, limit in (("early", 10), ("late", 20)):
        await monitor.monitor_task(task, "a", "x", limit)
    await clock.advance(15)
    await monitor.stop()
    await clock.advance(100)
    assert [gate.task for gate in gates.open_gates()] == ["early"]
    assert monitor.get_monitor_stats()["running"] is False


@pytest.mark.parametrize("limit", [0.01, 10 * 365 * 86_400.0])
async def test_very_short_and_very_long_limits(monitor: TimeoutMonitor, clock: ManualClock, limit: float) -> None:
    """A hundredth of a second and ten years are limits like any other."""
    fired: list[float] = []
    began = clock.monotonic()
    await monitor.monitor_task("t", "a", "x", limit, on_timeout=lambda: fired.append(clock.monotonic() - began))
    await clock.advance(limit * 0.999)
    assert fired == []
    await clock.advance(limit * 0.001)
    assert fired == [pytest.approx(limit)]


async def test_many_tasks_one_timer(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """A thousand tasks need one timer, and each is told at its own time."""
    fired: list[tuple[int, float]] = []
    began = clock.monotonic()
    for number in range(1_000):
        await monitor.monitor_task(
            f"t{number}",
            "a",
            "x",
            timeout_seconds=100 + (number * 7919) % 20,
            on_timeout=lambda number=number: fired.append((number, clock.monotonic() - began)),
        )
    await clock.settle()
    assert clock.sleepers == 1
    await clock.advance(200)
    assert len(fired) == 1_000
    assert all(at == 100 + (number * 7919) % 20 for number, at in fired)


async def test_the_monitor_may_be_stopped_by_its_own_callback(monitor: TimeoutMonitor, clock: ManualClock) -> None:
    """The monitor can be stopped by its own callback, and started again later."""
    await monitor.monitor_task("t", "a", "x", timeout_seconds=1, on_timeout=monitor.stop)
    await clock.advance(1)
    assert monitor.get_monitor_stats()["running"] is False
    fired: list[int] = []
    await monitor.start()
    await monitor.monitor_task("t", "a", "x", timeout_seconds=1, on_timeout=lambda: fired.append(1))
    await clock.advance(1)
    assert fired == [1]


async def test_thousands_at_once_let_others_have_turns(clock: ManualClock) -> None:
    """While two thousand tasks are told that their time is up, the rest of the program goes on in between."""
    monitor, told, seen = TimeoutMonitor(clock=clock), list[str](), set[int]()
    await monitor.start()
    for number in range(2_000):
        await monitor.monitor_task(f"t{number}", "a", "x", 5, on_timeout=lambda: told.append("told"))

    async def beside() -> None:
        while len(told) < 2_000:
            seen.add(len(told))
            await asyncio.sleep(0)

    other = asyncio.ensure_future(beside())
    await clock.advance(5)
    await other
    await monitor.stop()
    assert len(seen - {0}) > 10


async def test_nothing_is_kept_of_a_task_that_nobody_asks_about(clock: ManualClock) -> None:
    """Without a gate manager, a callback that was called is let go."""

    class Callback:
        def __call__(self) -> None:
            pass

    monitor, callback = TimeoutMonitor(clock=clock), Callback()
    kept = weakref.ref(callback)
    await monitor.start()
    await monitor.monitor_task("t", "a", "x", 5, on_timeout=callback)
    del callback
    await clock.advance(5)
    await monitor.stop()
    gc.collect()
    assert kept() is None
