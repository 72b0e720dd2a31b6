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
