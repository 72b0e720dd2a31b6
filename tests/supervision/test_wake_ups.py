"""Wake-ups: each for who waits for it, none missed, and none kept once nobody waits."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any, Literal

import pytest

from unstuck import Guidance, Report, Supervisor, Task, admit
from unstuck.clock.waits import first_of
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.state import State, TaskRow
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.context.next_step import Step, next_step, working
from unstuck.supervision.context.signals import Signals, Subject
from unstuck.supervision.run import session as sessions
from unstuck.supervision.run.coordinator import Coordinator

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
        assert woken == {(Subject.TASK, "web"), (Subject.ATTEMPT, "web.1")}
        await supervisor.stop("enough")
        assert all(event.is_set() for event in held.values())


async def waits_in(signals: Signals, name: str, who: str, heard: list[str]) -> None:
    """Wait for the turn in a line."""
    with signals.line(name) as turn:
        await turn.wait()
        heard.append(who)


async def turned() -> None:
    """Every task of the loop that can go on has gone on."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_free_place_is_given_to_the_first_in_line() -> None:
    """Each time one of the line goes on, the one who has waited longest; another line has its own first."""
    signals, heard = Signals(), list[str]()
    lines = ("slot", "one"), ("slot", "two"), ("tree", "three")
    waiting = [asyncio.ensure_future(waits_in(signals, name, who, heard)) for name, who in lines]
    await turned()
    signals.wake_first("slot")
    await turned()
    assert heard == ["one"]
    signals.wake_lines()
    await turned()
    assert sorted(heard) == ["one", "three", "two"]
    await asyncio.gather(*waiting)


async def test_a_turn_is_not_lost_with_one_who_gives_up() -> None:
    """A task that leaves the line is passed over, and a turn that came too late goes to the next."""
    signals, heard = Signals(), list[str]()
    waiting = [asyncio.ensure_future(waits_in(signals, "slot", who, heard)) for who in ("one", "two", "three")]
    await turned()
    waiting[0].cancel()
    await turned()
    signals.wake_first("slot")
    waiting[1].cancel()
    await turned()
    assert heard == ["three"]
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_slot_is_not_kept_from_a_task_by_one_whose_directory_is_taken(repo: Path) -> None:
    """The first in line needs a directory in which another works: the one behind it starts."""
    async with Supervisor.open(repo, Settings(max_parallel=2, unverified="accept")) as supervisor:
        assert supervisor.core.worktrees is not None
        await supervisor.core.worktrees.prepare()
        ends = {name: asyncio.Event() for name in ("shared-1", "apart-1", "shared-2", "apart-2")}
        begun: asyncio.Queue[str] = asyncio.Queue()

        async def works(guidance: Guidance) -> Report:
            task = guidance.attempt.rpartition(".")[0]
            begun.put_nowait(task)
            await ends[task].wait()
            return Report()

        async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE):
            for name in ends:
                isolation: Literal["shared", "worktree"] = "worktree" if name.startswith("apart") else "shared"
                task = Task(id=name, prompt=admit("Do it"), isolation=isolation)
                group.create_task(supervisor.supervise(task, works))
                if name.endswith("1"):
                    assert await begun.get() == name
            ends["apart-1"].set()
            assert await begun.get() == "apart-2", "shared-2 waits for the directory of shared-1"
            ends["shared-1"].set()
            assert await begun.get() == "shared-2"
            for event in ends.values():
                event.set()


async def test_the_tasks_at_work_are_known_after_every_record(repo: Path) -> None:
    """The index that says so is at every event what a look at all tasks finds."""
    async with Supervisor.open(repo, Settings(max_parallel=2, unverified="accept")) as supervisor:
        core, seen = supervisor.core, set[int]()
        assert core.worktrees is not None
        await core.worktrees.prepare()

        def compare(record: Record) -> None:
            assert {row.id for row in core.busy()} == {row.id for row in working(core.head)}
            seen.add(len(core.busy()))

        core.journal.on_append(compare)

        async def works(guidance: Guidance) -> Report:
            await asyncio.sleep(0)
            return Report(how="ended" if guidance.attempt.endswith(("1.1", "2.1")) else "crashed", exit_code=1)

        async with asyncio.timeout(PATIENCE):
            for number in range(4):
                needs = ("t0",) if number == 3 else ()
                supervisor.add(Task(id=f"t{number}", prompt=admit("Do it"), needs=needs, isolation="worktree"))
            await Coordinator(supervisor, lambda task: CallableAgent(works)).run()
        assert seen >= {0, 1, 2}


async def test_twice_as_many_tasks_are_looked_at_twice_as_often(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a task does not grow with the number of those that wait in line."""
    looks: list[str] = []

    def counted(state: State, row: TaskRow, **options: Any) -> Step:
        looks.append(row.id)
        return next_step(state, row, **options)

    monkeypatch.setattr(sessions, "next_step", counted)

    async def works(guidance: Guidance) -> Report:
        return Report()

    counts = []
    async with Supervisor.open(repo, Settings(unverified="accept")) as supervisor:
        for count in (10, 20):
            looks.clear()
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    task = Task(id=f"{count}-{number}", prompt=admit("Do it"))
                    group.create_task(supervisor.supervise(task, works))
            counts.append(len(looks))
    assert counts[1] <= 2.2 * counts[0]


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
