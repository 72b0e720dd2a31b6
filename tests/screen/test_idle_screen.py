"""What nobody looks at and what does not change costs nothing: counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.dom import DOMNode

from unstuck_tui.screens.main import MainScreen
from unstuck_tui.widgets.detail import Detail
from unstuck_tui.widgets.lines import Lines


def ticking(stage: Any) -> Iterator[float]:
    """How often what is on any screen wakes up, in seconds between two times."""
    nodes: list[DOMNode] = [stage.app]
    for screen in stage.app.screen_stack:
        nodes += [screen, *screen.walk_children()]
    for node in nodes:
        timers: list[Any] = list(getattr(node, "_timers", ()))
        yield from (timer._interval for timer in timers if timer._active.is_set() and timer._repeat is None)


@pytest.mark.parametrize("keys", [(), ("?",), ("b",), ("l",), ("/",), ("a",), ("a", "1"), ("2",), ("3",)])
async def test_nothing_wakes_up_more_often_than_once_a_second(showing: Any, keys: tuple[str, ...]) -> None:
    """Main screen, help, browse, log, filter, a question, a text: while nothing happens none has a faster timer."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        for key in keys:
            await stage.pilot.press(key)
            await stage.pass_time(0.3)
        assert all(interval >= 1.0 for interval in ticking(stage))


@pytest.mark.parametrize("key", ["b", "l"])
async def test_a_hidden_screen_draws_nothing(showing: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """While I browse or read the log the main screen draws no line, whatever happens; back again, all is there."""
    drawn: list[str] = []
    async with showing(story=True) as stage:
        await stage.set_aside()
        await stage.pilot.press(key)
        await stage.settled()
        hidden = stage.main
        for kind, name in ((Lines, "refresh"), (Detail, "draw"), (Detail, "_read")):
            plain = getattr(kind, name)

            def counted(self: Any, *args: Any, plain: Any = plain, **options: Any) -> Any:
                if self.screen is hidden:
                    drawn.append(type(self).__name__)
                return plain(self, *args, **options)

            monkeypatch.setattr(kind, name, counted)
        for number in range(20):
            stage.story.task(f"new{number}")
            await stage.pass_time(1)
        assert not isinstance(stage.app.screen, MainScreen)
        assert drawn == []
        await stage.pilot.press("escape")
        await stage.settled()
        assert stage.app.screen is hidden
        assert "new0" in stage.text
        assert drawn
