"""The screen goes, whatever the reason: the terminal is as it was, and the run goes on or is stopped as was chosen."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.screen.terminal.conftest import Desk, Terminal

from unstuck_tui.keys.actions import key_of


class Working(Desk):
    """A desk with an agent at work."""

    go: Path
    up: Path
    script: str
    command: tuple[str, ...]


@pytest.fixture
def work(desk: Desk) -> Working:
    """An agent at work in a run that somebody watches: it ends its task as soon as ``go`` is written to."""
    work = Working(desk.root, desk.seen, desk.start, desk.environment, desk.open)
    work.go, work.up = desk.pipe("go"), desk.pipe("up")
    work.script = desk.agent(f'echo $$ > "$SEEN/pid"; echo up > {work.up}; cat {work.go}; touch done')
    work.command = ("run", "--verify", "sh check.sh", "--", "sh", work.script)
    return work


def at_work(desk: Working, *arguments: str, **options: Any) -> Terminal:
    """A terminal on which the agent is seen at work."""
    terminal = desk.terminal(*(arguments or desk.command), **options)
    terminal.until("TASK", "1 working")
    desk.up.read_text(encoding="utf-8")
    return terminal


def is_alive(desk: Desk) -> bool:
    """Return whether the agent still runs."""
    pid = int((desk.seen / "pid").read_text(encoding="utf-8"))
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def goes_on(desk: Working, terminal: Terminal) -> None:
    """The run has gone on without its screen: the agent ends its work and the run succeeds."""
    assert is_alive(desk)
    desk.go.write_text("on", encoding="utf-8")
    assert terminal.ended() == 0
    assert (desk.root / "done").exists()


def until_closed(terminal: Terminal) -> None:
    """Read until the screen has been left."""
    while b"\x1b[?1049l" not in terminal.raw or "\n" not in terminal.after:
        assert terminal.read()


def test_quitting_asks_and_stops_the_agents(work: Working) -> None:
    """Quit while an agent works: a question first; *stop all* ends it, and says how to go on."""
    terminal = at_work(work)
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "1 agent is at work", "esc stays")
    terminal.press(key_of("quit.stop"))
    assert terminal.ended() == 130
    assert terminal.is_clean()
    assert "interrupted" in terminal.after
    assert "unstuck run --resume" in terminal.after
    assert not is_alive(work)
    assert not (work.root / "done").exists()


def test_quitting_asks_while_a_check_runs(desk: Desk) -> None:
    """No agent is at work, and the run goes on all the same: the question comes, and says what is under way."""
    up, go = desk.pipe("up"), desk.pipe("go")
    (desk.root / "check.sh").write_text(f"echo said by the check; echo up > {up}; cat {go}; true\n", encoding="utf-8")
    environment = {"UNSTUCK_CHECK_POLICY__BASELINE": "0"}
    desk.environment |= environment
    terminal = desk.terminal("run", "--verify", "sh check.sh", "--", "sh", desk.agent("true"))
    terminal.until("TASK", "checking")
    up.read_text(encoding="utf-8")
    terminal.until("said by the check", "the check runs")
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "No agent is at work at this moment", "1 check runs: task", "esc stays")
    terminal.press(key_of("app.quit"))  # q again stays, as esc does
    terminal.gone("Leave the screen?")
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0


def test_suspended_agents_keep_the_run_in_the_foreground(work: Working) -> None:
    """Ctrl+Z while the only agent is held: the run is not suspended, so answers from elsewhere arrive."""
    terminal = at_work(work)
    terminal.press(key_of("task.hold"))
    terminal.until("task is held", "esc leaves it open")
    terminal.press(key_of("dialog.back"))
    terminal.gone("task is held")
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "1 agent is suspended: task", "esc stays")
    terminal.press(key_of("quit.stay"))
    terminal.gone("Leave the screen?")
    terminal.press(key_of("app.suspend"))
    terminal.until("This would suspend the run", "TASK")
    (gate,) = [row["gate"] for row in work.rows() if "gate" in row]
    assert work.unstuck("answer", gate, "continue").returncode == 0
    work.go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 0


def test_quitting_can_be_taken_back(work: Working) -> None:
    """Quit and stay: the screen is there as before. Ctrl+Z while an agent works: a line says why not and what instead.

    Once the run has succeeded TERM takes its screen away, and the exit code is the run's.
    """
    terminal = at_work(work)
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "esc stays")
    terminal.press(key_of("quit.stay"))
    terminal.gone("Leave the screen?")
    terminal.press(key_of("app.suspend"))
    terminal.until("This would suspend the run", "TASK")
    work.go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    terminal.kill(signal.SIGTERM)
    assert terminal.ended() == 0
    assert terminal.is_clean()


def test_suspending_gives_the_terminal_back_and_takes_it_again(desk: Desk) -> None:
    """Ctrl+Z where only a question waits: a clean terminal; resumed, the whole screen is there and takes keys.

    Left while the question is open the run is parked with 3, and says which question waits.
    """
    terminal = desk.terminal("run", "--verify", "sh check.sh", "--", "sh", desk.agent("true"))
    terminal.until("task is stuck", "esc leaves it open")
    terminal.press(key_of("dialog.back"))
    terminal.gone("task is stuck")
    program = psutil.Process(terminal.process.pid)
    terminal.press(key_of("app.suspend"))
    while b"\x1b[?1049l" not in terminal.raw:
        assert terminal.read()
    os.waitpid(program.pid, os.WUNTRACED)
    assert program.status() == psutil.STATUS_STOPPED
    terminal.drain()
    assert terminal.is_clean()
    terminal.clear()
    terminal.kill(signal.SIGCONT)
    terminal.until("TASK", "1 needs you", "? help")
    terminal.press(key_of("gate.answer"))
    terminal.until("task is stuck", "esc leaves it open")
    terminal.press("escape")
    terminal.gone("esc leaves it open")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 3
    assert terminal.is_clean()
    (gate,) = [row["gate"] for row in desk.rows() if "gate" in row]
    assert gate in terminal.after
    assert "unstuck run --resume" in terminal.after
    assert "continues without it" not in terminal.after


def test_quitting_can_leave_the_agents_at_work(desk: Desk) -> None:
    """Quit and leave them: the terminal is free of the screen, a line says how to get back, and the agent works on.

    Nobody watches any more: one that gets stuck then is asked about in the lines, and the run ends with 3.
    """
    work = Working(desk.root, desk.seen, desk.start, desk.environment, desk.open)
    work.up, go = desk.pipe("up"), desk.pipe("go")
    script = desk.agent(f'echo $$ > "$SEEN/pid"; echo up > {work.up}; cat {go}')
    terminal = at_work(work, "run", "--verify", "sh check.sh", "--", "sh", script)
    terminal.press(key_of("app.quit"))
    terminal.until("Leave the screen?", "esc stays")
    terminal.press(key_of("quit.leave"))
    until_closed(terminal)
    assert terminal.is_clean()
    assert is_alive(desk)
    go.write_text("on", encoding="utf-8")
    assert terminal.ended() == 3
    assert "continues without it" in terminal.after
    assert f"unstuck run --resume {desk.folder().name}" in terminal.after
    assert "I am stuck and need help" in terminal.after


def test_a_signal_stops_the_run_and_leaves_a_clean_terminal(work: Working) -> None:
    """Interrupted from outside: the agent is stopped, the terminal is as it was, and the way on is named."""
    terminal = at_work(work)
    terminal.kill(signal.SIGINT)
    assert terminal.ended() == 130
    assert terminal.is_clean()
    assert f"unstuck run --resume {work.folder().name}" in terminal.after
    assert not is_alive(work)


def test_a_hang_up_leaves_a_run_without_a_screen(work: Working) -> None:
    """HUP: the terminal is as it was, the way back is named, and the agent ends its work."""
    terminal = at_work(work)
    terminal.kill(signal.SIGHUP)
    until_closed(terminal)
    assert terminal.is_clean()
    terminal.kill(signal.SIGHUP)  # a shell that ends sends it again
    goes_on(work, terminal)
    assert "continues without it" in terminal.after


def test_a_closed_window_leaves_a_run_without_a_screen(work: Working) -> None:
    """The window is closed for good: the run goes on to its end, with nothing to show it on."""
    terminal = at_work(work)
    terminal.hang_up()
    work.go.write_text("on", encoding="utf-8")
    terminal.process.wait()
    assert terminal.process.exitstatus == 0
    assert terminal.process.signalstatus is None
    assert (work.root / "done").exists()


def test_a_closed_window_without_a_signal_is_noticed(work: Working) -> None:
    """The window is closed and HUP is ignored, as under nohup: the run goes on to its end all the same."""
    terminal = at_work(work, ignored=[signal.SIGHUP])
    terminal.hang_up()
    work.go.write_text("on", encoding="utf-8")
    terminal.process.wait()
    assert terminal.process.exitstatus == 0
    assert terminal.process.signalstatus is None


def test_a_screen_that_breaks_leaves_a_run_without_one(work: Working, tmp_path: Path) -> None:
    """A fault of the screen: one line about it and the way back, the terminal as it was, and the agent goes on."""
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import sys\n"
        "from unstuck_tui.cli import main\n"
        "from unstuck_tui.screens.main import MainScreen\n"
        "def action_sort(self):\n"
        '    raise RuntimeError("a [/fault] \\x1b]0;title\\x07of the screen")\n'
        "MainScreen.action_sort = action_sort\n"
        "main()\n",
        encoding="utf-8",
    )
    terminal = at_work(work, str(broken), *work.command, program=sys.executable)
    terminal.press(key_of("table.sort"))
    until_closed(terminal)
    assert terminal.is_clean()
    assert "the screen failed: RuntimeError: a [/fault] of the screen" in terminal.after
    assert "Traceback" not in terminal.after
    assert "action_sort" in (work.folder() / "screen-failure.txt").read_text(encoding="utf-8")
    goes_on(work, terminal)
    assert "continues without it" in terminal.after


def test_a_frame_that_comes_late_leaves_nothing_behind(desk: Desk, tmp_path: Path) -> None:
    """The run has news just as its screen has been left: the terminal keeps its own title, and all else, too."""
    late = tmp_path / "late.py"
    late.write_text(
        "from unstuck_tui.cli import main\n"
        "from unstuck_tui.terminal.driver import TerminalDriver\n"
        "leave = TerminalDriver.stop_application_mode\n"
        "def left(self):\n"
        "    leave(self)\n"
        '    self.show_title("late news")\n'
        '    self.write("late lines")\n'
        "TerminalDriver.stop_application_mode = left\n"
        "main()\n",
        encoding="utf-8",
    )
    terminal = desk.terminal(str(late), "watch", program=sys.executable)
    terminal.until("? help")
    terminal.press(key_of("app.quit"))
    terminal.ended()
    assert terminal.is_clean()
    assert b"late" not in terminal.raw


def test_no_screen_in_the_background_or_without_a_real_terminal(work: Working) -> None:
    """A terminal that can show nothing gets lines, and so does a redirected error stream."""
    work.environment["TERM"] = "dumb"
    terminal = work.terminal(*work.command)
    terminal.until("attempt 1")
    work.up.read_text(encoding="utf-8")
    work.go.write_text("on", encoding="utf-8")
    assert terminal.ended() == 0
    assert b"\x1b[?1049h" not in terminal.raw
    del work.environment["TERM"]
    (work.root / "done").unlink()
    command = shlex.join(("unstuck", *work.command))
    terminal = work.terminal("-c", f"{command} 2>{os.devnull}", program="sh")
    terminal.until("attempt 1")
    work.up.read_text(encoding="utf-8")
    work.go.write_text("on", encoding="utf-8")
    assert terminal.ended() == 0
    assert b"\x1b[?1049h" not in terminal.raw
