"""A hanging program at the screen: noticed, asked about, extended and stopped, all by real keys."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import psutil
import pytest
from tests.screen.dialogs.conftest import World

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.errors import UnstuckError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.words.narration import lines_of

Opening = Callable[..., AbstractAsyncContextManager[Any]]
PATIENCE = 60
IDLE = 600.0


async def silent(world: World, limit: float) -> None:
    """A whole limit without activity, with time for the look at its half."""
    began = world.clock.monotonic()
    await world.clock.advance(limit / 2)
    await asyncio.wait_for(world.clock.slept_until(began + limit * 0.8), PATIENCE)
    await world.clock.advance(limit / 2)
    await world.asked()
    await world.awake()


async def test_a_hanging_agent_is_noticed_extended_and_stopped_by_keys(opening: Opening) -> None:
    """The dialog says what was seen of it; *extend* gives it more, and *skip* ends it with a receipt."""
    seen: list[Record] = []
    async with opening() as world:
        core = world.supervisor.core
        core.journal.on_durable(seen.append)
        spec = CommandSpec(command=("sleep", "1000"))
        agent = CommandAgent(spec, folder=core.folder, environ=os.environ, limit=10_000, prompt_limit=10_000)
        world.work(agent, idle_s=IDLE, timeout_s=100_000.0)
        await world.until(lambda: any(isinstance(record.event, e.AgentSpawned) for record in seen))
        await silent(world, IDLE)
        shown = world.shown()
        for words in ("web shows no activity", "STALLED: nothing seen for 10m", "no file changed"):
            assert words in shown
        await world.choose("timeout.extend")
        await world.write("60")
        await world.press("enter")
        await world.until(lambda: not world.supervisor.state.open_gates())
        await silent(world, 60.0)
        await world.choose("timeout.skip")
        assert (await world.done()).status == "skipped"
        lines = [line for record in seen for line in lines_of(record)]
        assert any("stopped 1 process" in line for line in lines)
        (pid,) = [record.event.pid for record in seen if isinstance(record.event, e.AgentSpawned)]
        assert not psutil.pid_exists(pid)


async def counting_down(world: World) -> None:
    """A task is stuck, and its question answers itself after a while."""
    core = world.supervisor.core
    timers = {"stuck": {"after": 30, "answer": "skip"}}
    core.settings = core.settings.model_validate({**core.settings.frozen(), "timers": timers})
    world.fails()
    await world.asked()


async def test_a_key_in_the_dialog_stops_the_timer(opening: Opening) -> None:
    """A question counts down to an answer of its own; I press a key to read on, and it waits for me."""
    async with opening() as world:
        await counting_down(world)
        (row,) = world.supervisor.core.head.open_gates()
        assert row.gate.acts_at == world.clock.monotonic() + 30
        await world.awake()
        await world.press("down")
        await world.until(lambda: world.supervisor.state.gates[row.id].gate.acts_at is None)
        await world.clock.advance(1_000)
        assert world.supervisor.core.head.open_gates()


async def test_a_key_in_a_dialog_whose_run_has_gone_does_nothing(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a second screen: the run is killed while its question counts down, and I press a key to read on."""
    heard = []

    async def gone(gate: str) -> None:
        heard.append(gate)
        raise UnstuckError("the supervisor is gone")

    async with opening() as world:
        await counting_down(world)
        await world.awake()
        monkeypatch.setattr(world.app.view, "keep_open", gone)
        await world.press("down")
        await world.until(lambda: bool(heard))
        await world.choose("stuck.show_me")
        await world.write("still here")
        assert "still here" in world.shown()


async def test_keys_that_come_at_once_stop_the_timer_once(opening: Opening) -> None:
    """A burst of keys in a question that counts down leaves nothing begun and never done."""
    async with opening() as world:
        await counting_down(world)
        await world.awake()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                world.app.questions.key()
            gate = world.gate
            await world.until(lambda: world.supervisor.state.gates[gate].gate.acts_at is None)
            gc.collect()
        assert not said
