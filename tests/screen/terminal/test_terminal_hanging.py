"""The rehearsal's hanging agent at a real terminal: noticed, asked about, given more, and stopped for good by keys."""

from __future__ import annotations

import re

import psutil
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

STOPPED = re.compile(r"stopped +■ (\d+) process(?:es)?: (\d+) ")


def test_a_hanging_agent_is_stopped_by_keys_with_its_receipt_on_the_screen(desk: Desk) -> None:
    """It prints nothing and does nothing: I am asked, extend, am asked again, stop it, and read which process ended."""
    terminal = desk.terminal("demo", "--scenario", "hangs-silently", "--speed", "10", size=(150, 45))
    terminal.until("waits for you")
    terminal.press(key_of("gate.answer"))
    asked = terminal.until("shows no activity", "STALLED", "the agent is suspended meanwhile")
    assert "process" in asked
    terminal.press(key_of("timeout.extend"))
    terminal.until("enter sends")
    terminal.write("10s")
    terminal.press("enter")
    terminal.gone("shows no activity", "waits for you")
    terminal.until("waits for you")
    terminal.press(key_of("gate.answer"))
    terminal.until("shows no activity", "STALLED", "the agent is suspended meanwhile")
    assert not STOPPED.search(terminal.text)
    terminal.press(key_of("timeout.stop"))
    while not (receipt := STOPPED.search(terminal.text)):
        assert terminal.read()
    pid = int(receipt[2])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    assert terminal.is_clean()
