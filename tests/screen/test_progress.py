"""Progress of the run in the frame of the table, and activity of agents in its rows."""

from __future__ import annotations

import os

import pytest
from rich.cells import cell_len
from tests.screen.conftest import Showing, Story

from unstuck.eventlog import events as e
from unstuck_tui.render.tasks.progress import progress_text, sparkline, spinner


def test_the_frame_tells_how_much_is_done_and_how_long_the_rest_takes() -> None:
    """Nothing is told of a run that has not got anywhere, and nothing is left of one that is done."""
    assert progress_text(0, 10, 10, None) == "10 tasks"
    assert progress_text(4, 10, 10, None) == "10 tasks · ██████░░░░░░░░░░ 4 done"
    assert progress_text(4, 10, 3, 130.0) == "3 of 10 tasks · ██████░░░░░░░░░░ 4 done · about 2m 10s left"
    assert progress_text(10, 10, 10, 0.0) == "10 tasks"
    assert progress_text(0, 0, 0, None) == "tasks"


def test_more_output_is_a_higher_line() -> None:
    """Each span of time is a cell: blank without output, low for a line, high for a flood."""
    told = sparkline([0, 10, 200, 5_000, 10**9])
    assert told[0] == " "
    assert list(told[1:]) == sorted(set(told[1:]))
    assert told[-1] == "█"
    assert cell_len(told) == 5


def test_the_spinner_turns_each_second() -> None:
    """Ten signs of one cell, one after the other."""
    signs = [spinner(1_000.0 + second) for second in range(10)]
    assert len(set(signs)) == 10
    assert spinner(1_010.0) == signs[0]


async def test_an_agent_that_prints_is_seen_to_be_alive(showing: Showing) -> None:
    """Its row shows how much it has printed of late; when it falls silent, the line runs out to the left."""
    async with showing(size=(200, 60)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        folder = stage.story.core.folder / "output"
        folder.mkdir(exist_ok=True)
        (folder / "web.1.log").write_text("hello\n", encoding="utf-8")
        await stage.pass_time(1)
        row = next(line for line in stage.rows() if "▶ web" in line)
        assert "█" not in row
        (folder / "web.1.log").write_text("x" * 100_000, encoding="utf-8")
        await stage.pass_time(1)
        await stage.pass_time(1)  # what was measured is drawn a second later
        row = next(line for line in stage.rows() if "▶ web" in line)
        assert "█" in row
        before = row.index("█")
        await stage.pass_time(30)
        row = next(line for line in stage.rows() if "▶ web" in line)
        assert row.index("█") == before - 5


async def test_an_agent_that_prints_more_than_is_kept_is_seen_to_be_alive(showing: Showing) -> None:
    """Its file is full and does not grow any more: its time says that there is output."""
    async with showing(size=(200, 60)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        path = stage.story.core.folder / "output" / "web.1.log"
        path.parent.mkdir(exist_ok=True)
        path.write_text("x" * 100_000, encoding="utf-8")
        await stage.pass_time(1)
        assert "█" not in next(line for line in stage.rows() if "▶ web" in line)
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
        await stage.pass_time(1)
        await stage.pass_time(1)
        assert "█" in next(line for line in stage.rows() if "▶ web" in line)


async def test_the_rest_is_estimated_from_three_tasks_on(showing: Showing) -> None:
    """Four of eight tasks took ten seconds each; while a person is asked, nobody knows how long it takes."""
    async with showing(size=(120, 40), pops=False) as stage:
        for number in range(8):
            stage.story.task(f"t{number}")
        for number in range(4):
            stage.story.start(f"t{number}")
            await stage.story.end(f"t{number}", 10)
            stage.story.passes(f"t{number}")
            await stage.settled()
            assert ("left" in stage.text) == (number >= 2)
        assert "8 tasks · ████████░░░░░░░░ 4 done · about 40s left" in stage.text
        stage.story.start("t5")
        stage.story.asks("t5")
        await stage.settled()
        assert "4 done ─" in stage.text


async def test_a_screen_that_comes_later_estimates_from_the_history(showing: Showing) -> None:
    """Four tasks ended ten seconds apart before the screen was there; an hour in which the run stood does not count."""

    async def before(story: Story) -> None:
        for number in range(8):
            story.task(f"t{number}")
        for number in range(5):
            await story.clock.advance(3_600 if number == 2 else 0)
            story.start(f"t{number}")
            await story.end(f"t{number}", 10)
            story.passes(f"t{number}")
        await story.core.journal.committed()

    async with showing(size=(120, 40), pops=False, before=before) as stage:
        await stage.app.workers.wait_for_complete([one for one in stage.app.workers if one.group == "replay"])
        await stage.pass_time(1)
        assert "5 done · about 30s left" in stage.text


async def test_each_task_says_what_it_has_used(showing: Showing) -> None:
    """A wide table has the tokens or dollars of each task whose agent tells them, and the header has the sum."""
    async with showing(size=(200, 60)) as stage:
        for number in range(2):
            stage.story.task(f"t{number}")
        await stage.settled()
        assert "USED" not in stage.text
        for number in range(2):
            stage.story.start(f"t{number}")
            attempt = stage.story.core.row(f"t{number}").attempt
            stage.story.append(e.UsageCounted(tokens=12_000 + 300 * number), f"t{number}", attempt)
        await stage.settled()
        assert "USED" in stage.text
        assert "12.0k" in next(line for line in stage.rows() if "t0 " in line)
        assert "12.3k" in next(line for line in stage.rows() if "t1 " in line)
        assert "24.3k tokens" in stage.rows()[0]


@pytest.mark.parametrize(("agent", "shown"), [("claude", False), ("signals", True)])
async def test_agent_and_type_are_not_told_twice(showing: Showing, agent: str, shown: bool) -> None:
    """The column TYPE says only what AGENT does not."""
    async with showing(size=(200, 60)) as stage:
        stage.story.task("web", agent=agent, agent_type="claude")
        stage.story.task("other", agent="mine", agent_type="yours")
        await stage.settled()
        row = next(line for line in stage.rows() if "web" in line and "queued" in line)
        assert row.count("claude") == 1
        assert ("signals" in row) == shown
