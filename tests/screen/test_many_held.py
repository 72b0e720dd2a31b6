"""Many agents at once: all of them are held before the files of one are saved."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from unstuck.errors import UsageError
from unstuck_tui.control.interventions import Interventions

TASKS = tuple(f"t{number}" for number in range(20))


class SlowSaves:
    """A run whose holds end only when all have begun, as where each saves files for a long time."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.all = asyncio.Event()

    async def hold(self, task: str) -> str:
        self.begun.append(task)
        if len(self.begun) == len(TASKS):
            self.all.set()
        await self.all.wait()
        if task == "t7":
            raise UsageError("no agent works at t7 at the moment")
        return f"g-{task}"


async def test_the_twentieth_agent_is_held_before_the_first_save_ends() -> None:
    """One that cannot be held is named, and keeps no other from it."""
    run, notes = SlowSaves(), []
    app: Any = SimpleNamespace(notify=lambda text, **_: notes.append(text))
    view: Any = run
    questions: Any = None
    async with asyncio.timeout(60):
        await Interventions(app, view, questions)._hold(TASKS)
    assert run.begun == list(TASKS)
    assert any("no agent works at t7" in text for text in notes)
    assert "19 are held and wait for you." in notes
