"""The review on the screen: the sessions, the timeline of one, and the place in its transcript."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.history.kept import AGENTS, keep
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from unstuck.history.locations import sources_in
from unstuck.history.reviews import Session, Wanted, in_order, review_of
from unstuck_tui.app.review_app import ReviewApp
from unstuck_tui.keys.actions import key_of
from unstuck_tui.screens.review import ReviewScreen
from unstuck_tui.screens.transcript import TranscriptScreen

SIZES = ((80, 24), (120, 40), (200, 60))


class Reader:
    """The screen, and the person before it."""

    def __init__(self, app: ReviewApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def settled(self) -> None:
        await self.app.workers.wait_for_complete([one for one in self.app.workers if one.group == "reading"])
        await self.pilot.pause()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press the keys that the registry has for these actions, or keys by their names."""
        await self.pilot.press(*(key_of(key) if "." in key else key for key in keys))
        await self.settled()

    @property
    def rows(self) -> list[str]:
        """Return the text on the terminal."""
        visible_screen_stack.set(self.app._background_screens)
        strips = self.app.screen._compositor.render_strips()
        return ["".join(part.text for part in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)


def sessions_in(home: Path) -> list[Session]:
    """The reviews of all recorded sessions, the oldest first."""
    places = [keep(home, agent) for agent in AGENTS]
    places += [keep(home, agent, "quiet") for agent in AGENTS if agent != "opencode"]
    sources = [source for place in places for source in sources_in(place, pytest.fail)]
    found = [review_of(source, Wanted()) for source in sources]
    return in_order(one for one in found if isinstance(one, Session))


@asynccontextmanager
async def reading(sessions: list[Session], size: tuple[int, int] = (120, 40)) -> AsyncIterator[Reader]:
    app = ReviewApp(sessions)
    async with app.run_test(size=size, notifications=True) as pilot:
        reader = Reader(app, pilot)
        await reader.settled()
        yield reader


@pytest.mark.parametrize("size", SIZES)
async def test_the_sessions_and_a_timeline(size: tuple[int, int], tmp_path: Path) -> None:
    """At every size: all sessions with what came of them, and when unstuck would have spoken in the first one."""
    async with reading(sessions_in(tmp_path), size) as reader:
        assert reader.rows[0] == " 9 sessions, 62 steps, 37 failures, 4 claimed done after a failed check"
        assert reader.rows[1].startswith(" 5 went round in circles, and 26 steps, ")
        assert sum(" shop " in row for row in reader.rows) == 9
        assert "→ nudge     python3 -m unittest -q test_cart" in reader.text
        assert "? asks you" in reader.text
        assert reader.rows[-1].startswith(" ⏎ transcript  n next loop  s sort")


async def test_the_timeline_of_another_session(tmp_path: Path) -> None:
    """It belongs to the session under the cursor; its failures and its claim stand below."""
    async with reading(sessions_in(tmp_path)) as reader:
        assert "claimed done, but the last check failed at step 6: python3 -m unittest" in reader.text
        assert "6× ASSERTION_ERROR /home/ann/shop/test_cart.py:8, steps 1 to 6: AssertionError: 0 != 9" in reader.text
        await reader.press("rows.down")
        assert "qwen · scripted · 0.15.10 · /home/ann/shop · ab47b035" in reader.text
        assert "→ nudge" not in reader.text
        assert "✓ check     python3 -m unittest -q test_cart" in reader.text


@pytest.mark.parametrize("size", SIZES)
async def test_the_place_in_the_transcript(size: tuple[int, int], tmp_path: Path) -> None:
    """Enter shows the step at which unstuck would have spoken, among what was said and done; escape goes back."""
    async with reading(sessions_in(tmp_path), size) as reader:
        await reader.press("review.open")
        assert isinstance(reader.app.screen, TranscriptScreen)
        assert " · step 3 · " in reader.rows[0]
        assert "● I try it again." in reader.text
        place = next(at for at, row in enumerate(reader.rows) if row.startswith("↻     3  "))
        assert "$ python3 -m unittest -q test_cart" in reader.rows[place]
        assert "✗ exit 1" in reader.rows[place + 1]
        assert "AssertionError: 0 != 9" in reader.text
        await reader.press("transcript.next")
        assert any(row.startswith("↻     4  ") for row in reader.rows)
        await reader.press("transcript.back")
        assert isinstance(reader.app.screen, ReviewScreen)


async def test_the_place_of_a_line_of_the_timeline(tmp_path: Path) -> None:
    """Enter on a line of the timeline shows its own step."""
    async with reading(sessions_in(tmp_path)) as reader:
        await reader.press("review.pane", "rows.last", "rows.up", "review.open")
        assert " · step 6 · " in reader.rows[0]


async def test_from_loop_to_loop(tmp_path: Path) -> None:
    """One key leads to the next session with a loop, another sorts by what came after loops."""
    async with reading(sessions_in(tmp_path)) as reader:
        await reader.press("review.next")
        assert "qwen · scripted · 0.15.10 · /home/ann/shop · 5038169b" in reader.text
        await reader.press("review.sort")
        assert "qwen · scripted · 0.15.10 · /home/ann/shop · 5038169b" in reader.text, "the cursor stays on its session"
        places = [row for row in reader.rows if " shop " in row]
        assert " gemini " in places[0]
        assert all(row.split()[-2:] != ["done", "failed"] for row in places[5:])


async def test_a_session_without_a_loop_alone(tmp_path: Path) -> None:
    """Nothing to go to is said, and the transcript begins at its first step."""
    session = [one for one in sessions_in(tmp_path) if not one.review.loops][:1]
    async with reading(session) as reader:
        assert reader.rows[1] == " none went round in circles"
        await reader.press("review.next")
        assert "No session went round in circles." in reader.text
        await reader.press("review.open")
        assert " · step 0 · " in reader.rows[0]


async def test_a_transcript_that_has_gone(tmp_path: Path) -> None:
    """A transcript that cannot be read any more is named in its place."""
    sessions = [one for one in sessions_in(tmp_path) if one.agent == "claude"]
    sessions[-1].source.path.unlink()
    async with reading(sessions) as reader:
        await reader.press("review.open")
        assert "the transcript cannot be read any more: [Errno 2] No such file or directory" in reader.text


async def test_another_width(tmp_path: Path) -> None:
    """The transcript is wrapped anew, and its place stays in view."""
    async with reading(sessions_in(tmp_path), (120, 40)) as reader:
        await reader.press("review.open")
        await reader.pilot.resize_terminal(70, 24)
        await reader.settled()
        assert max(map(len, reader.rows)) <= 70
        assert any(row.startswith("↻     3  ") for row in reader.rows)


async def test_too_small_and_leaving(tmp_path: Path) -> None:
    """Below the least size a notice says so; q leaves from anywhere."""
    async with reading(sessions_in(tmp_path)[:1], (50, 12)) as reader:
        assert "needs 60x16." in reader.text
        await reader.pilot.press("q")
        await reader.pilot.pause()
        assert not reader.app.is_running


async def test_markup_in_a_transcript_is_text(tmp_path: Path) -> None:
    """An agent's words are shown as text, never as markup, on both screens."""
    place = keep(tmp_path, "claude")
    told = place.read_text("utf-8").replace("I try it again.", "[bold red]again[/] :smile:")
    place.write_text(told.replace("/home/ann/shop", "/home/ann/[red]shop"), encoding="utf-8")
    (source,) = sources_in(place, pytest.fail)
    found = review_of(source, Wanted())
    assert isinstance(found, Session)
    async with reading([found]) as reader:
        assert " [red]shop " in reader.text
        await reader.press("review.open")
        assert "● [bold red]again[/] :smile:" in reader.text
