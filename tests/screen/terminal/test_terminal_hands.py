"""Show me how, by hand: a real shell or editor in this very terminal, real keys, and the agent's next prompt."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.screen.terminal.conftest import Desk, Terminal
from tests.screen.terminal.test_terminal_captures import Tmux

from unstuck.processes import until_over
from unstuck.processes.orphans import is_over
from unstuck_tui.keys.actions import key_of

OPEN = "esc leaves it open"
BACK = "leaves the question open"
PROMPT = "hands$"
FOLLOWS = 'grep -q "made it by hand" "$UNSTUCK_PROMPT_FILE" && touch done; true'


class Hands(Desk):
    """A desk whose person has a plain shell, and the pipes of agents in a plan."""

    go: Path
    up: Path
    second: Path


@pytest.fixture
def hands(desk: Desk) -> Hands:
    """A project whose person has a plain shell."""
    desk.environment |= {"SHELL": "/bin/sh", "PS1": f"{PROMPT} ", "ENV": ""}
    return Hands(desk.root, desk.seen, desk.start, desk.environment, desk.open)


def stuck(desk: Desk, agent: str = FOLLOWS) -> Any:
    """A terminal at which the only task is stuck."""
    command = ("run", "--verify", "sh check.sh", "--", "sh", desk.agent(agent))
    terminal = desk.terminal(*command, size=(120, 30))
    terminal.until("task is stuck", OPEN)
    return terminal


def into_the_shell(terminal: Terminal, key: str = "dialog.shell") -> None:
    """Take the task's files over, and be in a shell in them."""
    terminal.clear()
    terminal.press(key_of(key))
    terminal.until("the files of task", "leave the shell (exit)", PROMPT)


def until_recorded(desk: Desk, words: str) -> None:
    """Follow the record until it has ``words``; nothing of it is shown while the terminal is another program's."""
    with desk.begin("events", "--follow", "--json") as records:
        assert any(words in line for line in records.stdout)
        records.terminate()


def leave(terminal: Terminal) -> int:
    """Leave a run that is over."""
    terminal.press(key_of("app.quit"))
    code: int = terminal.ended()
    assert terminal.is_clean()
    return code


def test_what_was_done_in_a_shell_is_what_the_agent_is_told(hands: Hands) -> None:
    """Stuck: I mend it in a shell by real keys, say why, and the agent's next prompt has the diff and the why.

    Ctrl+C in the shell ends what runs in it and nothing of ours, and a program that stops itself is let go on.
    """
    terminal = stuck(hands)
    into_the_shell(terminal)
    assert terminal.modes == {7, 25}
    terminal.write("sh -c 'echo re''ady; exec cat'\n")
    terminal.until("ready")
    terminal.clear()
    terminal.press("ctrl+c")
    terminal.until(PROMPT)
    terminal.write("kill -STOP $$; echo went''on\n")
    terminal.until("wenton")
    terminal.write("pwd; echo 'port = 8080' > app.ini\n")
    terminal.until(str(hands.root))
    terminal.write("exit\n")
    terminal.until("You changed 1 file: added app.ini", "+port = 8080", BACK)
    terminal.press(key_of("hands.tell"))
    terminal.until("enter sends")
    terminal.write("I made it by hand: 80 is taken [/x]")
    terminal.press("enter")
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    first, second = hands.prompts()
    assert "by hand" not in first
    assert "I made it by hand: 80 is taken [/x]" in second
    assert "- added app.ini" in second
    assert "| +port = 8080" in second
    assert "hands_back" not in second


def test_a_program_that_leaves_the_terminal_in_disorder(hands: Hands, tmp_path: Path) -> None:
    """My editor begins at the failing place; killed with mouse, paste and its own screen on, it leaves none of that.

    A shell that there is not is a clear line, and the screen is there as before. Once the run is over the editor opens
    from the list of failures, too, and ctrl+c there is its own.
    """
    (hands.root / "app.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    editor = tmp_path / "vi"
    editor.write_text(
        f'#!/bin/sh\necho "$@" > {hands.seen}/arguments\nprintf "\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25l"\n'
        "stty raw -echo\necho editing\nkill -KILL $$\n",
        encoding="utf-8",
    )
    editor.chmod(0o755)
    hands.environment |= {"EDITOR": str(editor), "SHELL": "/nowhere/sh"}
    terminal = stuck(hands)
    terminal.press(key_of("dialog.editor"))
    terminal.until("was ended by signal 9", "You changed nothing", BACK)
    assert (hands.seen / "arguments").read_text() == f"+3 {hands.root / 'app.py'}\n"
    terminal.press("escape")
    terminal.gone("You changed nothing")
    terminal.press(key_of("task.shell"))
    terminal.until("/nowhere/sh cannot be started: No such file or directory", BACK)
    terminal.press("escape")
    terminal.gone("cannot be started")
    terminal.until("needs you", "waits for you")
    editor.write_text("#!/bin/sh\nstty sane\necho from the list\nexec cat\n", encoding="utf-8")  # once it is in front
    terminal.press(key_of("gate.answer"))
    terminal.until(OPEN)
    terminal.press(*[key_of("stuck.abandon")] * 2)
    terminal.until("not every task succeeded")
    terminal.press(key_of("view.browse"))
    terminal.until("signature  ")
    terminal.press(key_of("signatures.edit"))
    terminal.until("from the list")
    terminal.press("ctrl+c")
    terminal.until("was opened in vi")
    assert leave(terminal) == 1


AGENT = """case $UNSTUCK_TASK in
  first) grep -q "made it by hand" "$UNSTUCK_PROMPT_FILE" && touch done && exit
         echo $$ > "$SEEN/pid"; echo up > {up}; read line < {go};;
  *) cat {second};;
esac
true"""


def plan_of_two(desk: Hands, **more: Any) -> str:
    """An agent at work that waits for ``go``, and another that says what is written to ``second`` and then fails."""
    subprocess.run(["git", "add", "check.sh"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Check"], cwd=desk.root, check=True)
    desk.go, desk.up, desk.second = desk.pipe("go"), desk.pipe("up"), desk.pipe("second")
    agent = desk.agent(AGENT.format(go=desk.go, up=desk.up, second=desk.second))
    tasks = [{"id": name, "prompt": name, "verify": "sh check.sh"} for name in ("first", "other")]
    file = desk.seen.parent / "plan.yaml"
    plan = {"max_parallel": 2, "agents": {"coder": {"command": ["sh", agent]}}, "tasks": tasks, **more}
    file.write_text(json.dumps(plan), encoding="utf-8")
    return str(file)


def at_work(desk: Hands, **more: Any) -> Terminal:
    """A terminal with a shell in the files of ``first``, whose agent is held meanwhile."""
    terminal = desk.terminal("run", plan_of_two(desk, **more))
    terminal.until("TASK", "2 working")
    desk.up.read_text(encoding="utf-8")
    terminal.press(key_of("task.shell"))
    terminal.until("the files of first", "Its agent is suspended", PROMPT)
    return terminal


def test_the_run_goes_on_while_i_work_by_hand(hands: Hands) -> None:
    """An agent at work is held and I am in its files; another gets stuck meanwhile, which is said when I am back."""
    terminal = at_work(hands)
    process = psutil.Process(int((hands.seen / "pid").read_text()))
    assert process.status() == psutil.STATUS_STOPPED
    hands.second.write_text("on", encoding="utf-8")
    until_recorded(hands, '"stuck"')
    (gate,) = [row["gate"] for row in hands.rows() if row.get("task") == "first" and "gate" in row]
    refused = hands.unstuck("answer", gate, "continue")
    assert refused.returncode == 2
    assert "it is being edited by hand" in refused.stderr
    terminal.write("echo 1 > by_hand.txt; exit\n")
    terminal.until("added by_hand.txt", "other needs you since then", BACK)
    terminal.press(key_of("hands.tell"))
    terminal.until("enter sends")
    terminal.write("I made it by hand")
    terminal.press("enter")
    until_recorded(hands, '"task_ended"')
    terminal.kill(signal.SIGTERM)
    terminal.ended()
    assert "| +1" in hands.prompts("first")[1]


def test_a_disk_that_is_full_when_i_am_back(hands: Hands) -> None:
    """I have filled the disk by hand: I am back all the same, am asked for room, and the run goes on once there is."""
    terminal = stuck(hands)
    into_the_shell(terminal)
    pid, log = terminal.process.pid, hands.folder() / "events.jsonl"
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 60, resource.RLIM_INFINITY))
    terminal.write("exit\n")
    terminal.until("editing has ended", BACK)
    terminal.press("escape")
    terminal.gone("editing has ended")
    terminal.until("no space on the disk")
    terminal.press(key_of("gate.answer"))
    terminal.until("The disk is full", OPEN)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    terminal.gone("The disk is full")
    until_recorded(hands, '"handed_back"')
    terminal.kill(signal.SIGTERM)
    assert terminal.ended() in (3, 130)
    assert terminal.is_clean()


def test_a_lost_terminal_ends_the_shell_and_not_the_run(hands: Hands) -> None:
    """The window is closed while I work by hand: the shell is gone, the question stays open for whoever resumes."""
    terminal = stuck(hands)
    into_the_shell(terminal)
    terminal.write("echo $$ > shell.pid; echo re''ady\n")
    terminal.until("ready")
    shell = psutil.Process(int((hands.root / "shell.pid").read_text()))
    terminal.hang_up()
    assert asyncio.run(until_over(shell.pid, partial(is_over, shell), 60))
    terminal.process.wait()
    assert [row["gate"] for row in hands.rows() if "gate" in row]


def test_a_shell_does_not_outlive_a_screen_that_is_killed(hands: Hands) -> None:
    """Killed while I work by hand: no shell is left that reads the keys beside the one I came from."""
    came_from = f'"{Path(sys.executable).with_name("unstuck")}" "$@"; echo back indeed; read -r line'
    command = ("run", "--verify", "sh check.sh", "--", "sh", hands.agent(FOLLOWS))
    terminal = hands.terminal("-c", came_from, "sh", *command, program="/bin/sh")
    terminal.until("task is stuck", OPEN)
    into_the_shell(terminal)
    terminal.write("echo $$ > shell.pid; sh -c 'echo re''ady; exec cat'\n")
    terminal.until("ready")
    shell = psutil.Process(int((hands.root / "shell.pid").read_text()))
    screen, (job,) = shell.parent(), shell.children()
    assert screen is not None
    assert screen.pid != terminal.process.pid
    screen.kill()
    terminal.until("back indeed")
    for process in (shell, job):
        assert asyncio.run(until_over(process.pid, partial(is_over, process), 60))


def test_what_i_did_before_a_kill_is_told_after_it(hands: Hands) -> None:
    """The supervisor is killed while I work by hand: resumed, the next look at the files shows all that I did.

    TERM in the middle of that: the shell is hung up, the terminal is as it was, and the run can be gone on with.
    """
    terminal = stuck(hands)
    into_the_shell(terminal)
    terminal.write("echo 1 > before.txt; echo re''ady\n")
    terminal.until("ready")
    terminal.kill(signal.SIGKILL)
    terminal.ended()
    terminal = hands.terminal("run", "--resume", "last")
    terminal.until("task is stuck", OPEN)
    into_the_shell(terminal)
    terminal.write("echo 2 > after.txt; exit\n")
    terminal.until("You changed 2 files: added after.txt, added before.txt", BACK)
    terminal.press("escape")
    terminal.gone("You changed")
    into_the_shell(terminal, "task.shell")
    terminal.kill(signal.SIGTERM)
    assert terminal.ended() in (3, 130)
    assert terminal.is_clean()
    assert [row["gate"] for row in hands.rows() if "gate" in row]


def test_a_run_that_ends_meanwhile_waits_for_me(hands: Hands) -> None:
    """Its budget is used up and somebody stops it elsewhere: my shell stays mine, and the screen goes when I leave."""
    terminal = at_work(hands, budget={"tokens": 1_000})
    hands.second.write_text('UNSTUCK {"step": "usage", "tokens": 2000}\n', encoding="utf-8")
    until_recorded(hands, '"type": "budget"')
    gate = next(row["gate"] for row in hands.rows() if row.get("type") == "budget")
    assert hands.unstuck("answer", gate, "stop").returncode == 0
    until_recorded(hands, '"run_ended"')
    terminal.write("echo still''here\n")
    terminal.until("stillhere")
    terminal.write("exit\n")
    assert terminal.ended() == 5
    assert terminal.is_clean()


def plan_of_a_conflict(desk: Hands) -> str:
    """Two tasks that write the same line; ``two`` ends after ``one`` has come in."""
    (desk.root / "line.txt").write_text("base\n", encoding="utf-8")
    subprocess.run(["git", "add", "line.txt"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Line"], cwd=desk.root, check=True)
    door, inside = desk.pipe("door"), desk.pipe("in")
    scripts = {
        "one": f": > {door}; echo one > line.txt",
        "two": f": < {door}; : < {inside}; echo two > line.txt",
        "bell": f": > {inside}; touch bell.txt",
    }
    agents = {name: {"command": ["sh", desk.agent(text, f"{name}.sh")]} for name, text in scripts.items()}
    tasks = [{"id": name, "agent": name, "prompt": name, "verify": f"grep {name} line.txt"} for name in ("one", "two")]
    tasks.append({"id": "bell", "agent": "bell", "prompt": "bell", "verify": "test -f bell.txt", "needs": ["one"]})
    file = desk.seen.parent / "plan.yaml"
    file.write_text(json.dumps({"max_parallel": 2, "agents": agents, "tasks": tasks}), encoding="utf-8")
    return str(file)


def test_a_conflict_is_resolved_from_the_question_that_asks_for_it(hands: Hands) -> None:
    """The question shows both sides; its shell stands in the worktree with the merge begun; *check again* brings the
    result in, and no agent runs for it."""
    terminal = hands.terminal("run", plan_of_a_conflict(hands), size=(120, 40))
    terminal.until("conflict in line.txt", "waits for you")
    terminal.press(key_of("gate.answer"))
    terminal.until("its result conflicts", "+two", "+one", "^o shell", OPEN)
    terminal.clear()
    terminal.press(key_of("dialog.shell"))
    terminal.until("the files of two", "The merge has begun", "line.txt", PROMPT)
    terminal.write("grep -c '<<<<<<<' line.txt && printf 'one\\ntwo\\n' > line.txt; exit\n")
    terminal.until("editing has ended", "You changed 1 file: line.txt", "Check again", BACK)
    assert "Tell the agent" not in terminal.text
    terminal.press(key_of("hands.check"))
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    assert len(hands.prompts("two")) == 1
    branch = f"unstuck/{hands.folder().name}/_run:line.txt"
    shown = subprocess.run(["git", "show", branch], cwd=hands.root, capture_output=True, check=True, text=True)
    assert shown.stdout == "one\ntwo\n"


def test_my_repair_is_checked_without_the_agent(hands: Hands) -> None:
    """Stuck: I mend it in a shell and have it checked; the task is done, and its agent had one attempt."""
    terminal = stuck(hands)
    into_the_shell(terminal)
    terminal.write("touch done; exit\n")
    terminal.until("You changed 1 file: added done", "Check again", BACK)
    terminal.press(key_of("hands.check"))
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    assert len(hands.prompts()) == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_what_the_shell_has_printed_stays_below_the_screen(hands: Hands, size: tuple[int, int]) -> None:
    """In a real tmux: after a shell and the end of the screen every line of both stands whole, one below the other.

    The prompts have colours, and the last line of the shell has no end.
    """
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    server = ("tmux", "-S", f"{os.environ['UNSTUCK_RUNTIME_DIR']}/tmux", "-f", "/dev/null")
    news = hands.pipe("news")
    end = os.open(news, os.O_RDWR)
    hands.environment |= {"SEEN": str(hands.seen), "UNSTUCK_NOTIFY": "off", "TERM": "tmux-256color"}
    words = [f"{name}={value}" for name, value in hands.environment.items()]
    command = ["env", *words, str(Path(sys.executable).with_name("unstuck")), "run", "--verify", "sh check.sh", "--"]
    run = hands.seen.parent / "run.sh"
    run.write_text(f"{shlex.join([*command, 'sh', hands.agent('true')])}\n", encoding="utf-8")
    window = Tmux(server, end, "hands")
    width, height = map(str, size)
    ours = "PS1=\"$(printf '\\033[1;32mat$\\033[0m ')\" sh"
    try:
        window.tmux("new-session", "-d", "-x", width, "-y", height, "-s", "hands", "-c", str(hands.root), ours)
        window.tmux("pipe-pane", "-t", "hands", f"exec cat > {news}")
        window.see("at$")
        window.press(f"sh {run}", "enter")
        window.see("task is stuck", OPEN)
        window.press("C-o")
        window.see(PROMPT)
        for number in range(5):
            window.press(f"echo line {number}", "enter")
            window.see(f"\nline {number}")
        window.press("printf '\\033[31mno end'; exit", "enter")
        window.see("editing has ended", BACK)
        window.press("escape")
        window.press("C-c")
        window.see("unstuck answer", "\nat$")
        shown = window.text.splitlines()
        assert [line for line in shown if line.startswith("line ")] == [f"line {number}" for number in range(5)]
        last = shown.index("no end")
        assert shown[last + 1].endswith("paused: 1 question needs an answer")
        assert not any("unstuck answer" in line for line in shown[:last])
    finally:
        subprocess.run([*server, "kill-server"], capture_output=True, check=False)
        os.close(end)
