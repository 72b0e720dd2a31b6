"""Pages about a task: its timeline, its escalation levels, and the changes in its files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.screen.conftest import WRONG_STATUS, Showing

from unstuck import admit
from unstuck.eventlog import events as e
from unstuck_tui.render.diff import note_lines
from unstuck_tui.widgets import detail
from unstuck_tui.widgets.task_table import TaskTable


async def test_pages_are_turned_with_their_keys(showing: Showing) -> None:
    """2 shows the ladder, 1 the timeline again; the title says which page it is and which there are."""
    async with showing(story=True, pops=False) as stage:
        await stage.pilot.press("2")
        await stage.pilot.pause()
        assert "4 attempts so far" in stage.text
        await stage.press("page.ladder")
        assert "[2 ladder]" in stage.text
        assert "▸ asks you" in stage.text
        assert "waits for you" in stage.text
        await stage.press("page.timeline")
        assert "[1 timeline]" in stage.text
        assert "retry 1 of 3" in stage.text
        assert "asks you" not in stage.text


async def test_with_room_the_prompt_stands_beside_the_output(showing: Showing) -> None:
    """On a high screen one reads without a key what failed and what the agent was told, and never twice."""
    async with showing(size=(200, 60)) as stage:
        stage.story.task("web", prompt=admit("Accept the signed messages"))
        stage.story.start("web")
        await stage.settled()
        assert "[5 agent]" in stage.text
        assert stage.text.count("Accept the signed messages") == 1
        await stage.press("output.prompt")
        assert stage.text.count("Accept the signed messages") == 1
        stage.story.task("cart", prompt=admit("Give a discount"))
        await stage.settled()
        await stage.press("output.check", "view.back", "table.down")
        assert stage.text.count("Give a discount") == 1
        assert "Accept the signed messages" not in stage.text
    async with showing(size=(120, 30)) as stage:
        stage.story.task("web", prompt=admit("Accept the signed messages"))
        stage.story.start("web")
        await stage.settled()
        assert stage.text.count("Accept the signed messages") == 1


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_lines_that_are_left_show_the_other_output_and_the_changes(
    showing: Showing, size: tuple[int, int]
) -> None:
    """Of a task without a failure one reads what it is, what its agent did last and which files, without a key."""
    async with showing(size=size) as stage:
        core, story = stage.story.core, stage.story
        story.task("web", verify="pytest -q", prompt=admit("Accept the signed messages"))
        story.start("web")
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        story.append(e.CheckpointCreated(id=saved.id, reason="baseline", purpose="baseline"), "web")
        printed(stage, "web.1.log", "".join(f"step {number}\n" for number in range(20)))
        await stage.pass_time(1)
        assert "step 19" in stage.text
        (core.root / "README.md").write_text("other\n[bold]words[/bold]\n", encoding="utf-8")
        await story.end("web", 3)
        last = await core.checkpoints(core.root).create("good", run=core.run, task="web")
        story.append(e.CheckpointCreated(id=last.id, reason="good", purpose="good"), "web")
        printed(stage, "web.1.check.log", "1 passed\n")
        story.passes("web", output="web.1.check.log")
        await stage.pass_time(1)
        text = stage.text
        assert "[4 check]" in text
        assert text.index("1 passed") < text.index("── 5 agent ──") < text.index("step 19")
        assert "changed    README.md  +2 -1" in text
        assert text.count("Accept the signed messages") == 1
        assert ("+[bold]words[/bold]" in text) == (size == (200, 60)), "the agent's last lines come before the changes"
        await stage.pilot.resize_terminal(80, 24)
        await stage.settled()
        assert "1 passed" in stage.text


async def test_the_changes_are_those_in_the_files(showing: Showing) -> None:
    """3 shows the diff from the task's start to its files as they are, and follows what changes in them."""
    async with showing() as stage:
        core = stage.story.core
        stage.story.task("web")
        stage.story.start("web")
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        stage.story.append(e.CheckpointCreated(id=saved.id, reason="baseline", purpose="baseline"), "web")
        (core.root / "README.md").write_text("other\n[bold]words[/bold]\n", encoding="utf-8")
        await stage.press("page.changes")
        assert f"since its start ({saved.id}): 1 file, +2 -1" in stage.text
        assert "+[bold]words[/bold]" in stage.text
        (core.root / "new.txt").write_text("new\n", encoding="utf-8")
        await stage.pass_time(10)
        assert "2 files, +3 -1" in stage.text


async def test_changes_are_told_of_the_task_of_its_last_attempt_and_since_the_last_checkpoint(showing: Showing) -> None:
    """Press 3 again for another start; what an earlier attempt did counts for the task, not for the last attempt."""
    async with showing(size=(160, 40)) as stage:
        core, story = stage.story.core, stage.story
        store = core.checkpoints(core.root)

        async def saved(purpose: Any) -> None:
            made = await store.create(purpose, run=core.run, task="web")
            story.append(e.CheckpointCreated(id=made.id, reason=purpose, purpose=purpose), "web")

        story.task("web")
        story.start("web")
        await saved("baseline")
        (core.root / "first.txt").write_text("1\n", encoding="utf-8")
        await story.end("web", 1)
        story.fails("web", WRONG_STATUS)
        story.directs("web", "retry", retries=1)
        await saved("directive")
        story.start("web", "retry")
        (core.root / "second.txt").write_text("2\n", encoding="utf-8")
        await story.end("web", 1)
        await saved("good")
        (core.root / "third.txt").write_text("3\n", encoding="utf-8")
        await stage.press("page.changes")
        assert "since its start" in stage.text
        assert "3 files, +3 -0" in stage.text
        await stage.press("page.changes")
        assert "since the start of its last attempt" in stage.text
        assert "2 files, +2 -0" in stage.text
        await stage.press("page.changes")
        assert "since its last checkpoint" in stage.text
        assert "1 file, +1 -0" in stage.text
        story.passes("web")
        await stage.press("page.changes")  # of what has ended, nothing that came later is its work
        assert "since its start" in stage.text
        assert "2 files, +2 -0" in stage.text


async def test_changes_in_a_shared_directory_may_be_of_others(showing: Showing) -> None:
    """Tasks that work in the same directory are named above the changes: nothing tells their work apart."""
    async with showing(size=(160, 40)) as stage:
        core, story = stage.story.core, stage.story
        for name in ("web", "cart", "later"):
            story.task(name)
        story.task("apart", isolation="worktree")
        for name in ("web", "apart"):
            story.start(name)
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        story.append(e.CheckpointCreated(id=saved.id, reason="baseline", purpose="baseline"), "web")
        (core.root / "first.txt").write_text("1\n", encoding="utf-8")
        await stage.settled()
        await stage.press("page.changes")
        assert "1 file, +1 -0" in stage.text
        assert "shared directory" not in stage.text
        story.start("cart")
        (core.root / "second.txt").write_text("2\n", encoding="utf-8")
        await stage.pass_time(10)
        assert "2 files, +2 -0" in stage.text
        assert "shared directory: some changes may be of cart" in stage.text


async def test_a_long_difference_is_laid_out_once(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its agent works a clock ticks each second: the lines of what has changed are made only when it changes."""
    laid_out: list[int] = []

    def counted(*told: Any, **how: Any) -> Any:
        laid_out.append(1)
        return note_lines(*told, **how)

    monkeypatch.setattr(detail, "note_lines", counted)
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
    """A task without a checkpoint has no comparison, and in a narrow terminal the page has it all."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        await stage.press("page.changes")
        assert "nothing to compare with" in stage.text
        assert "[changes]" in stage.text or "[3 changes]" in stage.text
        await stage.press("view.back")
        assert "nothing to compare with" not in stage.text


def printed(stage: Any, name: str, text: str) -> None:
    """A file among the outputs of the run."""
    (stage.story.core.folder / "output" / name).write_text(text, encoding="utf-8")


async def worked(stage: Any) -> Any:
    """The story in which the first attempt at ``web`` has ended, and its check runs."""
    stage.story.task("web", verify="pytest -q")
    stage.story.start("web")
    await stage.story.end("web", 3)
    return stage.story


async def test_the_check_that_failed_is_read_on_the_main_screen(showing: Showing) -> None:
    """Nothing has to be opened: its output stands below the failure, the lines of the failure marked, nothing cut."""
    async with showing(size=(120, 40)) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.start("web")
        printed(stage, "web.1.log", "all done\n")
        await story.end("web", 3)
        long = "x" * 90
        printed(stage, "web.1.check.log", f"{WRONG_STATUS}{long} end of the line\n")
        story.fails("web", WRONG_STATUS, output="web.1.check.log")
        await stage.pass_time(1)
        assert "[4 check]" in stage.text
        assert "▸ E       AssertionError: expected 200 but got 401" in stage.text
        assert "▸ tests/test_webhook.py:42: AssertionError" in stage.text
        assert "end of the line" in stage.text
        assert "the check failed with exit code 1" in stage.text


async def test_a_failure_that_is_over_is_the_last_one(showing: Showing) -> None:
    """Nothing is wrong with a task whose check has passed; what failed before can still be read."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        await stage.story.end("web", 5)
        stage.story.fails("web", WRONG_STATUS)
        await stage.settled()
        assert "─ what is wrong ─" in stage.text
        stage.story.directs("web", "retry", retries=1)
        stage.story.start("web", "retry")
        await stage.story.end("web", 5)
        stage.story.passes("web")
        await stage.settled()
        assert "─ last failure, solved ─" in stage.text


async def test_a_task_that_asks_shows_what_about(showing: Showing) -> None:
    """Without a check that failed the pane has the question with its facts; with one, the question comes before it."""
    async with showing(pops=False) as stage:
        story = stage.story
        story.task("web")
        story.start("web")
        context = {"clock": "idle", "silent_seconds": 15, "verdict": "STALLED", "signals": ["no output", "no CPU"]}
        story.asks("web", "timeout", attempt="web.1", **context)
        await stage.settled()
        assert "─ shows no activity ─" in stage.text
        assert "STALLED: nothing seen for 15s" in stage.text
        assert "no output; no CPU" in stage.text
        assert "no failure so far" not in stage.text
        story.task("api")
        story.start("api")
        await story.end("api", 5)
        story.asks("api", agents=["sign-in: run `agent login`"], problem="the agent is not signed in")
        await stage.settled()
        await stage.press("table.down")
        assert "─ is stuck ─" in stage.text
        assert "the agent is not signed in" in stage.text.split("─ is stuck ─")[1]
        story.task("cart")
        story.start("cart")
        await story.end("cart", 5)
        story.fails("cart", WRONG_STATUS)
        story.asks("cart", "integration", problem="both changed shop.py", paths=["shop.py"])
        await stage.settled()
        await stage.press("table.down")
        shown = stage.text.split("─ is done, but its result conflicts ─")[1]
        assert "both changed shop.py" in shown
        assert shown.index("both changed shop.py") < shown.index("expected 200 but got 401")


async def test_lines_that_the_attempts_leave_show_the_next_steps(showing: Showing) -> None:
    """On a large screen the escalation level with what comes next stands below the attempts, and needs no key."""
    async with showing(size=(200, 60), story=True, pops=False) as stage:
        await stage.settled()
        attempts, _, ladder = stage.text.partition("── 2 ladder ──")
        assert "retry 2 of 3" in attempts
        await stage.press("page.ladder")
        (line,) = (row for row in stage.rows() if "asks you" in row)
        assert line[1:90].strip() in ladder


async def test_what_is_scrolled_says_where_it_is(showing: Showing) -> None:
    """A list or a text of which a part is in view has its place in its frame, as the table of the tasks has."""
    async with showing(size=(120, 40), pops=False) as stage:
        story = await worked(stage)
        printed(stage, "web.1.check.log", "".join(f"line {number}\n" for number in range(200)))
        story.fails("web", WRONG_STATUS, output="web.1.check.log")
        for number in range(8):
            story.task(f"asks-{number}")
            story.start(f"asks-{number}")
            story.asks(f"asks-{number}", "timeout", attempt=f"asks-{number}.1")
        await stage.pass_time(1)
        assert "3 of 8 · a answer" in stage.text
        await stage.press("table.first")
        assert "─ 201 of 201 ─" in stage.text
        stage.main.set_focus(stage.main.query_one("#output"))
        await stage.press("detail.first")
        assert re.search(r"─ \d\d? of 201 ─", stage.text)
        stage.main.set_focus(stage.main.query_one("#attention"))
        await stage.press("attention.up")
        for _ in range(8):
            await stage.press("attention.down")
        assert "8 of 8 · a answer" in stage.text


async def test_each_output_is_a_key_away(showing: Showing) -> None:
    """5 shows what the agent printed, 6 what it was told, 4 the check; the choice stays for the next task."""
    async with showing(size=(120, 40)) as stage:
        story = stage.story
        story.task("web", verify="pytest -q")
        story.task("api", verify="pytest -q")
        story.start("web")
        printed(stage, "web.1.log", "I will look at the [bold]server[/bold]\n")
        prompts = stage.story.core.folder / "prompts"
        prompts.mkdir(exist_ok=True)
        (prompts / "web.1.txt").write_text("Make it work, and keep the tests\n", encoding="utf-8")
        await stage.pass_time(1)
        assert "[5 agent]" in stage.text
        assert "I will look at the [bold]server[/bold]" in stage.text
        await stage.press("output.prompt")
        assert "Make it work, and keep the tests" in stage.text
        assert "prompt of attempt 1" in stage.text
        await stage.press("output.check")
        assert "its check has not run yet" in stage.text
        await stage.press("output.agent")
        assert "I will look at" in stage.text
        await stage.press("output.prompt", "view.back", "table.down")
        assert stage.selected == "api"
        assert "its prompt; it has not started yet" in stage.text


async def test_the_output_of_a_check_that_runs_is_read_at_once(showing: Showing) -> None:
    """While the check of an attempt runs, its output is followed, without that of the attempt before."""
    async with showing(size=(120, 40)) as stage:
        await worked(stage)
        printed(stage, "web.1.check.log", "first test passed\n")
        await stage.pass_time(1)
        assert "first test passed" in stage.text
        assert "the check runs" in stage.text
        for seconds in ("41s", "42s"):  # and how long it has run
            await stage.pass_time(40 if seconds == "41s" else 1)
            row = next(row for row in stage.rows() if "web" in row and "checking" in row)
            assert seconds in row


async def test_an_output_that_is_gone_leaves_what_the_log_kept(showing: Showing) -> None:
    """The files of a run may be deleted while its log stays."""
    async with showing(size=(120, 40)) as stage:
        story = await worked(stage)
        story.fails("web", WRONG_STATUS, output="web.1.check.log", evidence=admit("kept: 200 but got 401"))
        await stage.pass_time(1)
        assert "kept: 200 but got 401" in stage.text


async def test_below_a_short_table_the_output_has_what_is_left(showing: Showing) -> None:
    """At 80x24 the last check of the selected task stands below three tasks, and not below thirty."""
    async with showing(size=(80, 24)) as stage:
        story = await worked(stage)
        printed(stage, "web.1.check.log", WRONG_STATUS)
        story.fails("web", WRONG_STATUS, output="web.1.check.log")
        await stage.pass_time(1)
        assert "▸ E       AssertionError: expected 200 but got 401" in stage.text
        for number in range(30):
            story.task(f"more-{number}")
        await stage.pass_time(1)
        assert "expected 200 but got 401" not in stage.text.split("WHAT IS WRONG")[1].split("more-0")[1]


async def test_a_failed_check_is_read_from_the_line_that_fails(showing: Showing) -> None:
    """Of a long output the lines of the failure are in view; who reads elsewhere is left there."""
    async with showing(size=(80, 24)) as stage:
        story = await worked(stage)
        around = "".join(f"another line {number}\n" for number in range(60))
        printed(stage, "web.1.check.log", around)
        await stage.pass_time(1)
        assert "another line 59" in stage.text  # of a check that runs the end
        printed(stage, "web.1.check.log", f"{around}{WRONG_STATUS}{around}")
        story.fails("web", WRONG_STATUS, output="web.1.check.log")
        await stage.pass_time(1)
        assert "▸ E       AssertionError: expected 200 but got 401" in stage.text
        stage.main.set_focus(stage.main.query_one("#output"))
        await stage.press("detail.first")
        await stage.pass_time(1)
        assert "another line 0" in stage.text
        await stage.press("detail.last")
        await stage.pass_time(1)
        assert "the check failed with exit code 1" in stage.text


async def test_a_sentence_says_how_far_the_escalation_has_come(showing: Showing) -> None:
    """The detail of a failed task begins with the tries used, the next step, and when the person is asked."""
    async with showing(size=(120, 40)) as stage:
        story = await worked(stage)
        story.fails("web", WRONG_STATUS)
        story.directs("web", "retry", retries=3, repeats=3)
        await stage.pass_time(1)
        told = " ".join(stage.text.replace("│", " ").split())
        assert "so far 3 of 8 tries used. Next: new approach" in told
        assert "you are asked" in told


async def test_many_records_are_one_look_at_the_files(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an agent reports step after step, its files are compared once, and once more when five seconds are over."""
    async with showing(size=(120, 40)) as stage:
        looks: list[str] = []
        changes = stage.app.view.changes

        async def counted(task: str, since: Any = "start") -> Any:
            looks.append(task)
            return await changes(task, since)

        monkeypatch.setattr(stage.app.view, "changes", counted)
        stage.story.task("web")
        stage.story.start("web")
        await stage.settled()
        await stage.press("page.changes")
        before = len(looks)
        for _ in range(10):
            stage.story.spawned("web")
            await stage.settled()
        assert len(looks) == before
        await stage.pass_time(6)
        assert len(looks) == before + 1
