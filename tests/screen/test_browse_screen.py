"""The browse screen: what a person finds on its tabs, and what they can do there."""

from __future__ import annotations

from typing import Any

from unstuck_tui.screens.browse import BrowseScreen


async def settled(stage: Any) -> None:
    """Whatever is read or done has come to its end, and is shown."""
    for _ in range(3):
        await stage.app.workers.wait_for_complete(
            [worker for worker in stage.app.workers if worker.group in ("reading", "acting")]
        )
        await stage.pilot.pause()


async def opened(stage: Any, *keys: str) -> BrowseScreen:
    """The browse screen, from the main one."""
    await stage.set_aside()
    await stage.pilot.press("b")
    await settled(stage)
    screen = stage.app.screen
    assert isinstance(screen, BrowseScreen)
    for key in keys:
        await stage.pilot.press(key)
        await settled(stage)
    return screen


async def test_x(showing: Any) -> None:
    async with showing(size=(120, 40), story=True) as stage:
        await opened(stage)
        print(stage.text)
        for key in "2345":
            await stage.pilot.press(key)
            await settled(stage)
            print(stage.text)
        await stage.pilot.press("enter")
        await settled(stage)
        print(stage.text)
