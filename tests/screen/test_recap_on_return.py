"""The recap on the screen: shown to a person who comes back after ten minutes in which something happened."""

from __future__ import annotations

import re

import pytest
from tests.screen.conftest import Showing, Stage
from textual import events

from unstuck_tui.notifications.absence import AWAY_S
from unstuck_tui.screens.reading import RecapScreen


async def meanwhile(stage: Stage, seconds: float) -> None:
    """A task passes while nobody presses a key for so long."""
    stage.story.start("docs")
    await stage.story.end("docs", 30)
    stage.story.passes("docs")
    await stage.pass_time(seconds - 30)


async def back(stage: Stage) -> bool:
    """The person presses a key; whether a recap is shown for it."""
    await stage.press("table.down")
    for worker in [one for one in stage.app.workers if one.group == "recap"]:
        await worker.wait()
    await stage.settled()
    return isinstance(stage.app.screen, RecapScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_happened_while_away(showing: Showing, size: tuple[int, int]) -> None:
    """After ten minutes without a key the first key shows at most ten lines with their events; esc leads back."""
    async with showing(size=size, story=True, pops=False) as stage:
        await meanwhile(stage, AWAY_S)
        assert await back(stage)
        text = stage.text
        assert "While you were away" in text
        assert "passed: docs by make test (#" in text
        assert "needs you first: webhook" in text
        assert "models" not in text  # it was done before the person left
        assert len(stage.app.screen.query("Static")) <= 10
        numbers = [int(number) for number in re.findall(r"#(\d+)", text)]
        assert max(numbers) <= stage.story.core.head.seq
        await stage.pilot.press("escape")
        await stage.settled()
        assert stage.app.screen is stage.main
        assert not await back(stage)


async def test_who_was_away_for_less_is_not_told(showing: Showing) -> None:
    """Nine minutes are no absence, however much happened."""
    async with showing(story=True, pops=False) as stage:
        await meanwhile(stage, AWAY_S - 60)
        assert not await back(stage)


async def test_where_nothing_happened_nothing_is_told(showing: Showing) -> None:
    """An hour in which the run recorded nothing of interest needs no recap."""
    async with showing(pops=False) as stage:
        stage.story.task("docs")
        await stage.settled()
        await stage.press("app.clear")
        await stage.pass_time(3_600)
        assert not await back(stage)


async def test_the_terminals_focus_is_a_sign_too(showing: Showing) -> None:
    """The recap is there before the first key if the terminal reports its focus."""
    async with showing(story=True, pops=False) as stage:
        await meanwhile(stage, AWAY_S)
        stage.app.post_message(events.AppFocus())
        await stage.pilot.pause()
        for worker in [one for one in stage.app.workers if one.group == "recap"]:
            await worker.wait()
        await stage.settled()
        assert isinstance(stage.app.screen, RecapScreen)


async def test_who_writes_is_not_interrupted(showing: Showing) -> None:
    """While a text is written the recap waits until it is finished."""
    async with showing(story=True, pops=False) as stage:
        await stage.press("table.filter")
        await meanwhile(stage, AWAY_S)
        await stage.write("cart")
        assert not isinstance(stage.app.screen, RecapScreen)
        await stage.pilot.press("enter")
        assert await back(stage)
