"""``unstuck watch`` at a real terminal while nothing happens."""

from __future__ import annotations

import re

from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

CLOCK = re.compile(r"\b\d+:\d\d\b")


def test_the_clock_of_a_watch_counts_while_nothing_happens(desk: Desk) -> None:
    """The first line says how long it has been watching, without an agent in sight; the last that none was seen."""
    terminal = desk.terminal("watch", size=(100, 24))
    seen: set[str] = set()
    while len(seen) < 2:
        assert terminal.read()
        seen.update(CLOCK.findall(terminal.text.splitlines()[0]))
    terminal.press(key_of("app.quit"))
    terminal.ended()
    assert terminal.is_clean()
    assert "no session was seen" in terminal.after


def test_a_watch_without_a_session_ends_with_what_to_type(desk: Desk) -> None:
    """Left before any agent was seen, it claims no success, nor does the output that follows it: both say what to type.

    A watch cannot be resumed, so neither says how. The exit code is 0, because nothing has failed.
    """
    terminal = desk.terminal("watch", size=(100, 24))
    terminal.until("Watching")
    runs = desk.root / ".git" / "unstuck" / "runs"
    # The first frame comes before the log that is followed.
    while not any(log.stat().st_size for log in runs.glob("*/events.jsonl")):
        assert terminal.read()
    following = desk.begin("watch", "--headless")
    assert following.stdout is not None
    assert "following it" in following.stdout.readline()
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    said, _ = following.communicate()
    assert following.returncode == 0
    for text in (terminal.after, said):
        assert "no session was seen" in text
        assert "unstuck hooks install AGENT" in text
        assert "succeeded" not in text
        assert "resume" not in text
