"""A screen beside agents that flood it or are dead: it stays small, and takes every key."""

from __future__ import annotations

import json
import signal

import psutil
from tests.screen.terminal.conftest import Desk, Terminal

from unstuck_tui.keys.actions import key_of

MIB = 1 << 20


def look_around(terminal: Terminal) -> None:
    """Open the help and close it again."""
    terminal.press(key_of("app.help"))
    terminal.until("─ [Keys]  Signs and words ─")
    terminal.press("escape")
    terminal.gone("─ [Keys]  Signs and words ─")


def test_a_million_lines_fill_no_memory_and_take_no_key(desk: Desk) -> None:
    """One agent prints a million lines: keys work, it is said how much is kept, and in memory it is little."""
    up, go = desk.pipe("up"), desk.pipe("go")
    agent = desk.agent(f"seq -f 'this is line number %.0f of them all' 1000000; echo up > {up}; cat {go}; touch done")
    terminal = desk.terminal("run", "--verify", "sh check.sh", "--", "sh", agent, size=(120, 40))
    terminal.until("TASK", "1 working")
    look_around(terminal)
    before = psutil.Process(terminal.process.pid).memory_info().rss
    assert up.read_text(encoding="utf-8") == "up\n"
    terminal.until("prints more than is kept")
    look_around(terminal)
    after = psutil.Process(terminal.process.pid).memory_info().rss
    printed = len("this is line number 1000000 of them all\n") * 1_000_000
    assert after - before < printed / 2, f"{before / MIB:.0f} MiB became {after / MIB:.0f}"
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded", "the check passed")
    terminal.press(key_of("output.agent"))
    terminal.until("line number 1000000 of")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0


def test_dead_agents_among_ten_hold_up_no_key(desk: Desk) -> None:
    """One of ten agents, and the process beside another, answer nothing any more: every key does what it does at
    once."""
    ups, go = [desk.pipe(f"up{number}") for number in range(2)], desk.pipe("go")
    script = f"up={desk.seen.parent}/up${{UNSTUCK_TASK#task}}; test -p $up && echo $$ > $up; exec cat {go}"
    plan = {
        "max_parallel": 10,
        "agents": {"coder": {"command": ["sh", desk.agent(script)]}},
        "tasks": [{"id": f"task{number}", "prompt": "Wait.", "verify": "true"} for number in range(10)],
    }
    file = desk.seen.parent / "plan.yaml"
    file.write_text(json.dumps(plan), encoding="utf-8")
    terminal = desk.terminal("run", str(file), size=(120, 40))
    terminal.until("10 working")
    agent, other = (psutil.Process(int(up.read_text(encoding="utf-8"))) for up in ups)
    helper = other.parent()
    assert helper is not None
    assert helper.pid != terminal.process.pid
    for stopped in (agent, helper):
        stopped.send_signal(signal.SIGSTOP)
    for number in range(1, 10):
        terminal.press(key_of("table.down"))
        terminal.until(f"╭─ task{number} · [1 timeline]")
    look_around(terminal)
    for stopped in (agent, helper):
        stopped.send_signal(signal.SIGCONT)
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "esc stays")
    terminal.press(key_of("quit.stop"))
    assert terminal.ended() == 130
    assert terminal.is_clean()
