"""The what-if tab: other settings for recorded runs, and the way to each event that differs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.screen.conftest import Showing
from tests.screen.test_browse_screen import Stage, opened, press, settled, told

from unstuck.rows.saved_rows import ROWS_NAME
from unstuck.runs.queries import what_if
from unstuck.workspace.project import Project, locate
from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.screens.browse import what_if as tab
from unstuck_tui.screens.log import LogScreen
from unstuck_tui.screens.replay import ReplayScreen

GOLDEN = Path("tests/data/golden/schema1.jsonl")
OLD, NEW = "20261101-101500-old-77aa", "20261102-101500-new-88bb"


@pytest.fixture
async def place(repo: Path) -> Project:
    """A project with two recorded runs whose tasks have retried."""
    found = await locate(repo)
    for name in (OLD, NEW):
        (found.runs / name).mkdir(parents=True)
        shutil.copy(GOLDEN, found.runs / name / "events.jsonl")
    return found


@asynccontextmanager
async def replayed(place: Project, size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[Stage, ReplayedRun]]:
    run = ReplayedRun(indexed(place.runs / NEW / "events.jsonl"), place)
    app = ReplayApp(run)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield Stage(app, pilot), run


async def awake(stage: Any) -> None:
    while not stage.app.screen.is_awake:
        await stage.pilot.pause(0.01)


async def tries(stage: Any, text: str, runs: str = "h") -> None:
    """Ask for other settings on the tab that is shown, and wait for what comes of it."""
    await press(stage, "what_if.change")
    await awake(stage)
    await stage.pilot.press(runs)
    stage.app.screen.query_one("#line").value = text
    await stage.pilot.press("enter")
    await settled(stage)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 40), (200, 60)])
async def test_other_settings_show_where_the_next_step_differs(place: Project, size: tuple[int, int]) -> None:
    """In any terminal: the settings as they were, those I type, each step that differs, the sum and what is unknown."""
    async with replayed(place, size) as (stage, _):
        await opened(stage)
        await press(stage, "browse.what-if")
        assert "[8 what-if]" in stage.text
        assert "nothing is compared yet" in stage.text
        assert "other settings" in stage.text
        await press(stage, "what_if.change")
        assert "max_retries=1  max_pivots=1" in stage.text
        await awake(stage)
        await stage.pilot.press("escape")
        await tries(stage, "max_retries=0")
        rows = stage.app.screen._tab.rows
        assert len(rows) == 2
        for row in rows:
            assert f"#{row['event']}" in stage.text
        assert stage.text.count("new approach") >= 2
        await press(stage, "detail.last") if size[1] < 24 else None
        if size[1] >= 24:
            assert "failure_handler.max_retries=0: 4 steps compared in 1 run, 2 differ" in stage.text
            assert "unknown: 6 steps" in stage.text


async def test_equal_settings_differ_nowhere_and_all_runs_are_compared(place: Project) -> None:
    """The run's own settings again: no row. Of all runs each has its rows, with its name."""
    async with replayed(place) as (stage, _):
        await opened(stage)
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=1 window_size=3")
        assert "no step differs" in stage.text
        assert "10 steps compared in 1 run, 0 differ" in stage.text
        await tries(stage, "max_retries=0", runs="v")
        assert "in 2 runs, 4 differ" in stage.text
        assert {row["run"] for row in stage.app.screen._tab.rows} == {OLD, NEW}


async def test_a_mistake_is_said_where_it_is_typed(place: Project) -> None:
    """An unknown setting, a wrong value, an open quotation: one line, and the text stays to be mended."""
    async with replayed(place) as (stage, _):
        await opened(stage)
        await press(stage, "browse.what-if", "what_if.change")
        await awake(stage)
        await stage.pilot.press("h")
        for text, said in (
            ("max_retrys=2", "there is no setting max_retrys (did you mean `max_retries`?)"),
            ("agent_timeout=5", "a replay cannot judge agent_timeout"),
            ("max_retries=many", "must be a whole number from 0 to 100"),
            ("skip_to_ask='[b", "No closing quotation"),
        ):
            stage.app.screen.query_one("#line").value = text
            await stage.pilot.press("enter")
            await stage.pilot.pause()
            assert stage.app.screen.is_modal
            assert said in stage.text
            assert stage.app.screen.query_one("#line").value == text


async def test_enter_shows_the_moment_in_the_replay(place: Project) -> None:
    """The replay stands at the event that differs, on its task; back in the tab the comparison is still there."""
    async with replayed(place) as (stage, run):
        await opened(stage)
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=0")
        await press(stage, "rows.last")
        row = stage.app.screen._tab.row
        await press(stage, "what_if.open")
        await stage.app.workers.wait_for_complete([one for one in stage.app.workers if one.group == "moving"])
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, ReplayScreen)
        assert run.seq == row["event"]
        assert stage.app.screen._table.selected == row["task"]
        await opened(stage)
        await press(stage, "browse.what-if")
        assert len(stage.app.screen._tab.rows) == 2


async def test_enter_shows_the_event_of_another_run_in_its_log(place: Project) -> None:
    """Of a run that is not on the screen the log opens at the event; esc leads back to the table."""
    async with replayed(place) as (stage, _):
        screen = await opened(stage)
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=0", runs="v")
        row = screen._tab.rows[0]
        assert row["run"] == OLD
        await press(stage, "what_if.open")
        log = stage.app.screen
        assert isinstance(log, LogScreen)
        while log._list.record is None or log._list.record.seq != row["event"]:
            await stage.pilot.pause(0.01)
        await stage.pilot.press("escape")
        await settled(stage)
        assert stage.app.screen is screen
        assert len(screen._tab.rows) == 4


async def test_a_long_comparison_goes_on_beside_the_screen_and_is_cancelled(
    place: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far it is, keys work meanwhile, esc ends it, and what was compared before stays."""
    async with replayed(place) as (stage, _):
        screen = await opened(stage)
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=0")
        ended: list[bool] = []

        def endless(*given: Any) -> Iterator[int]:
            try:
                while True:
                    yield from what_if.compare_run(*given)
            finally:
                ended.append(True)

        monkeypatch.setattr(tab, "compare_run", endless)
        await press(stage, "what_if.change")
        await awake(stage)
        await stage.pilot.press("v", "enter")
        while "comparing run 1 of 2, event" not in stage.text:
            await stage.pilot.pause(0.01)
        await stage.pilot.press(key_of("rows.down"), key_of("browse.memory"), key_of("browse.what-if"))
        await stage.pilot.pause()
        assert "comparing run 1 of 2, event" in stage.text
        assert not ended
        await stage.pilot.press(key_of("browse.back"))
        await settled(stage)
        assert ended == [True]
        assert stage.app.screen is screen
        assert len(screen._tab.rows) == 2
        assert "2 differ" in stage.text


async def test_leaving_the_app_ends_a_comparison(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a thread that compares for nobody."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def endless(*given: Any) -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            loop.call_soon_threadsafe(ended.set)

    monkeypatch.setattr(tab, "compare_run", endless)
    async with replayed(place) as (stage, _):
        await opened(stage)
        await press(stage, "browse.what-if", "what_if.change")
        await awake(stage)
        await stage.pilot.press("h", *"ask=never", "enter")
        while "comparing event" not in stage.text:
            await stage.pilot.pause(0.01)
    await ended.wait()


async def test_a_live_run_opens_in_its_log_and_nothing_is_written(showing: Showing) -> None:
    """Of the run at work the steps until now are compared; the event opens in its log."""
    async with showing(story=True) as stage:
        await opened(stage)
        files = [path for path in stage.story.core.folder.rglob("*") if path.is_file()]
        lasting = [path for path in files if ROWS_NAME not in path.name]  # the run at work saves its rows when it can
        before = {path: path.read_bytes() for path in lasting}
        assert before
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=0")
        row = stage.app.screen._tab.rows[0]
        await press(stage, "what_if.open")
        log = stage.app.screen
        assert isinstance(log, LogScreen)
        while log._list.record is None or log._list.record.seq != row["event"]:
            await stage.pilot.pause(0.01)
        assert {path: path.read_bytes() for path in before} == before


async def test_a_damaged_log_is_compared_up_to_the_damage_and_said(place: Project) -> None:
    """The summary names the run, the line and the file that end early."""
    log = place.runs / OLD / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:40], lines[40].replace(b'"event"', b'"evil!"'), *lines[41:]]))
    async with replayed(place) as (stage, _):
        await opened(stage)
        await press(stage, "browse.what-if")
        await tries(stage, "max_retries=0", runs="v")
        assert "only the events before it are compared" in stage.text
        assert told(stage) == ""
