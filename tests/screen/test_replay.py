"""A replay: the main screen on a run that is over, and the line that moves through it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.conftest import Inside
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from unstuck.runs.view.run_view import agents_at_work
from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.render.scrubber import place_at, scrubber_cells
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.screens.reading import HelpScreen
from unstuck_tui.screens.replay import ReplayScreen, Scrubber


class Player:
    """A person before a replay."""

    def __init__(self, app: ReplayApp, pilot: Pilot[None], run: ReplayedRun) -> None:
        self.app, self.pilot, self.run = app, pilot, run

    @property
    def screen(self) -> ReplayScreen:
        screen = self.app.screen
        assert isinstance(screen, ReplayScreen)
        return screen

    async def press(self, *actions: str) -> None:
        for action in actions:
            await self.pilot.press(key_of(action))
            await self.settled()

    async def settled(self) -> None:
        await self._worked()
        self.screen.frame()
        self.screen.tick()
        await self.pilot.pause()
        await self._worked()  # such as the output of the attempt that is shown now

    async def _worked(self) -> None:
        """Wait for all workers, and for those that take the place of a cancelled one."""
        async with asyncio.timeout(60):
            while list(self.app.workers):
                with suppress(WorkerCancelled):
                    await self.app.workers.wait_for_complete()
                await self.pilot.pause()
        await self.pilot.pause()

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    @property
    def selected(self) -> str:
        return self.screen._table.selected


@asynccontextmanager
async def replaying(log: Path, size: tuple[int, int] = (120, 30)) -> AsyncIterator[Player]:
    run = ReplayedRun(indexed(log))
    app = ReplayApp(run)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        player = Player(app, pilot, run)
        await player.settled()
        yield player


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


async def test_one_walks_from_failure_to_failure_and_back(past_log: Path) -> None:
    """n goes to the next failure with the cursor on its task, p to the trouble before, > to the end, < to the begin."""
    async with replaying(past_log) as player:
        run = player.run
        assert "REPLAY" in player.text.splitlines()[0]
        assert run.seq == run.index.begun
        await player.press("replay.failure")
        assert run.seq == run.index.failures[0]
        assert player.selected == "webhook"
        assert "tests/test_webhook.py:42" in player.text
        await player.press("replay.failure", "replay.failure", "replay.before")
        assert run.seq == run.index.failures[1]
        await player.press("replay.end")
        assert run.seq == len(run.index)
        assert "skipped" in player.text
        await player.press("replay.failure")
        assert "No failure after this." in player.text
        await player.press("replay.begin")
        assert run.seq == 0
        assert "no tasks yet" in player.text


async def test_the_question_of_then_is_seen_and_not_asked(past_log: Path) -> None:
    """g goes to the next question: it stands in the list as it did, no dialog comes up, and a answers nothing."""
    async with replaying(past_log) as player:
        before = past_log.read_bytes()
        await player.press("replay.gate")
        assert player.selected == "webhook"
        assert "stuck after 3 tries" in player.text
        keys = player.text.splitlines()[-1]
        assert "open" in keys
        assert not any(f" {word} " in keys for word in ("hold", "decide", "edit", "answer"))
        assert "a answer" not in player.text
        assert not player.app.screen.is_modal
        await player.press("gate.answer", "view.previous", "attention.answer")
        await player.settled()
        assert not player.app.screen.is_modal
        assert "This is a replay" in player.text
        assert past_log.read_bytes() == before


async def test_single_steps_lead_there_and_back(past_log: Path) -> None:
    """A step on and a step back show the same line again."""
    async with replaying(past_log) as player:
        await player.press("replay.failure")
        seq, shown = player.run.seq, player.text
        await player.press("replay.on", "replay.on", "replay.back", "replay.back")
        assert player.run.seq == seq
        assert player.text == shown
        await player.press("replay.begin", "replay.far_on")
        assert player.run.seq == 20
        await player.press("replay.far_back")
        assert player.run.seq == 0


async def test_a_record_that_has_gone_is_said(past_log: Path, tmp_path: Path) -> None:
    """The run is deleted while I look at it again: what is shown stays, and says why nothing else can be."""
    log = tmp_path / "events.jsonl"
    log.write_bytes(past_log.read_bytes())
    async with replaying(log) as player:
        await player.press("replay.failure")
        seq = player.run.seq
        log.unlink()
        for action in ("replay.end", "replay.gate", "replay.on", "replay.play"):
            await player.press(action)
        await player.app.screen._play_on()
        assert player.run.seq == seq
        assert player.app.screen._scrubber.plays is False
        said = {notice.message for notice in player.app._notifications}
        assert said == {f"{log}: cannot be read: No such file or directory"}


async def test_playing_goes_on_by_itself_and_stands_still_at_the_end(past_log: Path) -> None:
    """space lets time pass, faster with +, until everything is over or another key takes the line in hand."""
    async with replaying(past_log) as player:
        screen, seq = player.screen, player.run.seq
        scrubber = screen.query_one(Scrubber)
        await player.press(*["replay.faster"] * 6)
        assert scrubber.speed == 10_000
        await player.press("replay.play")
        while scrubber.plays:
            await player.pilot.pause(0.05)
        assert player.run.seq == len(player.run.index) > seq
        await player.press(*["replay.slower"] * 6, "replay.begin", "replay.play")
        assert scrubber.plays is True
        assert scrubber.speed == 1
        await player.press("replay.on")
        assert not scrubber.plays


async def test_letters_are_words_while_a_filter_is_typed(past_log: Path) -> None:
    """Letters typed into a filter do not move through time."""
    async with replaying(past_log) as player:
        seq = player.run.seq
        await player.press("table.filter")
        await player.pilot.press(*"nging p")
        await player.settled()
        assert player.run.seq == seq
        assert player.screen.query_one("#filter").value == "nging p"  # type: ignore[attr-defined]


async def test_the_palette_moves_through_a_replay(past_log: Path) -> None:
    """The palette finds the actions of a replay by name, too."""
    async with replaying(past_log) as player:
        before = player.run.seq
        await player.pilot.press(key_of("app.palette"), *"next question")
        await player.pilot.pause(0.5)
        await player.pilot.press("enter")
        await player.settled()
        assert player.run.seq == player.run.index.gates[0] > before


async def test_help_names_the_keys_of_the_replay_first(past_log: Path) -> None:
    """? says how to move through time before anything else."""
    async with replaying(past_log) as player:
        await player.pilot.press(key_of("app.help"))
        await player.pilot.pause()
        assert isinstance(player.app.screen, HelpScreen)
        assert player.text.index("│ Replay ") < player.text.index("│ Tasks ")


async def test_the_line_takes_the_mouse(past_log: Path) -> None:
    """A click on the strip goes to that moment, and quitting asks nothing."""
    async with replaying(past_log) as player:
        scrubber = player.screen.query_one(Scrubber)
        assert player.text  # drawn, it knows where its strip is
        await player.pilot.click(scrubber, offset=(scrubber._begin + scrubber._bar_width - 1, 0))
        await player.settled()
        assert player.run.seq >= player.run.index.at((scrubber._bar_width - 1) / scrubber._bar_width)
        await player.pilot.press(key_of("app.quit"))
        await player.pilot.pause()
        assert player.app._exit


@pytest.mark.parametrize("width", [20, 60, 80, 120, 250])
def test_the_line_fits(past_log: Path, width: int) -> None:
    """However wide the terminal is, the line fills it, and each of its cells stands for the moment it shows."""
    index = indexed(past_log)
    for seq in (0, 1, len(index) // 2, len(index)):
        cells, begin, strip = scrubber_cells(index, seq, time="12:00:00", speed=10, plays=False, width=width)
        assert sum(cell_len(cell.text) for cell in cells) == width
        assert place_at(begin - 1, begin, strip) is None
        assert place_at(begin + strip, begin, strip) is None
        if strip:
            assert 0.0 < (place_at(begin, begin, strip) or 0.0) < 1.0


def test_the_strip_shows_where_trouble_was(past_log: Path) -> None:
    """A question and a failure have their own signs, and one sees where one stands, without colours."""
    index = indexed(past_log)
    cells, *_ = scrubber_cells(index, index.begun, time="12:00:00", speed=1, plays=True, width=120)
    said = "".join(cell.text for cell in cells)
    assert said.count("┃") == 1
    assert "!" in said
    assert "✗" in said
    assert f"{index.begun}/{len(index)}" in said


def test_without_a_terminal_it_says_where_to_look(inside: Inside, repo: Path, past_log: Path) -> None:
    """In a pipe there is no replay, but a line that names the command to use."""
    code, out, problem = inside(repo, "replay", "last")
    assert code == 2
    assert "needs a terminal" in problem or "no run" in problem
    assert out == ""


async def test_a_replay_gives_way_to_the_shell(past_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl+Z while an agent was at work then: nothing of this process would be suspended with it."""
    given: list[ReplayApp] = []
    monkeypatch.setattr(ReplayApp, "action_suspend_process", lambda app: given.append(app))
    async with replaying(past_log) as player:
        while not agents_at_work(player.run.state):
            await player.press("replay.on")
        await player.press("app.suspend")
        assert given == [player.app]
        assert not player.app._notifications
