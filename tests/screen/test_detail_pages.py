"""What one can look at about a task: its timeline, its ladder, and what has changed in its files."""

from __future__ import annotations

from typing import Any

import pytest
from tests.screen.conftest import Showing

from unstuck.eventlog import events as e
from unstuck_tui.render.tasks.detail import changes_lines
from unstuck_tui.widgets import detail
from unstuck_tui.widgets.task_table import TaskTable


async def test_pages_are_turned_with_their_keys(showing: Showing) -> None:
    """2 shows the ladder, 1 the timeline again; the title says which page it is and which there are."""
    async with showing(story=True, pops=False) as stage:
        await stage.press("table.down")
        await stage.pilot.press("2")
        await stage.pilot.pause()
        assert "4 attempts so far" in stage.text
        await stage.press("page.ladder")
        assert "[2 ladder]" in stage.text
        assert "▸ asks you" in stage.text
        assert "waits for you" in stage.text
        await stage.press("page.timeline")
        assert "[1 timeline]" in stage.text
        assert "retry 1/3" in stage.text
        assert "asks you" not in stage.text


async def test_the_changes_are_those_in_the_files(showing: Showing) -> None:
    """3 shows the diff from the task's checkpoint to its files as they are; looked at again it is the newer one."""
    async with showing() as stage:
        core = stage.story.core
        stage.story.task("web")
        stage.story.start("web")
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        stage.story.append(e.CheckpointCreated(id=saved.id, reason="baseline", purpose="baseline"), "web")
        (core.root / "README.md").write_text("other\n[bold]words[/bold]\n", encoding="utf-8")
        await stage.press("page.changes")
        assert f"since {saved.id}: 1 file, +2 -1" in stage.text
        assert "+[bold]words[/bold]" in stage.text
        (core.root / "new.txt").write_text("new\n", encoding="utf-8")
        await stage.press("page.changes")
        assert "2 files, +3 -1" in stage.text


async def test_a_long_difference_is_laid_out_once(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its agent works a clock ticks each second: the lines of what has changed are made only when it changes."""
    laid_out: list[int] = []

    def counted(*told: Any, **how: Any) -> Any:
        laid_out.append(1)
        return changes_lines(*told, **how)

    monkeypatch.setattr(detail, "changes_lines", counted)
    async with showing(story=True) as stage:
        await stage.set_aside()
        stage.main.query_one(TaskTable).select("cart")
        await stage.press("page.changes")
        before = len(laid_out)
        assert before
        for _ in range(3):
            await stage.pass_time(1)
        assert len(laid_out) == before


async def test_without_a_checkpoint_it_says_so(showing: Showing) -> None:
    """Where nothing was saved there is nothing to compare with, and in a narrow terminal the page has it all."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        await stage.press("page.changes")
        assert "nothing to compare with" in stage.text
        assert "[changes]" in stage.text or "[3 changes]" in stage.text
        await stage.press("view.back")
        assert "nothing to compare with" not in stage.text
