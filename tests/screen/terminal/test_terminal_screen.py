"""The screen in a real terminal: it comes up, follows the window's size, and leaves."""

from __future__ import annotations

import json
import signal
import subprocess
from itertools import pairwise

from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of
from unstuck_tui.terminal.stand_ins import IN_CELLS


def test_a_run_at_a_terminal_shows_its_tasks(desk: Desk) -> None:
    """A person who starts a run at a terminal sees the task at work, and may leave once it is done."""
    go = desk.pipe("go")
    agent = desk.agent(f"cat {go}; touch done")
    terminal = desk.terminal("run", "--verify", "sh check.sh", "--", "sh", agent, installed=True)
    assert "repo" in terminal.until("TASK", "task", "working")
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    assert "every task succeeded" in terminal.after
    assert "\x1b]2;unstuck: every task succeeded · repo\x1b\\" in bytes(terminal.raw).decode()
    assert terminal.is_clean()


def test_a_screen_that_opens_without_the_focus_shows_its_keys(desk: Desk) -> None:
    """It starts in a pane of tmux that is not the active one: the footer has the keys of the table all the same."""
    go = desk.pipe("go")
    terminal = desk.terminal("run", "--check", "true", "--", "sh", desk.agent(f"cat {go}"), size=(120, 40))
    while b"\x1b[?1004h" not in terminal.raw:
        terminal.read()
    terminal.write("\x1b[O")
    terminal.until("1 working", "open", "hold", "decide")
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0


def test_the_screen_follows_the_size_of_the_window(desk: Desk) -> None:
    """Made smaller, the columns that fit stay; too small, it says what it needs; made larger, all is there again."""
    go = desk.pipe("go")
    terminal = desk.terminal("run", "--verify", "true", "--", "sh", desk.agent(f"cat {go}"), size=(120, 40))
    assert "AGENT" in terminal.until("TASK", "1 working", "WHAT IS WRONG")
    terminal.resize(80, 24)
    terminal.gone("AGENT")
    terminal.until("TASK", "WHAT IS WRONG", "1 working")
    terminal.process.write(b"\xff\x1b[99999999999u")  # as from a terminal of another encoding or protocol
    terminal.resize(30, 8)
    terminal.until("30", "8")
    terminal.gone("TASK")
    terminal.resize(200, 60)
    terminal.until("AGENT", "TASK", "WHAT IS WRONG", "1 working")
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    assert terminal.is_clean()


def test_a_resumed_run_comes_up_with_its_question(desk: Desk) -> None:
    """A parked run is gone on with at a terminal: its question is asked, and the answer reaches the agent."""
    script = desk.agent('grep -q "by hand" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    command = ("run", "--headless", "--verify", "sh check.sh", "--", "sh", script)
    assert desk.unstuck(*command).returncode == 3
    terminal = desk.terminal("run", "--resume", "last")
    terminal.until("task is stuck", "esc leaves it open")
    terminal.press(key_of("stuck.retry"))
    terminal.until("enter sends")
    terminal.write("by hand")
    terminal.press("enter")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    assert "by hand" in desk.prompts()[1]
    again = desk.terminal("run", "--resume", "last")
    assert again.ended() == 0
    assert b"\x1b[?1049h" not in again.raw


def test_lines_where_they_are_asked_for(desk: Desk) -> None:
    """At a terminal, ``--plain`` and ``--json`` print lines and take nothing over."""
    plain = desk.terminal("run", "--plain", "--verify", "true", "--", "true")
    assert plain.ended() == 0
    assert "every task succeeded" in plain.text
    rows = desk.terminal("run", "--json", "--verify", "true", "--", "true")
    assert rows.ended() == 0
    assert json.loads(bytes(rows.raw).splitlines()[-1])["exit_code"] == 0
    demo = desk.terminal("demo", "--plain", "--speed", "20", "--scenario", "succeeds-at-once")
    assert demo.ended() == 0
    assert "✓" not in demo.text
    assert "every task succeeded" in demo.text
    assert b"\x1b[?1049h" not in plain.raw + rows.raw + demo.raw


def test_a_terminal_without_unicode(desk: Desk) -> None:
    """A terminal with letters only gets a letter of the same width for every sign: no column moves."""
    desk.environment["PYTHONIOENCODING"] = "ascii"
    go = desk.pipe("go")
    terminal = desk.terminal("run", "--verify", "true", "--", "sh", desk.agent(f"cat {go}"), size=(120, 24))
    rows = terminal.until("WHAT IS WRONG", "> 1 working", "[===").splitlines()
    heading, line = next((above, row) for above, row in pairwise(rows) if row.startswith("|> task"))
    assert line.index("working") == heading.index("STATE")
    assert "|^p palette" in rows[-1]
    go.write_text("on", encoding="utf-8")
    terminal.until("v 1 done")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    assert bytes(terminal.raw).isascii()
    assert b"\\u" not in terminal.raw


def test_what_an_encoding_lacks_takes_as_many_cells() -> None:
    """A wide sign is two letters wide, an accent of its own takes none, and what there is stays as it is."""
    assert "▶ é 日本 ü e\u0301".encode("latin-1", IN_CELLS) == "> é ???? ü e".encode("latin-1")
    assert "⏎ │^p".encode("ascii", IN_CELLS) == b"< |^p"  # a ^ stands for ctrl
    assert "▊ ▪ shop.py ▎ ⋯ ▔".encode("ascii", IN_CELLS) == b"| * shop.py | : -"


def test_what_was_warned_of_before_the_screen_is_on_it(desk: Desk) -> None:
    """Uncommitted changes that no task sees are named on the screen, too, and in the event log."""
    (desk.root / "check.sh").write_text("true\n", encoding="utf-8")
    tasks = [{"id": name, "prompt": name, "verify": "true"} for name in ("one", "two")]
    plan = {"max_parallel": 2, "agents": {"coder": {"command": ["cat", str(desk.pipe("go"))]}}, "tasks": tasks}
    file = desk.seen.parent / "plan.yaml"
    file.write_text(json.dumps(plan), encoding="utf-8")
    subprocess.run(["git", "add", "check.sh"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Check"], cwd=desk.root, check=True)
    (desk.root / "check.sh").write_text("false\n", encoding="utf-8")
    terminal = desk.terminal("run", str(file), size=(120, 40))
    terminal.until("TASK", "uncommitted changes are not seen by tasks", "check.sh")
    terminal.write("\x0c")  # ctrl+l
    terminal.gone("uncommitted changes")
    assert "! uncommitted changes are not seen by tasks" in desk.unstuck("events").stdout
    terminal.kill(signal.SIGTERM)
    terminal.ended()


def test_keys_typed_before_a_replay_is_there(desk: Desk) -> None:
    """Moving keys that come before the screen is up break nothing: it comes up, and the next ones move it."""
    assert desk.unstuck("run", "--headless", "--verify", "sh check.sh", "--", "true").returncode == 3
    terminal = desk.terminal("replay", "last", size=(120, 40))
    for _ in range(40):
        terminal.write("n g<>+-p \x1b[C\x1b[D")
    terminal.until("REPLAY", "n next failure")
    terminal.press(key_of("replay.begin"), key_of("app.quit"))
    assert terminal.ended() == 0, terminal.text
