"""A window whose size changes faster than it can be drawn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.screen.conftest import Showing
from textual import events
from textual.geometry import Size

from unstuck_tui.screens.log import LogScreen
from unstuck_tui.widgets.minimum_size import FittingScreen

FITS = FittingScreen.on_resize
SMALL, LARGE, WIDE = Size(1, 1), Size(100, 30), Size(150, 40)


async def test_sizes_that_follow_each_other_come_to_rest(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes on their way at once: the last one is shown, and neither brings the other up again."""
    told: list[Size] = []

    def seen(screen: FittingScreen[Any], event: events.Resize) -> None:
        told.append(event.size)
        assert len(told) < 50
        FITS(screen, event)

    async with showing() as stage:
        await stage.press("view.browse")
        monkeypatch.setattr(FittingScreen, "on_resize", seen)
        stage.app._size = LARGE
        for size in (SMALL, LARGE):
            stage.app.screen.post_message(events.Resize(size, size))
            stage.app.screen.call_later(lambda: None)
        await stage.settled()
        assert stage.app.screen.size == LARGE


async def test_a_screen_that_is_left_is_not_drawn_any_more(showing: Showing) -> None:
    """Left with a new size, or an opened record, still on its way: that shows nothing, and ends nothing."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        for size, opens in zip((LARGE, WIDE, LARGE), ("view.plan", "view.browse", "view.log"), strict=True):
            await stage.press(opens)
            screen = stage.app.screen
            assert screen is not stage.main
            stage.app._size = size
            left = screen.dismiss()
            screen.post_message(events.Resize(size, size))
            if isinstance(screen, LogScreen):
                screen.action_open()
            await left
            await stage.settled()
            assert stage.app.failure is None
            assert stage.app.screen is stage.main
