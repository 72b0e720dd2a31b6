"""The browse screen: what a person finds on its tabs, and what they can do there."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.screen.conftest import WRONG_STATUS, Showing
from textual import events
from textual.pilot import Pilot

from unstuck import Guidance, Supervisor, Task, admit
from unstuck.clock import SystemClock
from unstuck.contract import Answer
from unstuck.eventlog import events as e
from unstuck.eventlog.memory.entry import learnt
from unstuck.runs.memory_commands import memory_of
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.project import locate
from unstuck_tui.app.replay_app import ReplayApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.keys.palette import ActionCommands
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.screens.browse.screen import BrowseScreen
from unstuck_tui.screens.log import LogList, LogScreen
from unstuck_web.access import Access

WRONG = 'Traceback (most recent call last):\n  File "shop/cart.py", line 18, in total\nTypeError: no total\n'


class Stage:
    """A replay, and the person before it."""

    story = None

    def __init__(self, app: ReplayApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)


async def committed(stage: Any) -> None:
    """All that was told is in the record, where the tabs read it."""
    if stage.story is not None:
        await stage.story.core.journal.committed()


async def settled(stage: Any) -> None:
    """Whatever is read or done has come as far as it can without the person."""
    await committed(stage)
    while True:
        await stage.pilot.pause()
        reading = [worker for worker in stage.app.workers if worker.group in ("reading", "details")]
        acting = [] if stage.app.screen.is_modal else [one for one in stage.app.workers if one.group == "acting"]
        if not reading and not acting:
            return
        if reading:
            await stage.app.workers.wait_for_complete(reading)


async def opened(stage: Any) -> BrowseScreen:
    """The browse screen, from the main one."""
    if stage.app.screen.is_modal:
        await stage.set_aside()
    await committed(stage)
    await stage.pilot.press(key_of("view.browse"))
    await settled(stage)
    screen = stage.app.screen
    assert isinstance(screen, BrowseScreen)
    return screen


async def press(stage: Any, *actions: str) -> None:
    """Press the keys that the registry has for these actions, one after the other."""
    for action in actions:
        await stage.pilot.press(key_of(action))
        await settled(stage)


async def says(stage: Any, yes: str, typed: str = "") -> None:
    """Wait until the dialog listens, and choose."""
    if stage.story is not None:
        await stage.story.clock.advance(0.3)
    while not stage.app.screen.is_awake:
        await stage.pilot.pause(0.01)
    await stage.pilot.press(yes, *typed, *(["enter"] if typed else []))
    await settled(stage)


async def fails(stage: Any, name: str, output: str) -> None:
    """An agent has worked on a task, and its check has failed."""
    if name not in stage.story.core.head.tasks:
        stage.story.task(name)
        stage.story.start(name)
    await stage.story.end(name, 5)
    stage.story.fails(name, output)


def told(stage: Any) -> str:
    """Return the toasts."""
    return " ".join(notice.message for notice in stage.app._notifications)


async def test_every_tab_says_what_is_there_or_would_be(showing: Showing) -> None:
    """In any terminal each tab has its rows, or says that there are none and what would stand there.

    Where there is room for it, the rows and the details have a frame with a name.
    """
    said = {
        "browse.signatures": ("[1 failures]", "AssertionError", "4 times"),
        "browse.checkpoints": ("[2 checkpoints]", "no checkpoints yet", "saved before anything risky"),
        "browse.memory": ("[3 memory]", "nothing is remembered yet", "Approaches"),
        "browse.recovery": ("[4 recovery]", "no run was interrupted", "an interrupted run"),
        "browse.deletion": ("[5 deletion]", "at work", "it is open on this screen"),
        "browse.truth": ("[6 truth]", "backend-1", "unknown in 5"),
        "browse.page": ("[7 page]", "no browser is signed in", "read and answer on the page"),
        "browse.what-if": ("[8 what-if]", "nothing is compared yet", "under other settings"),
    }
    async with showing(story=True) as stage:
        await opened(stage)
        for size in ((60, 16), (80, 24), (120, 40), (250, 50)):
            await stage.pilot.resize_terminal(*size)
            for action, words in said.items():
                await press(stage, action)
                assert all(word in stage.text for word in words), stage.text
                assert ("╭─ details ─" in stage.text) == (size != (60, 16))
        await press(stage, "browse.next")
        assert "[1 failures]" in stage.text
        await press(stage, "browse.back")
        assert stage.app.screen is stage.main


async def test_the_headings_stand_above_their_columns_beside_a_scrollbar(showing: Showing) -> None:
    """With more rows than the screen has lines, each heading begins where its column does."""
    async with showing() as stage:
        for number in range(30):
            await fails(stage, f"task{number}", WRONG.replace("total", f"sum_{number}"))
        screen = await opened(stage)
        assert screen.query_one("#rows").show_vertical_scrollbar
        heading, *rows = (row for row in stage.text.splitlines() if "WHAT FAILED" in row or "nothing yet" in row)
        assert {row.index("shop/cart.py:18") for row in rows[:5]} == {heading.index("WHERE")}
        assert {row.index("nothing yet") for row in rows[:5]} == {heading.index("SOLVED BY")}


async def test_what_changes_while_a_tab_is_read_is_read_after_it(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something is done while the rows are on their way: they are looked at once more, and it shows."""
    async with showing() as stage:
        screen = await opened(stage)
        tab, go = screen._tab, asyncio.Event()
        read = tab.read

        async def slowly() -> Any:
            rows = await read()
            await go.wait()
            return rows

        monkeypatch.setattr(tab, "read", slowly)
        await stage.pilot.press(key_of("browse.again"))
        await fails(stage, "cart", WRONG)
        await committed(stage)
        await stage.pilot.press(key_of("browse.again"))
        go.set()
        await settled(stage)
        assert "no total" in stage.text


async def test_a_failure_leads_to_its_occurrences(showing: Showing) -> None:
    """Under each failure stands all that is known of it; enter shows its occurrences in the log, esc leads back."""
    async with showing(story=True) as stage:
        screen = await opened(stage)
        for word in ("expected 200 but got 401", "4 times", "webhook · backend-1", "try 4"):
            assert word in stage.text
        await press(stage, "rows.down", "rows.down")
        assert "unsupported operand" in stage.text
        await press(stage, "rows.first", "signatures.log")
        log = stage.app.screen
        assert isinstance(log, LogScreen)
        while "looking" in stage.text or log.query_one(LogList).line_total() == 0:
            await stage.pilot.pause(0.01)
        assert "failure:" in stage.text
        assert log.query_one(LogList).line_total() == 4
        await stage.pilot.press("escape", "escape")
        await settled(stage)
        assert stage.app.screen is screen


async def test_a_new_failure_comes_by_itself(showing: Showing) -> None:
    """While the screen is open the list goes on with the run, and the cursor stays on its failure."""
    async with showing(story=True) as stage:
        screen = await opened(stage)
        await press(stage, "rows.down")
        chosen = screen._tab.key(screen._tab.row)
        await fails(stage, "search", WRONG)
        await settled(stage)
        screen.tick()
        await settled(stage)
        assert stage.text.count("no total") == 1, "in the list, and not in the details"
        assert len(screen._tab.rows) == 4
        assert screen._tab.key(screen._tab.row) == chosen


async def test_one_answer_goes_to_all_who_ask(showing: Showing) -> None:
    """Two tasks ask about the same failure: one choice and one yes answer both; a no leaves both open."""
    async with showing() as stage:
        for name in ("cart", "shop"):
            await fails(stage, name, WRONG)
            stage.story.asks(name, problem="no total")
        await stage.settled()
        await opened(stage)
        gates = stage.story.core.head.gates
        await press(stage, "signatures.answer")
        assert "One answer for 2 questions" in stage.text
        await says(stage, "2")
        assert "skip: 2 questions get this answer" in stage.text
        await says(stage, "n")
        assert [row.status for row in gates.values()] == ["open", "open"]
        await press(stage, "signatures.answer")
        await says(stage, "2")
        await says(stage, "y")
        assert [row.answer for row in stage.story.core.head.gates.values()] == [Answer(choice="skip")] * 2
        assert "2 of 2 are answered" in told(stage)


def ended() -> None:
    """Wait until nobody waits for an editor any more."""
    for thread in threading.enumerate():
        if thread.daemon and "(wait)" in thread.name:
            thread.join()


async def test_the_place_is_opened_beside_the_run(
    showing: Showing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor with a window opens at the line; one for the terminal would hold up the run, so the place is copied.

    So it is where no editor is named at all.
    """
    heard = tmp_path / "heard"
    os.mkfifo(heard)
    editor = tmp_path / "code"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {heard}\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("VISUAL", str(editor))
    async with showing() as stage:
        cart = stage.story.core.root / "shop" / "cart.py"
        cart.parent.mkdir()
        cart.write_text("\n", encoding="utf-8")
        await fails(stage, "cart", WRONG)
        stage.story.task("other")
        await opened(stage)
        await press(stage, "signatures.edit")
        assert "is opened in code" in told(stage)
        assert heard.read_text(encoding="utf-8").split() == ["--goto", f"{cart}:18"]
        await asyncio.to_thread(ended)
        monkeypatch.setenv("VISUAL", "vim")
        await press(stage, "browse.back", "view.browse", "signatures.edit")
        assert "would hold up the run" in told(stage)
        copied = stage.story.core.folder / "copied.txt"
        assert copied.read_text(encoding="utf-8") == f"{cart}:18\n"
        assert stage.app.clipboard == f"{cart}:18"
        copied.unlink()
        monkeypatch.delenv("VISUAL")
        monkeypatch.delenv("EDITOR", raising=False)
        await press(stage, "app.clear", "browse.back", "view.browse", "signatures.edit")
        assert told(stage) == f"Neither VISUAL nor EDITOR names an editor: {cart}:18 is copied, and stands in {copied}."
        assert copied.read_text(encoding="utf-8") == f"{cart}:18\n"


async def test_checkpoints_are_compared_restored_and_taken_back(showing: Showing) -> None:
    """Two marks are compared with each other, one with now; a restore shows its plan, asks, and can be undone."""
    async with showing() as stage:
        core = stage.story.core
        readme, store = core.root / "README.md", core.checkpoints(core.root)
        readme.write_text("first\n", encoding="utf-8")
        first = await store.create("baseline", run=core.run, task="web")
        await stage.story.clock.advance(1)
        readme.write_text("second\n", encoding="utf-8")
        second = await store.create("good", run=core.run, task="web")
        readme.write_text("[bold]third[/bold]\n", encoding="utf-8")
        await opened(stage)
        await press(stage, "browse.checkpoints", "checkpoints.diff")
        assert f"since {second.id} up to now: 1 file, +1 -1" in stage.text
        assert "+ [bold]third[/bold]" in stage.text
        await press(stage, "checkpoints.mark", "rows.down", "checkpoints.mark", "checkpoints.diff")
        assert f"since {first.id} up to {second.id}" in stage.text
        assert "changed    README.md (6 B → 7 B)" in stage.text
        await press(stage, "browse.back", "checkpoints.restore")
        assert f"{first.id} restores in" in stage.text
        await says(stage, "n")
        assert readme.read_text(encoding="utf-8") == "[bold]third[/bold]\n"
        await press(stage, "checkpoints.restore")
        (core.root / "late.txt").write_text("late\n", encoding="utf-8")
        await says(stage, "y")
        assert "no longer as they were when the plan was made" in told(stage)
        await press(stage, "checkpoints.restore")
        await says(stage, "y")
        assert readme.read_text(encoding="utf-8") == "first\n"
        await press(stage, "checkpoints.undo")
        await says(stage, "y")
        assert readme.read_text(encoding="utf-8") == "[bold]third[/bold]\n"


async def test_each_checkpoint_shows_what_it_changed(showing: Showing) -> None:
    """Those of a task stand together, each with its lines since the one before; the chosen one with the lines.

    In a wide terminal they stand beside the facts, in a narrow one before them.
    """
    async with showing() as stage:
        core = stage.story.core
        for number, task in enumerate(("web", "cart", "web")):
            (core.root / "README.md").write_text(f"{number}\n", encoding="utf-8")
            await core.checkpoints(core.root).create("good", run=core.run, task=task)
            await stage.story.clock.advance(1)
        screen = await opened(stage)
        await press(stage, "browse.checkpoints")
        assert [saved.row["task"] for saved in screen._tab.rows] == ["web", "web", "cart"]
        assert "3 checkpoints of 2 tasks" in stage.text
        assert "+1 -1 README.md" in stage.text
        (line,) = (line for line in stage.text.splitlines() if "▪ README.md" in line)
        assert "saved " in line
        assert "+2" in stage.text
        await press(stage, "rows.down")
        assert "No checkpoint before it in this worktree" in stage.text
        await stage.pilot.resize_terminal(80, 24)
        await press(stage, "rows.up")
        lines = stage.text.splitlines()
        (changes,) = (place for place, line in enumerate(lines) if "▪ README.md" in line)
        assert "check passed · " in lines[changes - 1]


async def test_a_group_is_folded_to_one_line(showing: Showing) -> None:
    """The first row of each task has a sign; folded, it says how many there are, and it stays so on another tab."""
    async with showing() as stage:
        core = stage.story.core
        for number, task in enumerate(("web", "cart", "web", "cart", "web")):
            (core.root / "README.md").write_text(f"{number}\n", encoding="utf-8")
            await core.checkpoints(core.root).create("good", run=core.run, task=task)
            await stage.story.clock.advance(1)
        screen = await opened(stage)
        await press(stage, "browse.checkpoints", "rows.down", "rows.down")
        rows = screen.query_one("#rows")
        assert stage.text.count("▾") == 2
        await press(stage, "browse.fold")
        assert rows.line_total() == 3
        assert "▸ web (3)" in stage.text
        assert screen._tab.row.row["task"] == "web", "the cursor goes to the head of the group"
        await press(stage, "browse.memory", "browse.checkpoints")
        assert "▸ web (3)" in stage.text
        await press(stage, "browse.fold_all")
        assert rows.line_total() == 2
        await press(stage, "browse.fold_all")
        assert rows.line_total() == 5
        await press(stage, "browse.sort")
        assert [saved.row["task"] for saved in screen._tab.rows] == ["cart", "cart", "web", "web", "web"]
        assert "by name" in stage.text


async def test_rows_are_found_by_words(showing: Showing) -> None:
    """The filter finds rows by any of their texts and by their tasks, as in the main table; esc forgets it."""
    async with showing(story=True) as stage:
        screen = await opened(stage)
        every = len(screen._tab.rows)
        await press(stage, "browse.filter")
        await stage.pilot.press(*"WEBHOOK 401")
        await settled(stage)
        assert any("│ WEBHOOK 401 " in line for line in stage.text.splitlines()), (
            "the field is one line, without a frame"
        )
        await stage.pilot.press("enter")
        await settled(stage)
        assert [row.row["tasks"] for row in screen._tab.rows] == [["webhook"]]
        assert f"/WEBHOOK 401  1 of {every}" in stage.text
        await press(stage, "browse.back")
        assert len(screen._tab.rows) == every
        await press(stage, "browse.filter")
        await stage.pilot.press(*"!webhook", "enter")
        await settled(stage)
        assert len(screen._tab.rows) == every - 1
        await press(stage, "browse.filter")
        await stage.pilot.press(*"nowhere", "enter")
        await settled(stage)
        assert "no row matches the filter" in stage.text
        await press(stage, "browse.back", "browse.back")
        assert stage.app.screen is stage.main


async def test_failures_and_checkpoints_of_all_runs_are_shown(past_log: Path, showing: Showing) -> None:
    """At first those of this run; on a key also those of the others, with what became of them there."""
    async with showing() as stage:
        core = stage.story.core
        await fails(stage, "cart", WRONG)
        older = core.folder.parent / "20260101-000000"
        older.mkdir()
        (older / past_log.name).write_bytes(past_log.read_bytes())
        await core.checkpoints(core.root).create("good", run=core.run, task="cart")
        (core.root / "README.md").write_text("changed\n", encoding="utf-8")
        await core.checkpoints(core.root).create("good", run=older.name, task="webhook")
        screen = await opened(stage)
        assert [row.row["tasks"] for row in screen._tab.rows] == [["cart"]]
        assert "this run" in stage.text
        await press(stage, "browse.all_runs")
        assert "all runs" in stage.text
        await press(stage, "rows.first")
        assert screen._tab.row.row["tasks"] == ["webhook"]
        assert "20260101-000000  4 times, last " in stage.text
        assert "expected 200 but got 401" in stage.text
        await press(stage, "signatures.log")
        log = stage.app.screen
        while log.query_one(LogList).line_total() != 4:
            await stage.pilot.pause(0.01)
        await press(stage, "logs.back", "logs.back", "browse.all_runs")
        assert [row.row["tasks"] for row in screen._tab.rows] == [["cart"]]
        await press(stage, "browse.checkpoints")
        assert [saved.row["task"] for saved in screen._tab.rows] == ["cart"]
        await press(stage, "browse.all_runs")
        assert {saved.row["task"] for saved in screen._tab.rows} == {"cart", "webhook"}
        assert stage.text.count(older.name) == 1


async def test_a_failure_of_this_run_is_read_in_another_one(repo: Path, clock: ManualClock, showing: Showing) -> None:
    """The history says when and how it ended there and what the check said, and leads to its place in that log."""

    async def fails_twice(story: Any) -> None:
        story.task("webhook")
        for _ in range(2):
            story.start("webhook")
            await story.end("webhook", 5)
            story.fails("webhook", WRONG_STATUS, evidence=admit(WRONG_STATUS))

    async with showing(before=fails_twice) as stage:
        older = stage.story.core.folder.name
    await clock.advance(60)
    async with showing() as stage:
        await fails(stage, "webhook", WRONG_STATUS)
        screen = await opened(stage)
        await press(stage, "browse.all_runs", "rows.first")
        told = " ".join(part.strip(" │") for row in stage.text.splitlines() for part in row.split("││")[1:])
        assert f"{older}  2 times, last 01-15 08:00, got as far as first try, in webhook" in told
        assert "E       AssertionError: expected 200 but got 401" in told
        assert f"in this pane opens the log of {older}" in told
        for pane, lines in (("#about", 1), ("#beside", 2)):
            screen.set_focus(screen.query_one(pane))
            await press(stage, "signatures.log")
            log = stage.app.screen
            while log.query_one(LogList).line_total() != lines:
                await stage.pilot.pause(0.01)
            await press(stage, "logs.back", "logs.back")


async def test_the_list_leaves_the_lines_it_does_not_need_to_the_facts(showing: Showing) -> None:
    """Few rows take few lines; many take no more than half of the screen."""
    async with showing() as stage:
        await fails(stage, "cart", WRONG)
        screen = await opened(stage)
        few = screen.query_one("#list").size.height
        assert few < screen.query_one("#facts").size.height
        for number in range(30):
            await fails(stage, f"task{number}", WRONG.replace("total", f"sum_{number}"))
        await press(stage, "browse.again")
        assert few < screen.query_one("#list").size.height <= screen.size.height // 2


async def test_a_long_comparison_says_so_and_can_be_given_up(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said at once that it is being compared, keys go on, esc ends it, also at once; the next one is shown."""
    begun, ended, compare = asyncio.Event(), asyncio.Event(), CheckpointStore.diff

    async def endless(*arguments: Any, **options: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with showing() as stage:
        core = stage.story.core
        await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        (core.root / "README.md").write_text("different\n", encoding="utf-8")
        screen = await opened(stage)
        await press(stage, "browse.checkpoints")
        monkeypatch.setattr(CheckpointStore, "diff", endless)
        await stage.pilot.press(key_of("checkpoints.diff"))
        await begun.wait()
        await stage.pilot.pause()
        assert "comparing since" in stage.text
        await stage.pilot.press(key_of("browse.memory"), key_of("browse.checkpoints"))
        await stage.pilot.pause()
        assert "comparing since" in stage.text
        assert not ended.is_set()
        await stage.pilot.press(key_of("browse.back"))
        await ended.wait()
        await settled(stage)
        assert "comparing" not in stage.text
        assert stage.app.screen is screen
        for key in (key_of("checkpoints.diff"), key_of("browse.back")):
            stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await stage.pilot.pause()
        assert stage.app.screen is screen
        await settled(stage)
        monkeypatch.setattr(CheckpointStore, "diff", compare)
        await press(stage, "checkpoints.diff")
        assert "+ different" in stage.text


async def test_a_comparison_asked_for_right_after_a_row_was_chosen_stays(showing: Showing) -> None:
    """Keys that come in one go: the row they move to is compared, and what is shown of it is not taken away again."""
    async with showing() as stage:
        core = stage.story.core
        for text in ("one\n", "two\n"):
            (core.root / "README.md").write_text(text, encoding="utf-8")
            await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        await opened(stage)
        await press(stage, "browse.checkpoints")
        for key in (key_of("rows.down"), key_of("checkpoints.diff")):
            stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await settled(stage)
        assert "+ two" in stage.text


async def test_nothing_is_restored_under_an_agent(showing: Showing) -> None:
    """While an agent works in the tree a restore is refused, with the task that is in the way."""
    async with showing() as stage:
        core = stage.story.core
        await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        (core.root / "README.md").write_text("mine\n", encoding="utf-8")
        stage.story.task("web")
        stage.story.start("web")
        stage.story.spawned("web")
        await opened(stage)
        await press(stage, "browse.checkpoints", "checkpoints.restore")
        assert not stage.app.screen.is_modal
        assert "web of run" in told(stage)
        assert (core.root / "README.md").read_text(encoding="utf-8") == "mine\n"


async def test_much_of_a_tree_needs_a_typed_yes(showing: Showing) -> None:
    """A restore that takes more than its share wants yes typed; anything else does nothing."""
    async with showing() as stage:
        core = stage.story.core
        await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        for number in range(30):
            (core.root / f"new{number}").write_text("new\n", encoding="utf-8")
        await opened(stage)
        await press(stage, "browse.checkpoints", "checkpoints.restore")
        assert "Those are many of 31 files" in stage.text
        await says(stage, "y", "no")
        assert "nothing is done" in stage.text
        assert (core.root / "new7").exists()
        await stage.pilot.press(*["backspace"] * 2, *"yes", "enter")
        await settled(stage)
        assert not (core.root / "new7").exists()


async def test_whoever_leaves_while_a_plan_is_made_is_not_called_back(
    showing: Showing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I ask for a restore and go back before its plan is there: no dialog comes up where I am, and it is said."""
    has_left, plan = asyncio.Event(), CheckpointStore.plan

    async def slow(store: CheckpointStore, id: str) -> Any:
        await has_left.wait()
        return await plan(store, id)

    monkeypatch.setattr(CheckpointStore, "plan", slow)
    async with showing() as stage:
        core = stage.story.core
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        (core.root / "README.md").write_text("mine\n", encoding="utf-8")
        await opened(stage)
        await press(stage, "browse.checkpoints")
        await stage.pilot.press(key_of("checkpoints.restore"), key_of("browse.back"))
        has_left.set()
        await settled(stage)
        assert stage.app.screen is stage.main
        assert told(stage) == f"Restore {saved.id}? You left before you could confirm: nothing is changed."
        assert (core.root / "README.md").read_text(encoding="utf-8") == "mine\n"


async def test_the_palette_finds_what_the_shown_tab_can_do(showing: Showing) -> None:
    """On each tab it offers that one's own actions and no other's, first what is called as I ask, none without rows."""
    async with showing() as stage:
        core = stage.story.core
        await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        screen = await opened(stage)
        palette = ActionCommands(screen)

        async def found(words: str) -> list[str]:
            hits = [hit async for hit in palette.search(words)]
            return [str(hit.match_display) for hit in sorted(hits, key=lambda hit: -hit.score) if hit]

        await press(stage, "browse.checkpoints")
        assert (await found("compare"))[0] == "Compare  (d)"
        assert not {"Forget  (f)", "Inventory  (⏎)", "Inventory  (enter)"} & set(await found("e"))
        await press(stage, "browse.memory")
        assert "Forget  (f)" not in await found("forget")


async def test_what_was_learnt_is_forgotten_or_made_a_rule(showing: Showing) -> None:
    """An answer becomes a rule that holds; whatever is chosen is forgotten after a yes, and only that."""
    async with showing() as stage:
        memory = memory_of(stage.app.view.place)
        memory.remember(learnt("approach", signature="a-1", approach="use [bold]Decimal[/bold]", outcome="failed"))
        memory.remember(learnt("answer", signature="a-1", approach="show_me", note="round at the end", task="cart"))
        memory.sync()
        await opened(stage)
        await press(stage, "browse.memory")
        assert "[bold]Decimal[/bold]" in stage.text
        await press(stage, "memory.promote")
        assert "agents are told without a question: round at the end" in told(stage)
        assert [entry.note for entry in memory_of(stage.app.view.place).entries("rule")] == ["round at the end"]
        await press(stage, "rows.last", "memory.promote")
        assert "cannot be made a rule" in told(stage)
        await press(stage, "memory.forget")
        await says(stage, "y")
        kinds = [entry.kind for entry in memory_of(stage.app.view.place).entries()]
        assert sorted(kinds) == ["answer", "rule"]


async def test_browsers_on_the_page_are_listed_and_revoked(showing: Showing) -> None:
    """Each browser that was let in has a row, and loses its session after a yes; a link for another is copied."""
    async with showing() as stage:
        access = Access(stage.app.view.place.home, SystemClock().now)
        await opened(stage)
        await press(stage, "browse.page", "page.link")
        assert "no page is served" in told(stage)
        access.serve(8021, "http://127.0.0.1:8021")
        secret = access.open(access.link(), host="127.0.0.1:8021", browser="Phone\x1b[31m [b]1[/b]")
        await press(stage, "browse.again", "page.link")
        copied = stage.app.clipboard
        assert copied.startswith("http://127.0.0.1:8021/enter/")
        assert access.is_good(copied.rpartition("/")[2])
        assert "Phone [b]1[/b]" in stage.text
        await press(stage, "page.revoke")
        await says(stage, "y")
        assert "Revoked" in told(stage)
        assert "no browser is signed in" in stage.text
        assert access.session(secret, "127.0.0.1:8021") is None


async def test_the_live_run_is_not_deleted_from_its_screen(showing: Showing) -> None:
    """Its inventory is shown with sizes; deleting it is refused with the reason, and nothing goes."""
    async with showing(story=True) as stage:
        await opened(stage)
        await press(stage, "browse.deletion", "deletion.look")
        assert "event log with its output, prompts and reports" in stage.text
        await press(stage, "deletion.delete")
        assert not stage.app.screen.is_modal
        assert "cannot be deleted now: it is open on this screen" in told(stage)
        assert stage.story.core.folder.is_dir()


async def test_hostile_names_stay_text(showing: Showing) -> None:
    """A task, a failure and a checkpoint that are named to act on a terminal or a screen only stand there."""
    async with showing() as stage:
        name = "[/nope]\x1b[2J"
        await fails(stage, name, "Error: [@click=app.quit]x[/] \x1b]52;c;aGk=\x07 \u202e")
        core = stage.story.core
        await core.checkpoints(core.root).create(name, run=core.run, task=name)
        await opened(stage)
        assert "[@click=app.quit]x[/]" in stage.text
        await press(stage, "signatures.edit", "signatures.answer", "browse.checkpoints")
        assert "[/nope]" in stage.text
        assert "\x1b" not in stage.text
        assert "\u202e" not in stage.text


async def test_another_run_is_deleted_in_two_steps(repo: Path, clock: ManualClock) -> None:
    """From a replay another run is deleted: what goes is shown, its id typed. A cut-off one stands under recovery."""
    logs = []
    for name in ("old", "new"):
        async with Supervisor.open(repo, clock=clock, start=e.RunStarted(project="shop", kind="plan")) as supervisor:
            supervisor.add(Task(id=name, prompt=admit("Make it work")))
            guidance = Guidance(attempt="1", number=1, level="first", text=admit("Make it work"), workdir=repo)
            supervisor.core.append(e.AttemptStarted(guidance=guidance, limit_s=900), task=name, attempt="1")
            await supervisor.core.journal.committed()
            logs.append(supervisor.core.journal.path)
        await clock.advance(60)
    old, new = (log.parent for log in logs)
    app = ReplayApp(ReplayedRun(indexed(logs[1]), await locate(repo)))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        stage = Stage(app, pilot)
        await pilot.press(key_of("view.browse"))
        await settled(stage)
        await press(stage, "browse.recovery")
        assert f"unstuck run --resume {new.name}" in stage.text
        await press(stage, "cut_off.look")
        assert "attempt    1 of default" in stage.text
        assert "check      it has none" in stage.text
        await press(stage, "browse.deletion", "deletion.delete")
        assert "it is open on this screen" in told(stage)
        await press(stage, "rows.down", "deletion.delete")
        assert f"run {old.name} would be deleted" in stage.text
        await says(stage, "y", "another")
        assert old.is_dir()
        await pilot.press(*["backspace"] * 7, *old.name, "enter")
        await settled(stage)
        assert not old.exists()
        assert new.is_dir()
        assert "a search found nothing of it" in told(stage)


async def test_a_replay_shows_the_failures_of_its_moment(past_log: Path) -> None:
    """The list is that of the moment that is shown, nobody can be answered there, and without a project it says so."""
    index = indexed(past_log)
    run = ReplayedRun(index)
    app = ReplayApp(run)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        stage = Stage(app, pilot)
        await run.go_to(index.failures[0])
        await pilot.press(key_of("view.browse"))
        await settled(stage)
        assert "· once, " in stage.text
        assert len(re.findall(r" try \d+", stage.text)) == 1
        await press(stage, "signatures.answer")
        assert "No open question is about this failure" in told(stage)
        await press(stage, "browse.checkpoints")
        assert "this log lies outside its project" in stage.text
        await press(stage, "browse.back")
        await run.go_to(len(index))
        await pilot.press(key_of("view.browse"))
        await settled(stage)
        assert "4 times, " in stage.text
