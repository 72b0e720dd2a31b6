"""Transcript of an agent on the main screen and in the log: readable, folded, followed, and raw on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.screen.conftest import Showing

from unstuck import admit
from unstuck.eventlog import events as e
from unstuck.history.output_reader import OutputReader
from unstuck_tui.render.log import record_cells, record_lines
from unstuck_tui.render.transcript import TranscriptLayout
from unstuck_tui.widgets.detail import TextPane

RECORDED = Path(__file__).parents[1] / "data" / "attempts"
AGENTS = sorted(path.stem for path in RECORDED.glob("*.log"))


async def at_work(stage: Any, printed: bytes) -> Path:
    """The agent of ``web`` at work, with what it has printed so far."""
    stage.story.task("web", verify="pytest -q")
    stage.story.start("web")
    file: Path = stage.story.core.folder / "output" / "web.1.log"
    file.write_bytes(printed)
    await stage.pass_time(1)
    return file


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("agent", AGENTS)
async def test_what_it_said_last_is_read_at_every_size(agent: str, size: tuple[int, int], showing: Showing) -> None:
    """5 shows its messages, commands, results and changes, and no JSON."""
    async with showing(size=size) as stage:
        await at_work(stage, (RECORDED / f"{agent}.log").read_bytes())
        await stage.press("output.agent")
        await stage.press("view.pager")
        assert '{"' not in stage.text
        if agent not in ("cline", "acp_gemini"):  # the last that these two print are warnings
            assert "● All tests pass now" in stage.text
            assert "$ python3 -m unittest -q" in stage.text
        await stage.press("pager.back")
        await stage.press("page.timeline")
        assert "first try ▶ at work" in stage.text


async def test_the_end_stays_in_view_where_there_is_less_room(showing: Showing) -> None:
    """The field of the search takes a line of the full screen, and not the one that was said last."""
    async with showing(size=(80, 24)) as stage:
        await at_work(stage, (RECORDED / "acp_qwen.log").read_bytes())
        await stage.press("output.agent", "view.pager")
        await stage.press("pager.search")
        assert "words to look for" in stage.text
        assert "● All tests pass now" in stage.text


async def test_it_is_followed_while_the_agent_works(showing: Showing) -> None:
    """Each second there is more of it, the end stays in view, and what is in the middle of a line waits for its end."""
    lines = (RECORDED / "claude.log").read_bytes().splitlines(keepends=True)
    async with showing(size=(120, 40)) as stage:
        file = await at_work(stage, b"".join(lines[:2]))
        assert "● I read the code before I change it." in stage.text
        assert "attempt 1 is at work" in stage.text
        with file.open("ab", buffering=0) as stream:
            for line in lines[2:-2]:
                stream.write(line)
            stream.write(lines[-2][:40])
            await stage.pass_time(1)
            assert "✗ exit 3" in stage.text
            assert "All tests pass now" not in stage.text
            stream.write(lines[-2][40:])
            await stage.pass_time(1)
        assert "● All tests pass now: `total` adds every price" in stage.text


async def test_results_are_unfolded_and_folded_with_a_key(showing: Showing) -> None:
    """A long result shows its first lines and how many there are more; one key shows all of them, and again few."""
    async with showing(size=(120, 40)) as stage:
        await at_work(stage, b"".join((RECORDED / "claude.log").read_bytes().splitlines(keepends=True)[:4]))
        await stage.press("output.agent")
        assert "… 61 more lines" in stage.text
        await stage.press("output.unfold")
        assert "more lines" not in stage.text
        await stage.pilot.press("G")
        await stage.settled()
        assert "  60" in stage.text
        await stage.press("output.unfold")
        assert "… 61 more lines" in stage.text


async def test_raw_only_on_request(showing: Showing) -> None:
    """One key shows the lines as they were printed, and again what they say."""
    async with showing(size=(120, 40)) as stage:
        await at_work(stage, (RECORDED / "codex.log").read_bytes())
        await stage.press("output.raw")
        assert '{"type":"turn.completed"' in stage.text
        await stage.press("output.raw")
        assert '{"type"' not in stage.text
        assert "● All tests pass now" in stage.text


async def test_an_edit_on_the_screen(showing: Showing) -> None:
    """A change of a file is a diff, with its file and its counts."""
    lines = (RECORDED / "claude.log").read_bytes().splitlines(keepends=True)
    async with showing(size=(120, 40)) as stage:
        edited = b"".join(line for line in lines[:-3] if b'"Read"' not in line)
        await at_work(stage, edited.replace(b"/home/dev/shop", str(stage.story.core.root).encode()))
        await stage.press("output.agent")
        assert "± Edit cart.py  +1 -1" in stage.text
        assert "-        result = price" in stage.text
        assert "+        result = result + price" in stage.text


async def test_plain_text_is_shown_as_it_was(showing: Showing) -> None:
    """A program that prints no JSON loses nothing, and the keys for folding and raw lines change nothing."""
    async with showing(size=(120, 40)) as stage:
        await at_work(stage, b"Reading the code\n$ make\n")
        for _ in range(2):
            assert "  Reading the code" in stage.text
            assert "  $ make" in stage.text
            await stage.press("output.unfold", "output.raw")


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("unfold", [False, True])
def test_lines_never_run_over_and_hold_no_escape(agent: str, unfold: bool) -> None:
    """At any width no line is wider, and no sign of ours is ever an agent's."""
    entries = OutputReader(RECORDED / f"{agent}.log").read(is_ended=True) or ()
    for width in (20, 38, 60, 119):
        lines = TranscriptLayout().lines(entries, width=width, unfold=unfold, note="at work")
        assert all(sum(cell_len(cell.text) for cell in line) <= width for line in lines)
        assert all(line[0].text in ("● ", "$ ", "→ ", "± ", "✓ ", "✗ ", "> ", "  ") for line in lines[:-1])


async def test_nothing_is_laid_out_twice(showing: Showing) -> None:
    """While a clock ticks, an entry that has not changed keeps the lines that it has."""
    entries = OutputReader(RECORDED / "claude.log").read(is_ended=True) or ()
    layout = TranscriptLayout()
    first = layout.lines(entries[:-1], width=80)
    second = layout.lines(entries, width=80)
    assert all(one is other for one, other in zip(first, second, strict=False))
    assert len(second) > len(first)


async def test_a_watched_session_is_read_from_its_transcript(
    showing: Showing, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session in its own terminal prints nothing here: what its agent keeps of it is shown."""
    kept = Path(__file__).parents[1] / "data" / "transcripts" / "claude_loop.jsonl"
    place = isolated / ".claude" / "projects" / "-shop" / "5f5c2f1e-0000.jsonl"
    place.parent.mkdir(parents=True)
    place.write_bytes(kept.read_bytes())
    async with showing(size=(120, 40), kind="watch") as stage:
        stage.story.task("claude-fix-it", agent="claude")
        stage.story.start("claude-fix-it")
        stage.story.append(e.SessionNamed(session="5f5c2f1e-0000"), "claude-fix-it", "claude-fix-it.1")
        await stage.pass_time(1)
        await stage.press("output.agent")
        assert "$ python3 -m unittest -q test_cart" in stage.text
        shown = stage.app.screen.query_one("#output", TextPane)
        last = "".join(cell.text for cell in shown.line_cells(shown.line_total() - 1, 60))
        assert last.strip() == "its session is at work"


async def test_a_step_in_the_log(showing: Showing) -> None:
    """The log says what was done in words; opened, a change is a diff above the fields of the event."""
    edit = 'Edit {"file_path":"cart.py","new_string":"b","old_string":"a"}'
    async with showing(size=(120, 40)) as stage:
        await at_work(stage, b"")
        for kind, text in (("action", edit), ("message", "I look."), ("failure", "oops\n" * 9)):
            step = e.StepRecorded(kind=kind, tool="edit", text=admit(text), exit_code=3 if kind == "failure" else None)
            stage.story.append(step, "web", "web.1", "agent")
        await stage.settled()
        await stage.press("view.log")
        assert "± Edit cart.py +1 -1" in stage.text
        assert "● I look." in stage.text
        assert "✗ exit 3 oops oops" in stage.text
        assert '{"file_path"' not in stage.text


def test_a_damaged_record_is_said() -> None:
    """A line of the log that cannot be read is no step."""
    assert record_lines(None, 60)[0][0].text.strip() == "this line cannot be read"
    assert record_cells(None, 60)
