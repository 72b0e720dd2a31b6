"""Updates that arrive while many widgets change at once are drawn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.screen.conftest import Showing
from textual._compositor import Compositor, LayoutUpdate

from unstuck_tui.app.unstuck_app import UnstuckApp

RENDERED = Compositor.render_update


async def test_a_frame_that_comes_meanwhile_is_drawn_then(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window changes its size while a widget is composed anew: afterwards no part of the screen is of the old size.

    Textual renders such a frame, forgets what it was for, and does not draw it.
    """
    frames: list[tuple[str, bool]] = []
    display = UnstuckApp._display

    def seen(app: UnstuckApp, screen: Any, frame: Any) -> None:
        frames.append(("all" if isinstance(frame, LayoutUpdate) else "part", app._batch_count > 0))
        display(app, screen, frame)

    async with showing() as stage:
        monkeypatch.setattr(Compositor, "render_update", RENDERED)
        monkeypatch.setattr(UnstuckApp, "_display", seen)
        with stage.app.batch_update():
            stage.app._display(stage.main, stage.main._compositor.render_update(full=True))
        assert frames == [("all", True)]
        await stage.pilot.pause()
        assert ("all", False) in frames
