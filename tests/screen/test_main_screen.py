"""The main screen, by keys and mouse: what a person sees of a run, and how they find their way in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual import events
from textual.widgets import Input, Static

from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.runs.view.run_view import meanwhile
from unstuck.supervision.gates.service import open_gate
from unstuck.text import admit
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.keys.actions import ACTIONS, key_of
from unstuck_tui.runs.log.index import indexed
from unstuck_tui.runs.replay.replayed_run import ReplayedRun
from unstuck_tui.widgets.detail import Detail
from unstuck_tui.widgets.task_table import TaskTable

GOLDENS = Path(__file__).parents[1] / "data" / "screens"
PATIENCE_S = 20.0
SIZES = [(80, 24), (120, 40), (200, 60)]

Showing = Any
Stage = Any


def matches_golden(stage: Stage, name: str) -> None:
    """Compare with the picture in words that is kept; one that is missing is written, to be looked at."""
    path, text = GOLDENS / f"{name}.txt", stage.text + "\n"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was not there; it has been written: look at it")
    assert text == path.read_text(encoding="utf-8")


@contextmanager
def output_of(stage: Stage, attempt: str) -> Iterator[Any]:
    with (stage.story.core.folder / "output" / f"{attempt}.log").open("ab", buffering=0) as file:
        yield file


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_screen_as_it_is_kept(showing: Showing, size: tuple[int, int]) -> None:
    """A busy run, character by character: header, what needs attention, every task, and one in detail."""
    async with showing(size=size, story=True, pops=False) as stage:
        await stage.pass_time(0.3)
        matches_golden(stage, f"main-{size[0]}x{size[1]}")
        if size == (80, 24):
            await stage.press("task.open")  # on a small terminal it has the table's place
            matches_golden(stage, "detail-80x24")


async def test_every_line_fits_and_nothing_is_lost(showing: Showing) -> None:
    """At every size the rows fill the terminal exactly, with the question in view and the footer at the bottom."""
    async with showing(size=(60, 16), story=True, pops=False) as stage:
        for size in ((60, 16), *SIZES):
            await stage.pilot.resize_terminal(*size)
            await stage.settled()
            rows = stage.rows()
            assert len(rows) == size[1]
            assert {cell_len(row) for row in rows} == {size[0]}
            assert " ! webhook" in "".join(rows[1:3])
            assert "? help" in rows[-1]


async def test_too_small_a_terminal_says_which_size_it_needs(showing: Showing) -> None:
    """Below the least size there is a notice with both sizes; made larger, the run is there.

    It stands alone, whatever is open, and says that the run goes on until that is over.
    """
    async with showing(size=(59, 30)) as stage:
        stage.story.task("web")
        for size in ((59, 30), (100, 15), (20, 5)):
            await stage.pilot.resize_terminal(*size)
            await stage.settled()
            said = " ".join(stage.text.split())
            assert f"{size[0]}x{size[1]}" in said
            assert "60x16" in said
            await stage.pilot.resize_terminal(80, 24)
            await stage.settled()
            assert "web" in stage.text
            assert "60x16" not in stage.text
        await stage.press("task.open")
        assert "no failure" in stage.text
        await stage.pilot.resize_terminal(20, 5)
        await stage.settled()
        said = " ".join(stage.text.split())
        assert said == "Too small: 20x5, needs 60x16. The run continues meanwhile."
        stage.story.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
        await stage.settled()
        assert "The run is over." in stage.text


def test_of_a_replay_nothing_is_said_to_go_on(past_log: Path) -> None:
    """The run that is shown again ended long ago, however far the screen has come in it."""
    assert meanwhile(ReplayedRun(indexed(past_log))) == "This is a replay."


async def test_made_tiny_and_large_again(showing: Showing) -> None:
    """A window that was a single cell for a moment has its cursor where it was: the next key goes there."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        for opens in ((), ("task.open",)):
            await stage.press(*opens)
            before = stage.app.focused
            for size in ((1, 1), (300, 90), (20, 5), (80, 24)):
                await stage.pilot.resize_terminal(*size)
                await stage.settled()
            assert stage.app.focused is before


async def test_keys_do_nothing_to_what_is_not_seen(showing: Showing) -> None:
    """In a window that is too small no key opens, sorts or mutes; with room again the hints are all there."""
    async with showing(size=(80, 24), story=True, pops=False) as stage:
        before = stage.text
        await stage.pilot.resize_terminal(50, 10)
        await stage.pilot.press("s", "U", "b", "l", "d", "m", "2")
        await stage.pilot.resize_terminal(80, 24)
        await stage.settled()
        assert stage.app.screen is stage.main
        assert stage.text == before


async def test_rows_follow_what_happens(showing: Showing) -> None:
    """A task that is added, started and done is shown so within a frame, without a key."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        assert "○ web     queued" in stage.text
        stage.story.start("web", limit=900)
        await stage.settled()
        assert "▶ web     working" in stage.text
        assert "15:00" in stage.text
        await stage.story.end("web", 100)
        stage.story.passes("web")
        await stage.settled()
        assert "✓ web     succeeded" in stage.text
        assert "✓ 1 done" in stage.rows()[0]


async def test_clocks_run_without_events(showing: Showing) -> None:
    """Time left, a wait and the age of a question change with the clock alone."""
    async with showing(story=True, pops=False) as stage:
        await stage.pass_time(0.3)
        before = stage.text
        await stage.pass_time(100)
        assert "14:50" in before
        assert "13:10" in stage.text
        assert "waits for you  9m 09s" in before
        assert "waits for you 10m 49s" in stage.text


async def test_time_that_is_nearly_up_is_announced(showing: Showing) -> None:
    """The last minute of an attempt stands in the attention list, with the countdown to what happens by itself."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web", limit=900)
        await stage.pass_time(800)
        assert "nearly up" not in stage.text
        await stage.pass_time(60)
        assert "◷ web" in stage.rows()[2]
        assert "time is up in    0:40" in stage.rows()[2]


async def test_a_wait_of_hours_is_told_from_its_beginning(showing: Showing) -> None:
    """A quota that resets in two hours stands in the attention list at once, with the countdown to the next try."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        await stage.story.end("web", 1)
        retry = e.TransientErrorRetry(error_type="HTTP_ERROR", retry=1, delay_seconds=7_200, climb=Climb())
        stage.story.fails("web", "HTTP 429: Too Many Requests")
        stage.story.append(retry, "web")
        await stage.settled()
        assert stage.rows()[2].startswith("│ … web")
        assert "retries in 2:00:00" in stage.rows()[2]


async def test_attention_is_never_scrolled_away(showing: Showing) -> None:
    """With hundreds of tasks, at the end of the table, the question is still the first thing on the screen."""
    async with showing(size=(80, 24)) as stage:
        for number in range(300):
            stage.story.task(f"task-{number:03}")
        stage.story.start("task-000")
        gate = stage.story.asks("task-000", "question", question="Which currency?", options=["EUR"])
        await stage.settled()
        assert gate
        await stage.press("table.last")
        assert "Which currency?" in stage.rows()[2]
        assert "task-299" in stage.text
        assert "task-000" not in "\n".join(stage.rows()[3:])


async def test_many_questions_leave_room_for_the_tasks(showing: Showing) -> None:
    """Forty open questions take no more lines than one does; the rest is reached in the list itself."""
    async with showing(size=(80, 24)) as stage:
        for number in range(40):
            stage.story.task(f"t{number:02}")
            stage.story.asks(f"t{number:02}", "question", question=f"Question {number:02}?", options=["a"])
        await stage.settled()
        assert not stage.app.screen.is_modal
        assert sum("Question" in row for row in stage.rows()) == 2
        await stage.press("view.previous", *["attention.down"] * 20)
        assert "Question 20?" in stage.text
        assert stage.selected == "t20"


async def test_a_answers_the_selected_task_else_the_oldest(showing: Showing) -> None:
    """With two questions open, `answer` means the one of the task under the cursor."""
    async with showing() as stage:
        for name in ("one", "two", "three"):
            stage.story.task(name)
        for name in ("one", "two"):
            stage.story.asks(name, "question", question=f"about {name}", options=["a"])
        await stage.settled()
        for name, asked in (("one", "about one"), ("two", "about two"), ("three", "about one")):
            stage.main.query_one(TaskTable).select(name)
            await stage.press("gate.answer")
            assert isinstance(stage.app.screen, QuestionDialog)
            assert asked in "\n".join(str(part.render()) for part in stage.app.screen.query(Static))
            await stage.set_aside()


async def test_a_question_of_the_run_can_be_reached(showing: Showing) -> None:
    """A question that belongs to no task is chosen in the attention list."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.asks("web", "question", question="about web", options=["a"])
        stage.story.asks("", "remediation", problem="pytest is not installed", attempts=3)
        await stage.settled()
        await stage.press("view.previous", "attention.down", "attention.answer")
        assert isinstance(stage.app.screen, QuestionDialog)
        assert "pytest is not installed" in "\n".join(str(part.render()) for part in stage.app.screen.query(Static))


async def test_nothing_to_answer_says_so(showing: Showing) -> None:
    """`answer` with no question open tells that there is none."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.press("gate.answer")
        assert "needs an answer" in stage.text


async def test_every_key_of_an_action_moves_the_cursor(showing: Showing) -> None:
    """Letters and arrows do the same."""
    expected = {"table.down": "c", "table.up": "a", "table.first": "a", "table.last": "e"}
    async with showing() as stage:
        for task in "abcde":
            stage.story.task(task)
        await stage.settled()
        for action in ACTIONS:
            for key in action.keys.split(",") if action.id in expected else ():
                stage.main.query_one(TaskTable).select("b")
                await stage.pilot.press(key)
                await stage.settled()
                assert stage.selected == expected[action.id], key


async def test_the_detail_follows_the_cursor(showing: Showing) -> None:
    """Moving to another task shows its attempts, also those before the screen was there, its failure and its place."""
    async with showing(story=True, pops=False) as stage:
        timeline = stage.app.tracker.history.of("webhook")
        assert [moment.label for moment in timeline] == [
            "first try",
            "retry 1 of 3",
            "retry 2 of 3",
            "new approach 1 of 3",
            "asked",
        ]
        assert stage.selected == "webhook"
        assert "retry 2 of 3        ✗ same · raw body" in stage.text
        assert "tests/test_webhook.py:42" in stage.text
        assert "×4" in stage.text
        await stage.press("table.down")
        assert "▶ use Decimal" in stage.text
        assert "raw body" not in stage.text


async def test_open_and_back_on_a_small_terminal(showing: Showing) -> None:
    """Enter gives the detail the table's place, esc gives it back, with the cursor where it was."""
    async with showing(size=(80, 24)) as stage:
        stage.story.task("web")
        stage.story.task("cart")
        stage.story.start("cart")
        await stage.settled()
        await stage.press("table.down", "task.open")
        assert "cart · working" in stage.text
        assert "TASK" not in stage.text
        await stage.press("view.back")
        assert "TASK" in stage.text
        assert stage.selected == "cart"


@pytest.mark.parametrize(("size", "least"), [((80, 24), 10), ((60, 16), 5)])
async def test_on_a_small_terminal_what_is_read_has_the_room(
    showing: Showing, size: tuple[int, int], least: int
) -> None:
    """An opened task begins with its failure and its failing check; the pane that is chosen takes the others' lines."""
    async with showing(size=size, story=True, pops=False) as stage:
        folder = stage.story.core.folder / "output"
        (folder / "webhook.4.check.log").write_text(
            "".join(f"line {number}\n" for number in range(40)), encoding="utf-8"
        )
        await stage.press("gate.next", "task.open")
        detail = stage.main.query_one(Detail)

        def heights() -> dict[str, int]:
            panes = ("story", "failure", "output")
            return {pane: detail.query_one(f"#{pane}").outer_size.height for pane in panes}

        assert "AssertionError  expected 200 but got 401" in stage.text
        assert heights()["story"] == 1
        assert heights()["output"] > least
        assert "2 ladder" in stage.text
        await stage.press("page.timeline")
        assert "retry 2 of 3" in stage.text
        assert "asked" in stage.text
        assert "4 check" in stage.text
        await stage.press("page.ladder")
        assert heights()["story"] >= least - 1
        await stage.pilot.press("tab")
        await stage.settled()
        assert detail.query_one("#failure").outer_size.height >= least
        assert heights()["story"] == 1
        assert "hint" in stage.text
        await stage.press("output.agent")
        assert heights()["output"] > least
        assert "[5 agent]" in stage.text
        await stage.press("view.back", "task.open")
        assert heights()["output"] > least
        await stage.pilot.resize_terminal(120, 40)
        await stage.settled()
        assert min(heights().values()) > 8


async def test_filter_shows_and_hides(showing: Showing) -> None:
    """`/` narrows the table while one types; ! inverts; what is hidden is counted; esc shows everything.

    While one types, q does not quit and a does not answer.
    """
    async with showing(story=True, pops=False) as stage:
        await stage.press("table.filter")
        await stage.write("backend")
        assert stage.shown == ["models", "webhook", "cart", "refunds"]
        (heading,) = [row for row in stage.rows() if "/backend  4 of 8" in row]
        assert "WHAT IS WRONG" in heading
        assert "…" not in heading
        await stage.pilot.press("enter")
        await stage.settled()
        assert stage.main.query_one(TaskTable).has_focus
        assert "4 of 8" in stage.text
        await stage.press("view.back")
        assert len(stage.shown) == 8
        await stage.press("table.filter")
        await stage.write("!backend")
        assert stage.shown == ["search", "migrate", "rates", "docs"]
        await stage.press("view.back")
        assert len(stage.shown) == 8
        await stage.press("table.filter")
        await stage.write("qa?s")
        assert stage.main.query_one("#filter", Input).value == "qa?s"
        assert stage.app.screen is stage.main


async def test_a_long_list_says_where_the_cursor_is(showing: Showing) -> None:
    """The frame counts the rows up to the cursor as long as not all of them are in view."""
    async with showing() as stage:
        for number in range(60):
            stage.story.task(f"task-{number}")
        await stage.settled()
        assert "row 1 of 60" in stage.text
        await stage.press("table.last")
        assert "row 60 of 60" in stage.text
        await stage.press("table.filter")
        await stage.write("task-1")
        await stage.settled()
        assert "row " not in stage.text


async def test_a_type_that_all_have_takes_no_column(showing: Showing) -> None:
    """The column TYPE would tell no agents apart that have the same type."""
    async with showing(size=(200, 60)) as stage:
        stage.story.task("web", agent="coder", agent_type="backend")
        stage.story.task("api", agent="coder", agent_type="backend")
        await stage.settled()
        assert " AGENT " in stage.text
        assert " TYPE " not in stage.text
        stage.story.task("page", agent="coder", agent_type="frontend")
        await stage.settled()
        assert " TYPE " in stage.text


async def test_a_filter_that_nothing_passes(showing: Showing) -> None:
    """It says so, no other task's story stands below it, and esc brings everything back."""
    async with showing() as stage:
        assert "no tasks yet" in stage.text
        stage.story.task("web")
        await stage.settled()
        assert "web · [1 timeline]" in stage.text
        await stage.press("table.filter")
        await stage.write("(" * 30)
        assert "no task matches the filter" in stage.text
        assert "0 of 1" in stage.text
        assert "web" not in stage.text
        await stage.press("view.back")
        assert "web · [1 timeline]" in stage.text


async def test_keys_that_come_in_one_go_mean_what_they_mean_one_by_one(showing: Showing) -> None:
    """Open, back, filter and a word, faster than the screen can follow: the word is looked for, and nothing quits."""
    async with showing() as stage:
        for name in ("quick", "slow"):
            stage.story.task(name)
        await stage.settled()
        for key in (key_of("task.open"), key_of("view.back"), key_of("table.filter"), *"quick"):
            stage.app.simulate_key(key)
        await stage.settled()
        assert isinstance(stage.app.focused, Input)
        assert stage.app.focused.value == "quick"
        assert stage.shown == ["quick"]


async def test_a_filtered_task_comes_when_it_matches(showing: Showing) -> None:
    """The filter looks at the state as it is now."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.task("cart")
        await stage.settled()
        await stage.press("table.filter")
        await stage.write("working")
        assert stage.shown == []
        stage.story.start("cart")
        await stage.settled()
        assert stage.shown == ["cart"]


async def test_sorting_a_long_plan_shows_what_comes_first(showing: Showing) -> None:
    """In a plan of many tasks what needs me comes into view when I sort by that, wherever the cursor was."""
    async with showing(size=(100, 30), pops=False) as stage:
        for number in range(60):
            stage.story.task(f"task-{number:02}")
        stage.story.task("urgent")
        stage.story.start("urgent")
        open_gate(stage.story.core, "question", task="urgent", key="k", context={"question": "Which?"})
        await stage.settled()
        await stage.press("table.first")
        await stage.settled()
        assert "urgent" not in "\n".join(row for row in stage.rows() if "task-" in row)
        await stage.press("sort.state")
        await stage.settled()
        assert stage.shown[0] == "urgent"
        assert stage.main.query_one(TaskTable).selected == "task-00"  # it is in view still
        await stage.press("table.last", "sort.state")
        await stage.settled()
        assert stage.main.query_one(TaskTable).selected == "urgent"
        assert stage.main.query_one(TaskTable).scroll_offset.y == 0


async def test_sorting_keeps_the_cursor_on_its_task(showing: Showing) -> None:
    """The order changes by one key or by its letter, the heading says by what, and the cursor stays on its task."""
    async with showing(story=True, pops=False) as stage:
        await stage.press("table.last")
        await stage.press("sort.name")
        assert stage.shown == sorted(stage.shown)
        assert stage.selected == "docs"
        assert "TASK▾" in stage.text
        await stage.press("sort.state")
        assert stage.shown[0] == "webhook"
        await stage.press("sort.time")
        assert stage.shown[0] == "migrate"
        await stage.press("sort.plan")
        assert stage.shown[0] == "models"
        assert "▾" not in stage.text
        await stage.press("table.sort")
        assert "STATE▾" in stage.text


async def test_the_end_of_the_output_is_read_and_followed(showing: Showing) -> None:
    """The detail shows the last lines of what the agent prints, and new ones as they come.

    Escapes, eight-bit controls and half characters are gone, secrets are hidden, markup is text.
    """
    hostile = b"\xc3" * 3 + b"\x1b]0;title\x07\x1b[2Jred \x9b31m [@click=app.quit]x[/] AKIAIOSFODNN7EXAMPLE\r\nend\n"
    async with showing(size=(120, 40)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        with output_of(stage, "web.1") as file:
            file.write(b"".join(b"line %d\n" % number for number in range(200_000)))
            await stage.settled()
            assert "line 199999" in stage.text
            assert "attempt 1 is at work" in stage.text
            file.write(b"and then this\n")
            await stage.settled()
            assert "and then this" in stage.text
            file.write(hostile)
            await stage.settled()
        assert "red" in stage.text
        assert "[@click=app.quit]x[/]" in stage.text
        assert "AKIAIOSFODNN7EXAMPLE" not in stage.text
        assert "\x1b" not in stage.text
        assert "\x9b" not in stage.text


async def test_the_output_is_read_with_the_page_that_is_opened(showing: Showing) -> None:
    """At 80 columns a key for a page shows the output at once: nobody is told for a second that there is none."""
    async with showing(size=(80, 24)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        with output_of(stage, "web.1") as file:
            file.write(b"line 1\n")
        await stage.settled()
        await stage.pilot.press(key_of("page.ladder"))
        await stage.pilot.pause()
        detail = stage.main.query_one(Detail)
        await asyncio.gather(*(worker.wait() for worker in stage.app.workers if worker.node is detail))
        await stage.pilot.pause()
        assert "line 1" in stage.text


async def test_whoever_reads_further_up_is_left_there(showing: Showing) -> None:
    """Scrolled away from the end, the output does not jump when more of it comes."""
    async with showing(size=(120, 40)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        with output_of(stage, "web.1") as file:
            file.write(b"".join(b"line %d\n" % number for number in range(100)))
            await stage.settled()
            stage.main.query_one("#output").focus()
            await stage.press("detail.first")
            assert "line 0" in stage.text
            file.write(b"more\n")
            await stage.settled()
            assert "line 0" in stage.text
            await stage.press("detail.last")
            assert "more" in stage.text


async def test_while_nothing_can_be_recorded_no_row_says_that_it_works(showing: Showing) -> None:
    """The disk is full: what worked stands still, in its row, its title and the counts; with room again it works."""
    async with showing(story=True, pops=False) as stage:
        stage.main.query_one(TaskTable).select("cart")
        await stage.settled()
        assert any(row.startswith("╰") and " working · " in row for row in stage.rows())
        tracker = stage.app.tracker
        for held in ("no space left", ""):
            tracker.held = lambda held=held: held
            tracker.trouble()
            await stage.settled()
            rows = [row for row in stage.rows() if " cart " in row]
            assert all(("held" in row, "working" in row) == (bool(held), not held) for row in rows[:1]), rows
            assert ("paused" in rows[0]) == bool(held)
            title = f" {'held' if held else 'working'} · "
            assert any(row.startswith("╰") and title in row for row in stage.rows())
            assert ("working" in stage.rows()[0]) == (not held)


async def test_a_field_that_is_busy_holds_up_no_key_for_ever(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a field waits for, it is given a moment, and then the key does what it means."""
    monkeypatch.setattr("unstuck_tui.app.base_app._HANDLED_S", 0.0)
    free = asyncio.Event()
    async with showing(story=True, pops=False) as stage:
        await stage.press("table.filter")
        field = stage.app.focused
        field.call_later(free.wait)
        stage.app.post_message(events.Key("escape", None))
        async with asyncio.timeout(PATIENCE_S):
            while stage.app.focused is field:
                await asyncio.sleep(0)
        assert isinstance(stage.app.focused, TaskTable)
        free.set()
        await stage.settled()
        assert field.value == ""


async def test_n_goes_through_the_tasks_that_need_me(showing: Showing) -> None:
    """From one open question to the next in the order of the table, and round the end; without one nothing happens."""
    async with showing(size=(120, 40), pops=False) as stage:
        for name in "abcd":
            stage.story.task(name)
        await stage.settled()
        await stage.press("gate.next")
        assert stage.selected == "a"
        for name in "bd":
            stage.story.start(name)
            stage.story.asks(name)
        await stage.settled()
        await stage.press("table.first")
        seen = []
        for _ in range(3):
            await stage.press("gate.next")
            seen.append(stage.selected)
        assert seen == ["b", "d", "b"]


async def test_a_check_before_any_work_is_seen_while_it_runs(showing: Showing) -> None:
    """The check runs on the first files: its row says so with its time, and what it prints is shown as it comes."""
    async with showing(size=(120, 40)) as stage:
        stage.story.task("web", verify="pytest -q")
        await stage.settled()
        assert "waits for a free place" in stage.text
        stage.story.append(e.CheckpointCreated(id="chk-1", reason="baseline", purpose="baseline"), "web")
        output = stage.story.core.folder / "output" / "web.baseline.check.log"
        output.parent.mkdir(exist_ok=True)
        output.write_text("part 1 of 2\n", encoding="utf-8")
        await stage.pass_time(3)
        (row,) = (row for row in stage.rows() if "before any work" in row and " web " in row)
        assert "checking" in row
        assert "3s" in row
        assert "▷ 1 working" in stage.rows()[0] or "▶ 1 working" in stage.rows()[0]
        with output.open("a", encoding="utf-8") as more:
            more.write("part 2 of 2\n")
        await stage.pass_time(1)
        assert "part 2 of 2" in stage.text
        assert "the check runs before any work" in stage.text
        stage.story.append(e.TaskBaselineChecked(result="failed", checkpoint="chk-1"), "web")
        await stage.settled()
        assert "waits for a free place" in stage.text


async def test_a_task_of_a_shared_plan_says_what_it_waits_for_and_then_where_it_is_worked(showing: Showing) -> None:
    """In its row and its history: queued with the reason, then at work with the name of the host."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        stage.story.append(e.HostAwaited(reason=admit("waits for the label gpu")), "web", "web.1")
        await stage.settled()
        assert "queued" in stage.text
        assert stage.text.count("waits for the label gpu") > 1
        assert "at work" not in stage.text
        stage.story.append(e.HostAwaited(reason=admit(""), host="build1"), "web", "web.1")
        await stage.settled()
        assert stage.text.count("on build1") > 1
        assert "at work" in stage.text
