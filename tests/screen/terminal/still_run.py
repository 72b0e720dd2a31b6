"""A busy hour of a made-up run on a real terminal, in which time stands still; once that is left, the run again.

Its records are written one by one as in the tests without a terminal, so every time, id and number is always the same.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from unstuck.eventlog import events as e
from unstuck.runs.view.local_run import LiveRun
from unstuck.supervision.run.supervisor import Supervisor
from unstuck_tui.app.host import show_alone
from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.keys.preferences import preferences
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun

sys.path.append(str(Path(__file__).parents[3]))  # a program of its own finds no other file of the tests

from tests.manual_clock import ManualClock


class StillClock(ManualClock):
    """Time passes only where the story says so; whoever waits for less than a second need not wait."""

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        return asyncio.sleep(0) if seconds < 1 else super().sleep(seconds)


def story_of(supervisor: Supervisor, clock: ManualClock) -> Any:
    """Write the run about a shop that the tests beside this one show."""
    spec = importlib.util.spec_from_file_location("stories", Path(__file__).parents[1] / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    stories = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stories)
    return stories.Story(supervisor, clock)


async def main() -> None:
    """Show the run, and show it again."""
    clock, start = StillClock(), e.RunStarted(project="shop", kind="plan")
    settings = preferences(os.environ)
    place = Path.cwd().parent / "still"
    place.mkdir()
    async with Supervisor.open(place, clock=clock, person=True, start=start) as supervisor:
        story, log = story_of(supervisor, clock), supervisor.core.journal.path
        await story.shop()
        await story.core.journal.committed()
        await show_alone(UnstuckApp(LiveRun(supervisor), settings))
    await show_alone(ReplayApp(ReplayedRun(indexed(log)), settings))


asyncio.run(main())
