"""The screen of a run that is not open yet: true of its tasks, and no key that is pressed meanwhile is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.screen.conftest import Story
from textual.geometry import Size
from textual.pilot import Pilot

from unstuck.eventlog import events as e
from unstuck.rows.json_rows import show_rows
from unstuck.runs.view.local_run import LiveRun
from unstuck.settings.screen_settings import ScreenSettings
from unstuck.supervision.run.supervisor import Supervisor
from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.render.tasks.opening import KnownTask, Opening, opening_of, opening_of_tasks
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.screens.opening import OpeningScreen

QUIET = ScreenSettings(notify="off", dialogs="list")


def rows_of(app: UnstuckApp) -> list[str]:
    """The lines on the screen."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


async def opened(app: UnstuckApp, pilot: Pilot[Any], supervisor: Supervisor) -> None:
    await app.open(LiveRun(supervisor))
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_frame_of_the_saved_rows_is_that_of_the_run(
    size: tuple[int, int], repo: Path, clock: ManualClock
) -> None:
    """Each task stands in the same place with the same state and agent before its run is loaded and after that."""
    async with Supervisor.open(repo, clock=clock, person=True, start=e.RunStarted(project="shop")) as supervisor:
        story = Story(supervisor, clock)
        await story.shop()
        await story.core.journal.committed()
        rows = list(show_rows(supervisor.run, supervisor.state, clock.now()))
        known = opening_of(rows, "shop", elapsed=0.0)
        app = UnstuckApp(known, QUIET)
        async with app.run_test(size=size) as pilot:
            before = rows_of(app)
            assert isinstance(app.screen, OpeningScreen)
            await opened(app, pilot, supervisor)
            assert isinstance(app.screen, MainScreen)
            after = rows_of(app)
        heading = next(place for place, line in enumerate(before) if "TASK " in line)
        assert before[heading] == after[heading]
        for task in known.tasks:
            (place,) = (place for place, line in enumerate(before) if place > heading and f" {task.id} " in line[:30])
            # Clocks, levels and what turns are not known before; what is known stands where it stands then.
            assert after[place].split()[:3] == before[place].split()[:3]
            assert task.problem[:10] in before[place]
            assert task.problem[:10] in after[place]
        asks = [line for line in before if "waits for you" in line]
        assert len(asks) == len([line for line in after[: len(before)] if "waits for you" in line])


async def test_no_task_works_in_a_run_that_was_killed(repo: Path, clock: ManualClock) -> None:
    """A task that was at work when its run was killed is interrupted, in its row and in the first line."""
    async with Supervisor.open(repo, clock=clock, person=True, start=e.RunStarted(project="shop")) as supervisor:
        story = Story(supervisor, clock)
        story.task("web")
        story.start("web")
        await story.core.journal.committed()
        for live, state, group in ((True, "running", "working"), (False, "interrupted", "waiting")):
            rows = list(show_rows(supervisor.run, supervisor.state, clock.now(), live=live))
            known = opening_of(rows, "shop", elapsed=0.0)
            assert [task.state for task in known.tasks] == [state]
            assert known.counts[group] == 1


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 40), (200, 60)])
async def test_nothing_moves_when_the_run_is_there(size: tuple[int, int], repo: Path, clock: ManualClock) -> None:
    """The guide, the heading, the task and the keys below stand in the same lines before and after."""
    async with Supervisor.open(repo, clock=clock, person=True, start=e.RunStarted(project="shop")) as supervisor:
        Story(supervisor, clock).task("task", agent="sleep", agent_type="default")
        await supervisor.core.journal.committed()
        app = UnstuckApp(Opening("unstuck", tasks=[KnownTask("task", "sleep")]), QUIET)
        async with app.run_test(size=size) as pilot:
            before = rows_of(app)
            await opened(app, pilot, supervisor)
            after = rows_of(app)
        heading = next(place for place, line in enumerate(before) if "TASK " in line)
        assert after[1 : heading + 1] == before[1 : heading + 1]
        assert after[heading + 1].startswith(before[heading + 1].rstrip(" │"))
        assert after[-1] == before[-1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_task_of_a_plan_moves_when_the_run_is_there(
    size: tuple[int, int], repo: Path, clock: ManualClock
) -> None:
    """Each task of a plan that begins has its place, its agent and what it waits for before its run is loaded."""
    async with Supervisor.open(repo, clock=clock, person=True, start=e.RunStarted(project="shop")) as supervisor:
        story = Story(supervisor, clock)
        tasks = [("web", "claude", ()), ("api", "codex", ("web",)), ("all", "claude", ("web", "api"))]
        for name, agent, needs in tasks:
            story.task(name, agent=agent, agent_type="default", needs=needs)
        await supervisor.core.journal.committed()
        app = UnstuckApp(opening_of_tasks("shop", tasks), QUIET)
        async with app.run_test(size=size) as pilot:
            before = rows_of(app)
            await opened(app, pilot, supervisor)
            after = rows_of(app)
        heading = next(place for place, line in enumerate(before) if "TASK " in line)
        assert after[1 : heading + 1] == before[1 : heading + 1]  # the first line learns the id of the run
        for place in range(heading + 1, heading + 1 + len(tasks)):
            known = before[place].strip("│ ").split()
            assert after[place].strip("│ ").split()[: len(known)] == known
        assert "waits for web, api" in before[heading + 3]
        assert "waits for web, api" in after[heading + 3]


async def test_keys_wait_for_the_run_in_their_order(repo: Path, clock: ManualClock) -> None:
    """I type a filter before the run is there: all of it stands in the field then, and nothing was done before."""
    async with Supervisor.open(repo, clock=clock, person=True, start=e.RunStarted(project="shop")) as supervisor:
        story = Story(supervisor, clock)
        story.task("web")
        story.task("api")
        await story.core.journal.committed()
        app = UnstuckApp(Opening("unstuck", tasks=[KnownTask("web"), KnownTask("api")]), QUIET)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("slash", "a", "p", "q")
            assert isinstance(app.screen, OpeningScreen)
            assert app.is_running
            await opened(app, pilot, supervisor)
            assert app.focused is not None
            assert app.focused.id == "filter"
            assert "apq" in "\n".join(rows_of(app))


@pytest.mark.parametrize(
    ("keys", "leaves"), [(("q",), True), (("ctrl+c",), True), (("j", "ctrl+c"), True), (("j", "q"), False)]
)
async def test_leaving_waits_for_nothing(keys: tuple[str, ...], leaves: bool) -> None:
    """The keys that leave do it before there is a run; q after other keys may be text, and waits with them."""
    app = UnstuckApp(Opening("unstuck", tasks=[KnownTask("web")]), QUIET)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert app.is_left == leaves
        app.exit()


async def test_too_small_a_terminal_says_so_before_there_is_a_run() -> None:
    """Below the least size the notice stands there at once."""
    app = UnstuckApp(Opening("unstuck", tasks=[KnownTask("web")]), QUIET)
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.pause()
        assert app.size == Size(50, 10)
        assert "Too small" in "\n".join(rows_of(app))
        app.exit()


@pytest.mark.parametrize("steps", range(4))
async def test_a_screen_that_is_left_at_once_leaves_quietly(steps: int) -> None:
    """Ctrl+C in the first moment comes before anything is made that the screen could lay out."""
    app = UnstuckApp(Opening("unstuck", kind="watch"), QUIET)
    showing = asyncio.create_task(app.run_async(headless=True, size=(100, 30)))
    for _ in range(steps):
        await asyncio.sleep(0)
    app.exit()
    await showing
    assert app.failure is None
