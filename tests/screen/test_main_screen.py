"""The main screen, by keys and mouse: what a person sees of a run, and how they find their way in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.widgets import Input, Static

from unstuck import Report
from unstuck.escalation.climb import Climb
from unstuck.record import events as e
from unstuck.settings import ScreenSettings
from unstuck_tui.actions import ACTIONS, Action, actions_of, key_of
from unstuck_tui.dialogs.gate import GateDialog
from unstuck_tui.screens.help import HelpScreen
from unstuck_tui.widgets.task_table import TaskTable

GOLDENS = Path(__file__).parents[1] / "data" / "screens"
SIZES = [(80, 24), (120, 40), (200, 60)]

Showing = Any
Stage = Any


def selected(stage: Stage) -> str:
    return str(stage.main.query_one(TaskTable).selected)


def shown(stage: Stage) -> list[str]:
    return list(stage.main.query_one(TaskTable).shown)


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
    async with showing(size=size, story=True) as stage:
        await stage.set_aside()
        await stage.press("table.down")
        matches_golden(stage, f"main-{size[0]}x{size[1]}")


async def test_the_detail_at_80_columns_as_it_is_kept(showing: Showing) -> None:
    """On a small terminal the opened task has the table's place."""
    async with showing(size=(80, 24), story=True) as stage:
        await stage.set_aside()
        await stage.press("table.down", "task.open")
        matches_golden(stage, "detail-80x24")


@pytest.mark.parametrize("size", [(60, 16), *SIZES])
async def test_every_line_fits_and_nothing_is_lost(showing: Showing, size: tuple[int, int]) -> None:
    """At every size the rows fill the terminal exactly, with the question in view and the footer at the bottom."""
    async with showing(size=size, story=True) as stage:
        await stage.set_aside()
        rows = stage.rows()
        assert len(rows) == size[1]
        assert {cell_len(row) for row in rows} == {size[0]}
        assert rows[1].startswith(" ! webhook")
        assert "? help" in rows[-1]


@pytest.mark.parametrize("size", [(59, 30), (100, 15), (20, 5)])
async def test_too_small_a_terminal_says_which_size_it_needs(showing: Showing, size: tuple[int, int]) -> None:
    """Below the least size there is a notice with both sizes; made larger, the run is there."""
    async with showing(size=size) as stage:
        stage.story.task("web")
        await stage.settled()
        said = " ".join(stage.text.split())
        assert f"{size[0]}x{size[1]}" in said
        assert "60x16" in said
        await stage.pilot.resize_terminal(80, 24)
        await stage.settled()
        assert "web" in stage.text
        assert "60x16" not in stage.text
        await stage.press("task.open")
        assert "has not failed" in stage.text


@pytest.mark.parametrize("opened", [False, True])
async def test_made_tiny_and_large_again(showing: Showing, opened: bool) -> None:
    """A window that was a single cell for a moment has its cursor where it was: the next key goes there."""
    async with showing(size=(80, 24), story=True) as stage:
        await stage.set_aside()
        if opened:
            await stage.press("task.open")
        before = stage.app.focused
        for size in ((1, 1), (300, 90), (20, 5), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.settled()
        assert stage.app.focused is before


async def test_rows_follow_what_happens(showing: Showing) -> None:
    """A task that is added, started and done is shown so within a frame, without a key."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        assert "○ web     ready" in stage.text
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
    async with showing(story=True) as stage:
        await stage.set_aside()
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
        assert "◷ web" in stage.rows()[1]
        assert "time is up in    0:40" in stage.rows()[1]


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
        assert stage.rows()[1].startswith(" … web")
        assert "tries again in 2:00:00" in stage.rows()[1]


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
        assert "Which currency?" in stage.rows()[1]
        assert "task-299" in stage.text
        assert "task-000" not in "\n".join(stage.rows()[2:])


async def test_many_questions_leave_room_for_the_tasks(showing: Showing) -> None:
    """Forty open questions take a fifth of the screen; the rest is reached in the list itself."""
    async with showing(size=(80, 24)) as stage:
        for number in range(40):
            stage.story.task(f"t{number:02}")
            stage.story.asks(f"t{number:02}", "question", question=f"Question {number:02}?", options=["a"])
        await stage.settled()
        assert not stage.app.screen.is_modal
        assert sum("Question" in row for row in stage.rows()) == 4
        await stage.press("view.previous", *["attention.down"] * 20)
        assert "Question 20?" in stage.text
        assert selected(stage) == "t20"


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
            assert isinstance(stage.app.screen, GateDialog)
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
        assert isinstance(stage.app.screen, GateDialog)
        assert "pytest is not installed" in "\n".join(str(part.render()) for part in stage.app.screen.query(Static))


async def test_nothing_to_answer_says_so(showing: Showing) -> None:
    """`answer` with no question open tells that there is none."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.press("gate.answer")
        assert "needs an answer" in stage.text


@pytest.mark.parametrize("name", ["table.down", "table.up", "table.first", "table.last"])
async def test_every_key_of_an_action_moves_the_cursor(showing: Showing, name: str) -> None:
    """Letters and arrows do the same."""
    expected = {"table.down": "c", "table.up": "a", "table.first": "a", "table.last": "e"}[name]
    (action,) = [action for action in ACTIONS if action.id == name]
    async with showing() as stage:
        for task in "abcde":
            stage.story.task(task)
        await stage.settled()
        for key in action.keys.split(","):
            stage.main.query_one(TaskTable).select("b")
            await stage.pilot.press(key)
            await stage.settled()
            assert selected(stage) == expected


async def test_the_detail_follows_the_cursor(showing: Showing) -> None:
    """Moving to another task shows its attempts, its failure and where it failed."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        await stage.press("table.down")
        assert "retry 2/3     ✗ same · raw body" in stage.text
        assert "tests/test_webhook.py:42" in stage.text
        assert "×4" in stage.text
        await stage.press("table.down")
        assert "▶ use Decimal" in stage.text
        assert "raw body" not in stage.text


async def test_what_happened_before_the_screen_was_there(showing: Showing) -> None:
    """A screen that is opened on a run with a past has the whole timeline."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        timeline = stage.app.tracker.history.of("webhook")
        assert [moment.label for moment in timeline] == ["first", "retry 1/3", "retry 2/3", "pivot 1/3", "asked"]


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
        assert selected(stage) == "cart"


async def test_filter_shows_and_hides(showing: Showing) -> None:
    """`/` narrows the table while one types; ! inverts; what is hidden is counted; esc shows everything."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        await stage.press("table.filter")
        await stage.write("backend")
        assert shown(stage) == ["models", "webhook", "cart", "refunds"]
        assert "/backend  4 of 8" in stage.text
        await stage.pilot.press("enter")
        await stage.settled()
        assert stage.main.query_one(TaskTable).has_focus
        assert "4 of 8" in stage.text
        await stage.press("view.back")
        assert len(shown(stage)) == 8
        await stage.press("table.filter")
        await stage.write("!backend")
        assert shown(stage) == ["search", "migrate", "rates", "docs"]
        await stage.press("view.back")
        assert len(shown(stage)) == 8


async def test_a_filter_that_nothing_passes(showing: Showing) -> None:
    """It says so, no other task's story stands below it, and esc brings everything back."""
    async with showing() as stage:
        assert "no tasks yet" in stage.text
        stage.story.task("web")
        await stage.settled()
        assert "web · ready" in stage.text
        await stage.press("table.filter")
        await stage.write("(" * 30)
        assert "no task passes the filter" in stage.text
        assert "0 of 1" in stage.text
        assert "web" not in stage.text
        await stage.press("view.back")
        assert "web · ready" in stage.text


async def test_letters_typed_into_the_filter_do_nothing_else(showing: Showing) -> None:
    """While one types, q does not quit and a does not answer."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        await stage.press("table.filter")
        await stage.write("qa?s")
        assert stage.main.query_one("#filter", Input).value == "qa?s"
        assert stage.app.screen is stage.main


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
        assert shown(stage) == ["quick"]


async def test_a_filtered_task_comes_when_it_matches(showing: Showing) -> None:
    """The filter looks at the state as it is now."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.task("cart")
        await stage.settled()
        await stage.press("table.filter")
        await stage.write("working")
        assert shown(stage) == []
        stage.story.start("cart")
        await stage.settled()
        assert shown(stage) == ["cart"]


async def test_sorting_keeps_the_cursor_on_its_task(showing: Showing) -> None:
    """The order changes by one key or by its letter, the heading says by what, and the cursor stays on its task."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        await stage.press("table.last")
        await stage.press("sort.name")
        assert shown(stage) == sorted(shown(stage))
        assert selected(stage) == "docs"
        assert "TASK▾" in stage.text
        await stage.press("sort.state")
        assert shown(stage)[0] == "webhook"
        await stage.press("sort.time")
        assert shown(stage)[0] == "migrate"
        await stage.press("sort.plan")
        assert shown(stage)[0] == "models"
        assert "▾" not in stage.text
        await stage.press("table.sort")
        assert "STATE▾" in stage.text


async def test_the_end_of_the_output_is_read_and_followed(showing: Showing) -> None:
    """The detail shows the last lines of what the agent prints, and new ones as they come."""
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


async def test_output_cannot_act_on_the_terminal(showing: Showing) -> None:
    """Escapes, eight-bit controls and half characters in the output are gone, secrets are hidden, markup is text."""
    hostile = b"\xc3" * 3 + b"\x1b]0;title\x07\x1b[2Jred \x9b31m [@click=app.quit]x[/] AKIAIOSFODNN7EXAMPLE\r\nend\n"
    async with showing(size=(120, 40)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        with output_of(stage, "web.1") as file:
            file.write(b"x\n" * 20_000 + hostile)
            await stage.settled()
        assert "red" in stage.text
        assert "[@click=app.quit]x[/]" in stage.text
        assert "AKIAIOSFODNN7EXAMPLE" not in stage.text
        assert "\x1b" not in stage.text
        assert "\x9b" not in stage.text


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


async def test_help_stands_in_columns_on_a_small_terminal(showing: Showing) -> None:
    """What does not fit into a line of the help goes on below itself, not below its key."""
    async with showing(size=(80, 24)) as stage:
        await stage.press("app.help")
        rows = [row[1:-1] for row in stage.rows()]
        first = next(row for row in rows if "Answer the question" in row)
        rest = rows[rows.index(first) + 1]
        assert len(rest) - len(rest.lstrip()) == first.index("Answer the question")


async def test_help_is_about_the_focused_pane(showing: Showing) -> None:
    """`?` explains the keys of the pane one is in, then those that work everywhere; esc closes it."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        await stage.press("app.help")
        assert isinstance(stage.app.screen, HelpScreen)
        for action in actions_of("table", "main", "app")[:4]:
            assert action.help in stage.text
        assert "To the end, and follow it." not in stage.text
        await stage.pilot.press("escape")
        await stage.press("task.open", "app.help")
        assert "To the end, and follow it." in stage.text
        await stage.pilot.press("escape")
        await stage.settled()
        assert stage.app.screen is stage.main


async def test_everything_is_in_the_palette(showing: Showing) -> None:
    """The palette finds an action by its words and does it."""
    async with showing(size=(120, 40)) as stage:
        stage.story.task("b")
        stage.story.task("a")
        await stage.settled()
        await stage.pilot.press(key_of("app.palette"))
        await stage.pilot.pause()
        await stage.pilot.press(*"by name")
        await stage.pilot.pause(0.3)
        await stage.pilot.press("enter")
        await stage.settled()
        assert shown(stage) == ["a", "b"]


async def test_the_palette_needs_room(showing: Showing) -> None:
    """It closes when the window shrinks to a line, where turning its pages would end the screen, and opens again."""
    async with showing(size=(80, 24)) as stage:
        await stage.pilot.press(key_of("app.palette"))
        await stage.pilot.resize_terminal(300, 3)
        await stage.settled()
        await stage.pilot.press("pageup", key_of("app.palette"), "pageup")
        await stage.settled()
        assert stage.app.screen is stage.main
        await stage.pilot.resize_terminal(80, 24)
        await stage.pilot.press(key_of("app.palette"))
        await stage.settled()
        assert stage.app.screen is not stage.main


async def test_the_footer_has_at_most_six_hints(showing: Showing) -> None:
    """In every pane the footer offers no more than six keys, and none that leads nowhere."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        panes = [stage.main.query_one(TaskTable), *stage.main.query("Page"), stage.main.query_one("#attention")]
        for pane in panes:
            pane.focus()
            await stage.settled()
            offered = [bound for bound in stage.app.screen.active_bindings.values() if bound.binding.show]
            assert len({bound.binding.id for bound in offered if bound.enabled}) <= 6


async def test_the_mouse_selects_and_opens(showing: Showing) -> None:
    """A click puts the cursor on a task, a second one opens it; a click on a question points at its task."""
    async with showing(size=(80, 24), story=True) as stage:
        await stage.set_aside()
        await stage.pilot.click("#tasks", offset=(5, 3))
        await stage.settled()
        assert selected(stage) == "search"
        await stage.pilot.click("#attention", offset=(5, 0))
        await stage.settled()
        assert selected(stage) == "webhook"
        await stage.pilot.click("#tasks", offset=(5, 2), times=2)
        await stage.settled()
        assert "cart · working" in stage.text


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
async def test_light_and_dark_can_be_read(showing: Showing, theme: str) -> None:
    """In both themes every word of the table and of the choices stands out from its background (4 : 1)."""
    async with showing(story=True) as stage:
        stage.app.theme = theme
        await stage.settled()
        assert "models" in stage.text  # the run stays in view round the dialog
        choices = stage.app.screen.query_one("#choices").region
        strips = [strip.crop(choices.x, choices.right) for strip in stage.app.screen._compositor.render_strips()]
        told = [part for strip in strips[choices.y : choices.bottom] for part in strip if part.text.strip()]
        assert len(told) > 8
        assert [(part.text, _contrast(part.style)) for part in told if _contrast(part.style) < 4] == []
        await stage.set_aside()
        await stage.press("table.down")
        table = stage.main.query_one(TaskTable).region
        strips = stage.app.screen._compositor.render_strips()[table.y : table.bottom]
        assert all(_contrast(part.style) >= 4 for strip in strips for part in strip if part.text.strip())


async def test_the_terminals_own_colours_are_the_only_ones(showing: Showing) -> None:
    """With the ANSI theme every word has one of the sixteen colours, and none lies on the same one."""
    async with showing(story=True, settings=ScreenSettings(theme="ansi")) as stage:
        for _ in range(2):
            strips = stage.app.screen._compositor.render_strips()
            styles = [part.style for strip in strips for part in strip if part.text.strip() and part.style]
            assert len(styles) > 40
            for style in styles:
                assert {color.type.name for color in (style.color, style.bgcolor)} <= {"DEFAULT", "STANDARD"}
                assert style.color != style.bgcolor or style.color.is_default
            if stage.app.screen.is_modal:
                await stage.set_aside()


async def test_without_colours_the_cursor_is_seen(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under NO_COLOR no colour is used; the selected line, and the selected choice, are light."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing() as stage:
        stage.story.task("web")
        stage.story.task("cart")
        await stage.settled()
        strips = stage.app.screen._compositor.render_strips()
        web, cart = (next(strip for strip in strips if name in strip.text) for name in ("○ web", "○ cart"))
        assert all(part.style.reverse for part in web if part.text.strip() and part.style)
        assert not any(part.style.reverse for part in cart if part.style)
        stage.story.asks("web", problem="no key")
        await stage.settled()
        strips = stage.app.screen._compositor.render_strips()
        first, second = (
            next(part.style for strip in strips for part in strip if name in part.text)
            for name in ("Show me how", "Skip this part")
        )
        assert sum(first.bgcolor.triplet) > 2 * sum(second.bgcolor.triplet)


async def test_the_theme_changes_by_key(showing: Showing) -> None:
    """One key goes from dark to light, on to the terminal's own colours, and back."""
    async with showing() as stage:
        assert stage.app.current_theme.dark
        await stage.press("app.theme")
        assert not stage.app.current_theme.dark
        await stage.press("app.theme")
        assert stage.app.native_ansi_color
        await stage.press("app.theme")
        assert stage.app.current_theme.dark
        assert not stage.app.native_ansi_color


async def test_a_screen_that_fails_takes_nothing_with_it(showing: Showing, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks while records are looked at breaks the screen, not the record: the run's log goes on."""
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with showing() as stage:
            stage.story.task("web")
            monkeypatch.setattr(stage.app.tracker.history, "see", lambda record: 1 / 0)
            stage.story.start("web")
            await stage.story.core.journal.committed()
            await stage.story.end("web", 1, Report(exit_code=0))
            await stage.story.core.journal.committed()
            assert stage.story.supervisor.state.tasks["web"].state == "judging"
            await stage.settled()


async def test_a_screen_that_is_gone_is_told_nothing(showing: Showing) -> None:
    """A run that goes on without its screen has no more work with it."""
    async with showing() as stage:
        stage.story.task("web")
        await stage.settled()
        tracker = stage.app.tracker
        tracker.close()
        stage.story.start("web")
        await stage.story.core.journal.committed()
        assert not tracker.take().tasks


async def test_an_ended_run_stands_still(showing: Showing) -> None:
    """When everything is done the header says so and its clock stops."""
    async with showing() as stage:
        stage.story.task("web")
        stage.story.start("web")
        await stage.story.end("web", 61)
        stage.story.passes("web")
        stage.story.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
        await stage.settled()
        assert "1:01  every task succeeded" in stage.rows()[0]
        await stage.pass_time(100)
        assert "1:01  every task succeeded" in stage.rows()[0]


def test_no_key_means_two_things_in_one_pane() -> None:
    """In each pane every key belongs to one action, also of those that work everywhere."""
    for area in ("table", "attention", "detail"):
        keys = [key for action in actions_of(area, "main", "app") for key in action.keys.split(",")]
        assert sorted(keys) == sorted(set(keys))


def test_every_action_has_an_id_of_its_own() -> None:
    """Ids name actions for remapping, and each says what it does."""
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert all(isinstance(action, Action) and action.help for action in ACTIONS)


def _contrast(style: Any) -> float:
    def luminance(color: Any) -> float:
        parts = [part / 255 for part in color.get_truecolor()]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


async def test_while_nothing_can_be_recorded_no_row_says_that_it_works(showing: Any) -> None:
    """The disk is full: what worked stands still, in its row, its title and the counts; with room again it works."""
    async with showing(story=True) as stage:
        await stage.set_aside()
        stage.main.query_one(TaskTable).select("cart")
        await stage.settled()
        assert "cart · working" in stage.text
        tracker = stage.app.tracker
        for held in ("no space left", ""):
            tracker.held = lambda held=held: held
            tracker.trouble()
            await stage.settled()
            rows = [row for row in stage.rows() if " cart " in row]
            assert all(("held" in row, "working" in row) == (bool(held), not held) for row in rows[:1]), rows
            assert ("stands still" in rows[0]) == bool(held)
            assert (f"cart · {'held' if held else 'working'}") in stage.text
            assert ("working" in stage.rows()[0]) == (not held)
