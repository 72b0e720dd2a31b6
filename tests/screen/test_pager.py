"""A text on a screen of its own: all of it, searched, followed, with other attempts, copied and opened elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.screen.conftest import WRONG_STATUS, Showing, Stage

from unstuck.eventlog import events as e
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.render.tasks.pager import has_trouble, page_line, place_of, places_of
from unstuck_tui.screens.pager import PagerLines, PagerScreen
from unstuck_tui.widgets.detail import Detail


def wrote(stage: Stage, name: str, text: str, folder: str = "output") -> Path:
    file = stage.story.core.folder / folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


async def failed(stage: Stage) -> None:
    """A task with one failed attempt, whose check printed 300 lines with an error in the middle."""
    stage.story.task("web", verify="pytest -q")
    stage.story.start("web")
    await stage.story.end("web", 3)
    text = numbered(150) + "ValueError: this is wrong\n" + numbered(150)
    wrote(stage, "web.1.check.log", text)
    wrote(stage, "web.1.log", "the agent's first words\n")
    stage.story.fails("web", WRONG_STATUS, output="web.1.check.log")
    await stage.settled()


async def test_all_of_an_output_is_read_from_its_end(showing: Showing) -> None:
    """o shows the output that stands beside the table, with its number of lines; q and esc leave it."""
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        await stage.press("view.pager")
        assert "web · 3 changes  [4 check]  5 agent   6 prompt" in stage.text
        assert "line 301 of 301" in stage.text
        assert "  line 150" in stage.rows()[-2]
        await stage.press("rows.first")
        assert "  line 1 " in stage.rows()[1]
        await stage.pilot.press("q")
        await stage.settled()
        assert not isinstance(stage.app.screen, PagerScreen)


async def test_words_are_found_forwards_backwards_and_round_the_end(showing: Showing) -> None:
    """The search does not care for capitals, says when there is nothing, and esc forgets it first."""
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        await stage.press("view.pager", "pager.search")
        await stage.write("LINE 77")
        await stage.pilot.press("enter")
        await stage.settled()
        assert "2 matches  line 77 of 301" in stage.text
        await stage.press("pager.next")
        assert "line 228 of 301" in stage.text
        await stage.press("pager.next")
        assert "line 77 of 301" in stage.text
        await stage.press("pager.previous")
        assert "line 228 of 301" in stage.text
        await stage.press("pager.back")
        assert isinstance(stage.app.screen, PagerScreen)
        await stage.press("pager.search")
        await stage.write("nowhere")
        await stage.pilot.press("enter")
        await stage.settled()
        assert "'nowhere' is not in this text" in stage.text


async def test_an_output_that_is_still_being_read_is_the_one_that_opens(showing: Showing) -> None:
    """5 and o at once: the agent's output, although the check's still stands beside the table."""
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        stage.main.query_one(Detail).turn_output("agent")
        stage.main.action_pager()
        await stage.settled()
        assert "[5 agent]" in stage.text


async def test_x_jumps_to_errors(showing: Showing) -> None:
    """The next line that tells of an error; a text without one says so."""
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        await stage.press("view.pager")
        await stage.press("pager.trouble")
        assert "line 151 of 301" in stage.text
        assert "ValueError: this is wrong" in stage.text
        await stage.press("rows.last")
        assert "line 301 of 301" in stage.text
        await stage.press("pager.trouble_before")
        assert "line 151 of 301" in stage.text
        await stage.press("pager.agent")
        await stage.press("pager.trouble")
        assert "No line of this text tells of an error" in stage.text


async def test_what_is_printed_is_followed(showing: Showing) -> None:
    """New lines come in at the end while the agent works; without following, the text stays where it is."""
    async with showing(size=(100, 30)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        file = wrote(stage, "web.1.log", numbered(50))
        await stage.settled()
        await stage.press("output.agent", "view.pager")
        assert "follows" in stage.text
        screen = stage.app.screen
        assert isinstance(screen, PagerScreen)

        async def more(text: str) -> None:
            with file.open("a", encoding="utf-8") as stream:
                stream.write(text)
            screen.tick()
            await stage.settled()
            await stage.settled()

        await more("and\nmore\nnot whole")
        assert "line 52 of 52" in stage.text
        await more(" but now\n")
        assert "not whole but now" in stage.text
        await stage.press("pager.follow", "rows.first")
        await more("later\n")
        assert "line 1 of 54" in stage.text


async def test_an_output_that_is_opened_before_its_first_line_comes(showing: Showing) -> None:
    """The check's output is shown as soon as there is a file of it, without another key."""
    async with showing(size=(100, 30)) as stage:
        stage.story.task("web", verify="pytest -q")
        stage.story.start("web")
        await stage.settled()
        await stage.press("output.check", "view.pager")
        assert "its check has not run yet" in stage.text
        await stage.story.end("web", 1)
        wrote(stage, "web.1.check.log", numbered(3))
        screen = stage.app.screen
        assert isinstance(screen, PagerScreen)
        screen.tick()
        await stage.settled()
        await stage.settled()
        assert "line 3 of 3" in stage.text


async def test_a_very_long_line_is_read_to_its_end(showing: Showing) -> None:
    """A match far to the right comes into view; a key leads to the end of a line, another to its start."""
    async with showing(size=(100, 30)) as stage:
        stage.story.task("web")
        stage.story.start("web")
        wrote(stage, "web.1.log", f"begin {'y' * 50_000} needle {'z' * 50_000} tail\nlast\n")
        await stage.settled()
        await stage.press("output.agent", "view.pager", "pager.search")
        await stage.write("Needle")
        await stage.pilot.press("enter")
        await stage.settled()
        assert "y needle z" in stage.text
        await stage.press("pager.line_end")
        assert stage.rows()[1].rstrip().endswith("z tail")
        await stage.press("pager.line_start")
        assert stage.rows()[1].startswith("  begin yyy")


async def test_earlier_attempts_are_a_key_away(showing: Showing) -> None:
    """[ and ] go through the attempts, each with its own check, words and prompt."""
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        stage.story.directs("web", "retry", retries=1)
        stage.story.start("web", "retry")
        wrote(stage, "web.2.log", "the second\n")
        wrote(stage, "web.1.txt", "Do it.\n", "prompts")
        wrote(stage, "web.2.txt", "Do it better.\n", "prompts")
        await stage.settled()
        await stage.press("output.agent", "view.pager")
        assert "the second" in stage.text
        await stage.press("pager.earlier")
        assert "[5 agent]" in stage.text
        assert "attempt 1 of 2" in stage.text
        assert "the agent's first words" in stage.text
        await stage.press("pager.prompt")
        assert "Do it." in stage.text
        await stage.press("pager.later")
        assert "Do it better." in stage.text
        await stage.press("pager.earlier", "pager.check")
        assert "ValueError" not in stage.text  # it is further up
        assert "[4 check]" in stage.text
        assert "attempt 1 of 2" in stage.text


async def test_where_the_kept_part_begins_is_told(showing: Showing) -> None:
    """Of a very long output the end is read, and the screen says how much is left out and how to see it."""
    async with showing(size=(80, 24)) as stage:
        await failed(stage)
        wrote(stage, "web.1.check.log", numbered(600_000))
        await stage.press("view.pager")
        assert " before: e opens all  line " in stage.text
        assert stage.rows()[0].startswith(" web · [check] ")
        assert "line 600000" in stage.rows()[-2]


async def test_the_file_opens_in_the_editor_at_its_line(
    showing: Showing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An editor with a window of its own is started with the file and the line; a run in this terminal goes on."""
    told = tmp_path / "told"
    editor = tmp_path / "code"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}.new && mv {told}.new {told}\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with showing(size=(100, 30)) as stage:
        await failed(stage)
        await stage.press("view.pager", "pager.trouble", "pager.edit")
        assert any("is opened in code" in said.message for said in stage.app._notifications)
        while not told.exists():
            await stage.settled()
        goto, place = told.read_text(encoding="utf-8").split()
        assert goto == "--goto"
        assert place.endswith("web.1.check.log:151")


async def test_changes_stand_side_by_side(showing: Showing) -> None:
    """s shows old and new beside each other; 3 tells them since another time; a file of code keeps its text."""
    async with showing(size=(140, 30)) as stage:
        core, story = stage.story.core, stage.story
        (core.root / "a.py").write_text("def old():\n    return 1\n", encoding="utf-8")
        story.task("web")
        story.start("web")
        saved = await core.checkpoints(core.root).create("baseline", run=core.run, task="web")
        story.append(e.CheckpointCreated(id=saved.id, reason="baseline", purpose="baseline"), "web")
        (core.root / "a.py").write_text("def new():\n    return 1\n", encoding="utf-8")
        await stage.settled()
        await stage.press("page.changes", "view.pager")
        assert "web · [3 changes]" in stage.text
        assert "1 file, +1 -1" in stage.text
        assert "  -def old():" in stage.text
        await stage.press("pager.split")
        (row,) = [line for line in stage.rows() if "def old" in line]
        assert "def new" in row
        await stage.press("pager.changes")
        assert "the start of its last attempt" in stage.text


async def test_nothing_hostile_is_drawn(showing: Showing) -> None:
    """Escape sequences and markup are text, and sideways scrolling shows the rest of a long line."""
    async with showing(size=(80, 24)) as stage:
        await failed(stage)
        wrote(stage, "web.1.check.log", "\x1b[2J[bold]" + "x" * 200 + "THE END\n")
        await stage.press("view.pager")
        assert "[bold]xxx" in stage.text
        assert "THE END" not in stage.text
        await stage.pilot.press(*["right"] * 8)
        await stage.settled()
        assert "THE END" in stage.text
        assert "from column 161" in stage.text


async def test_a_task_without_output_says_why(showing: Showing) -> None:
    """The prompt of a task that has not started is its own; what was deleted says so."""
    async with showing(size=(100, 30)) as stage:
        stage.story.task("web", verify="pytest -q")
        await stage.settled()
        await stage.press("view.pager")
        assert "Make it work" in stage.text
        await stage.press("pager.agent")
        assert "no output yet" in stage.text
        await stage.press("pager.edit")
        assert "There is no file of it to open" in stage.text


@pytest.mark.parametrize(
    ("line", "is_trouble"),
    [
        ("E   AssertionError: no", True),
        ("error: cannot find x", True),
        ("3 failed, 2 passed", True),
        ("thread 'main' panicked at src/main.rs:2", True),
        ("0 errors", False),
        ("errors: 0", False),
        ("all terrors are gone", False),
        ("ok", False),
    ],
)
def test_lines_that_tell_of_an_error(line: str, is_trouble: bool) -> None:
    """By their words, whatever tool printed them; a count of none is no error."""
    assert has_trouble(line) is is_trouble


def test_words_are_filled_wherever_they_stand() -> None:
    """Every place in the line, in any capitals, and nothing is lost around it."""
    cells = page_line("Abc abc xABCx", 40, words="abc")
    assert "".join(cell.text for cell in cells).rstrip() == "  Abc abc xABCx"
    assert [cell.text for cell in cells if cell.tone == "chip"] == ["Abc", "abc", "ABC"]


def test_the_search_goes_round() -> None:
    """After the last place comes the first, before the first the last; nothing is found where nothing is."""
    places = places_of(["a", "b", "A"], "a")
    assert places == [0, 2]
    assert [place_of(places, line, 1) for line in range(3)] == [2, 2, 0]
    assert [place_of(places, line, -1) for line in range(3)] == [2, 0, 0]
    assert place_of(places_of(["a", "b"], "c"), 0, 1) is None


async def test_what_an_agent_said_is_read_in_all_its_attempts(showing: Showing) -> None:
    """The JSON of a known agent is told as messages and calls, also of an earlier attempt; Z shows it as printed."""
    recorded = (Path(__file__).parents[1] / "data" / "attempts" / "claude.log").read_text(encoding="utf-8")
    async with showing(size=(110, 40)) as stage:
        await failed(stage)
        wrote(stage, "web.1.log", recorded)
        stage.story.directs("web", "retry", retries=1)
        stage.story.start("web", "retry")
        wrote(stage, "web.2.log", "plain words\n")
        await stage.settled()
        await stage.press("output.agent", "view.pager")
        assert "plain words" in stage.text
        await stage.press("pager.earlier")
        assert "● All tests pass now" in stage.text or "● I read the code" in stage.text
        assert '{"' not in stage.text
        before = len(stage.app.screen.query_one(PagerLines).texts)
        await stage.press("pager.unfold")
        assert len(stage.app.screen.query_one(PagerLines).texts) > before
        await stage.press("pager.raw")
        assert '{"' in stage.text


async def test_the_output_is_one_key_away_in_a_question(showing: Showing) -> None:
    """o over the dialog shows the check's output, a digit the rest; then the question is there again, and waits."""
    async with showing(size=(120, 40), story=True) as stage:
        await stage.pass_time(1)
        dialog = stage.app.screen
        assert isinstance(dialog, QuestionDialog)
        assert "o output, changes, prompt" in stage.text
        await stage.press("dialog.pager")
        assert isinstance(stage.app.screen, PagerScreen)
        assert f"{dialog.question.gate.task} · " in stage.rows()[0]
        await stage.press("pager.prompt")
        assert "[6 prompt]" in stage.rows()[0]
        await stage.pilot.press("q")
        await stage.settled()
        assert stage.app.screen is dialog
        assert stage.story.supervisor.state.open_gates()
