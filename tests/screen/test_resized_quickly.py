"""A window whose size changes faster than it can be drawn."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.geometry import Size

from unstuck_tui.screens.fitting import FittingScreen

FITS = FittingScreen.on_resize
SMALL, LARGE = Size(1, 1), Size(100, 30)


async def test_sizes_that_follow_each_other_come_to_rest(showing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
