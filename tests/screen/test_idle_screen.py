"""Hidden and unchanged parts of the screen cost nothing: counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.screen.conftest import Showing
from textual._compositor import Compositor
from textual.app import App
from textual.dom import DOMNode

from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.screens.main import MainScreen
from unstuck_tui.screens.reading import HelpScreen
from unstuck_tui.widgets.detail import Detail
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.task_table import TaskTable


def ticking(app: App[None]) -> Iterator[float]:
    """Return the intervals at which visible parts wake up, in seconds."""
    nodes: list[DOMNode] = [app]
    for screen in app.screen_stack:
        nodes += [screen, *screen.walk_children()]
    for node in nodes:
        timers: list[Any] = list(getattr(node, "_timers", ()))
        yield from (timer._interval for timer in timers if timer._active.is_set() and timer._repeat is None)


def all_drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The screens that are drawn whole from now on."""
    drawn: list[str] = []

    def counted(compositor: Compositor, **_: Any) -> None:
        if compositor.size.region in compositor._dirty_regions:
            drawn.append(type(compositor.root).__name__)
        compositor._dirty_regions.clear()

    monkeypatch.setattr(Compositor, "render_update", counted)
    return drawn


async def test_nothing_wakes_up_more_often_than_once_a_second(showing: Showing) -> None:
    """Main screen, help, browse, log, plan, filter, question, text: while nothing happens none has a faster timer."""
    async with showing(story=True, pops=False) as stage:
        assert all(interval >= 1.0 for interval in ticking(stage.app))
        for keys in ("?", "b", "l", "d", "/", "a1", "2", "3"):
            for key in keys:
                await stage.pilot.press(key)
                await stage.pass_time(1)
                assert all(interval >= 1.0 for interval in ticking(stage.app)), keys
            for _ in keys:
                await stage.pilot.press("escape")
            await stage.pass_time(1)
            assert stage.app.screen is stage.main


async def test_a_hidden_screen_draws_nothing(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """While I am on another screen the main one draws no line, whatever happens; back again, all is there."""
    drawn: list[str] = []
    async with showing(story=True, pops=False) as stage:
        hidden = stage.main
        for kind, name in ((Lines, "refresh"), (Detail, "draw"), (Detail, "_read")):
            plain = getattr(kind, name)

            def counted(self: Any, *args: Any, plain: Any = plain, **options: Any) -> Any:
                if self.screen is hidden:
                    drawn.append(type(self).__name__)
                return plain(self, *args, **options)

            monkeypatch.setattr(kind, name, counted)
        wholly = all_drawn(monkeypatch)
        for key in ("b", "l", "d"):
            await stage.pilot.press(key)
            await stage.settled()
            drawn.clear()
            wholly.clear()
            for number in range(7):
                stage.story.task(f"{key}{number}")
                await stage.pass_time(1)
            assert not isinstance(stage.app.screen, MainScreen)
            assert drawn == []
            assert wholly == []
            await stage.pilot.press("escape")
            await stage.settled()
            assert stage.app.screen is hidden
            assert f"{key}6" in hidden.query_one(TaskTable).shown
            assert drawn


async def test_of_what_changes_below_a_dialog_only_that_is_drawn(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on below a help that is open: its lines change there, and nothing else is drawn with them."""
    async with showing(story=True, pops=False) as stage:
        await stage.pilot.press("?")
        await stage.settled()
        wholly = all_drawn(monkeypatch)
        for second in range(5):
            stage.story.task(f"new{second}")
            await stage.pass_time(1)
        assert wholly == []
        assert isinstance(stage.app.screen, HelpScreen)
        below = ["".join(segment.text for segment in line) for line in stage.main._compositor.render_strips()]
        assert any("new0" in line for line in below)


async def test_a_replay_moves_only_while_it_is_looked_at(past_log: Path) -> None:
    """It plays in steps of a fifth of a second; under any other screen nothing of it wakes up, and the moment stays."""
    run = ReplayedRun(indexed(past_log))
    app = ReplayApp(run)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert all(interval >= 1.0 for interval in ticking(app))
        await pilot.press(key_of("replay.play"))
        assert min(ticking(app)) < 1.0
        for key in ("?", "b", "l", "d"):
            await pilot.press(key)
            await pilot.pause()
            seq = run.seq
            assert all(interval >= 1.0 for interval in ticking(app)), key
            await pilot.press("escape")
            await pilot.pause()
            assert run.seq == seq
            assert min(ticking(app)) < 1.0
