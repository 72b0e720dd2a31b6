"""Wake-ups: each for who waits for it, none missed, and none kept once nobody waits."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from unstuck import Guidance, Report, Supervisor, Task, admit
from unstuck.clock.waits import first_of
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.supervision.context.signals import Signals, Subject

PATIENCE = 30


async def test_a_change_between_looking_and_waiting_is_not_missed() -> None:
    """Two who wait for the same question both hear of its answer, however their looks and the answer interleave."""
    signals, heard = Signals(), []
    answered = False

    async def waits(name: str) -> None:
        while True:
            changed = signals.next(Subject.GATE, "g")
            if answered:
                break
            await asyncio.sleep(0)
            await changed.wait()
        heard.append(name)

    both = [asyncio.ensure_future(waits(name)) for name in ("one", "two")]
    await asyncio.sleep(0)
    answered = True
    signals.wake(Subject.GATE, "g")
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*both)
    assert sorted(heard) == ["one", "two"]


async def test_a_late_wake_of_one_who_has_ended_does_nothing() -> None:
    """Nothing is kept for a waiter that was cancelled, and to wake it is harmless."""
    signals = Signals()
    waiting = asyncio.ensure_future(signals.next(Subject.ATTEMPT, "web.1").wait())
    await asyncio.sleep(0)
    assert len(signals) == 1
    waiting.cancel()
    await asyncio.wait([waiting])
    del waiting
    await asyncio.sleep(0)
    gc.collect()
    assert len(signals) == 0
    signals.wake(Subject.ATTEMPT, "web.1")
    signals.wake_all()
    assert not signals.next(Subject.ATTEMPT, "web.1").is_set()


async def test_a_record_wakes_only_whom_it_concerns(repo: Path) -> None:
    """A step or an end of one agent's attempt leaves another agent and another question alone."""
    async with Supervisor.open(repo, Settings()) as supervisor:
        core = supervisor.core
        for name in ("web", "api"):
            supervisor.add(Task(id=name, prompt=admit("Do it")))
        signals = core.signals
        kinds = (Subject.TASK, "web"), (Subject.TASK, "api"), (Subject.ATTEMPT, "web.1"), (Subject.ATTEMPT, "api.1")
        held = {kind: signals.next(*kind) for kind in (*kinds, (Subject.GATE, "g1"), (Subject.TAKEOVER, "api"))}
        step = e.StepRecorded(kind="action", text=admit("ls"))
        core.append(step, task="web", attempt="web.1")
        woken = {kind for kind, event in held.items() if event.is_set()}
        assert woken == {(Subject.TASK, "web"), (Subject.ATTEMPT, "web.1")}
        held |= {kind: signals.next(*kind) for kind in woken}
        core.append(e.AttemptEnded(report=Report(), seconds=1.0), task="web", attempt="web.1")
        woken = {kind for kind, event in held.items() if event.is_set()}
        assert woken == {(Subject.TASK, "web"), (Subject.TASK, "api"), (Subject.ATTEMPT, "web.1")}, "a slot is free"
        await supervisor.stop("enough")
        assert all(event.is_set() for event in held.values())


async def test_a_long_run_keeps_no_signals_of_what_is_over(repo: Path) -> None:
    """After many tasks and attempts a run holds no more wake-ups than after a few."""
    async with Supervisor.open(repo, Settings()) as supervisor:
        kept = []

        async def works(guidance: Guidance) -> Report:
            return Report()

        for number in range(40):
            await supervisor.supervise(Task(id=f"t{number}", prompt=admit("Do it")), works)
            gc.collect()
            kept.append(len(supervisor.core.signals))
        assert max(kept[20:]) <= max(kept[:5])
        assert kept[-1] <= len(Subject)


async def test_the_first_of_several_ends_the_wait() -> None:
    """A task of the caller's goes on, a coroutine of the wait itself has ended with it."""
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    mine, now = asyncio.ensure_future(asyncio.Event().wait()), asyncio.Event()
    now.set()
    async with asyncio.timeout(PATIENCE):
        assert await first_of(mine, now.wait(), endless(), None) == (False, True, False, False)
    assert ended.is_set()
    assert not mine.done()
    mine.cancel()


async def test_a_cancelled_wait_leaves_only_the_callers_tasks() -> None:
    """Cancelled, it is over at once; its own coroutines have ended, the caller's task has not."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    mine = asyncio.ensure_future(asyncio.Event().wait())
    waiting = asyncio.ensure_future(first_of(mine, endless()))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
    assert not mine.done()
    mine.cancel()


async def test_what_a_part_of_the_wait_raises_is_raised() -> None:
    """A failure is not lost; that of a task of the caller's is the caller's."""

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await first_of(fails(), asyncio.Event().wait())
    mine = asyncio.ensure_future(fails())
    assert await first_of(mine, asyncio.Event().wait()) == (True, False)
    with pytest.raises(ValueError, match="no"):
        mine.result()
