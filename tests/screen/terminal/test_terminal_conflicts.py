"""A conflict of two results, given to an agent from the screen."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.plans.conftest import Bench
from tests.plans.test_integration_gate import two
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

BEGINS = ': < "$OUT/door"; : < "$OUT/in"; echo two > line.txt; echo x > two.txt'
RESOLVES = 'cp line.txt "$OUT/saw"; printf "one\\ntwo\\n" > line.txt'


def test_an_agent_resolves_it_with_what_i_write(
    desk: Desk, tmp_path: Path, inside: Callable[..., tuple[int, str, str]], start: Callable[..., subprocess.Popen[str]]
) -> None:
    """The dialog's key takes words for the agent: it finds the merge begun in the task's worktree with both sides in
    its prompt, and what it makes of them is checked and comes in."""
    bench = Bench(desk.root, tmp_path / "outside", inside, start)
    plan = two(bench)
    bench.agent("two", f"if [ $n = 1 ]; then {BEGINS}; else {RESOLVES}; fi")
    terminal = desk.terminal("run", str(plan), size=(120, 40))
    terminal.until("conflict in line.txt", "waits for you")
    terminal.press(key_of("gate.answer"))
    terminal.until("its result conflicts", "Let an agent resolve it", "esc leaves it open")
    terminal.press(key_of("integration.retry__agent"))
    terminal.until("ctrl+s sends")
    terminal.press("ctrl+s")
    terminal.until("Write what the agent is to do first.")
    terminal.write("Keep both lines.")
    terminal.press("ctrl+s")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0
    told = bench.prompt("two.2")
    assert "Keep both lines." in told
    assert f"The merge of unstuck/{bench.folder.name}/_run has begun in this worktree" in told
    assert "is your side:\n- two: two\n" in told
    assert "is the side of the other results:\n- one: one\n" in told
    assert (bench.outside / "saw").read_text().startswith("<<<<<<< ")
    assert bench.result("line.txt") == "one\ntwo\n"
    (answered,) = bench.events("gate_answered")
    assert (answered["data"]["choice"], answered["data"]["via"]) == ("retry", "screen")
    passed = [event["task"] for event in bench.events("check_finished") if event["data"]["result"] == "passed"]
    assert passed.count("two") >= 2
