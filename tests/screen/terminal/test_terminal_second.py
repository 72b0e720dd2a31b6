"""A second screen on a run that another process works: it follows, answers, and changes nothing by going away."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

PATIENCE = 60
AGENT = """
case $UNSTUCK_TASK in
asks) grep -q "file called done" "$UNSTUCK_PROMPT_FILE" && touch done; true ;;
works) read line < "$GO"; touch done ;;
esac
"""
Running = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def plan(desk: Desk) -> Path:
    """One task that will ask, and one whose agent works until the test lets it go on."""
    desk.environment["GO"] = str(desk.pipe("go"))
    subprocess.run(["git", "add", "check.sh"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Check"], cwd=desk.root, check=True)
    tasks = [{"id": name, "prompt": f"Do {name}.", "verify": "sh check.sh"} for name in ("asks", "works")]
    agents = {"coder": {"command": ["sh", desk.agent(AGENT)]}}
    file: Path = desk.seen.parent / "plan.yaml"
    file.write_text(json.dumps({"max_parallel": 2, "agents": agents, "tasks": tasks}), encoding="utf-8")
    return file


@pytest.fixture
def running(desk: Desk) -> Iterator[Running]:
    """``running(*arguments)``: ``unstuck run`` in another process, once its question is open."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        process = desk.begin("run", "--json", "--headless", *arguments)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()


def until(process: subprocess.Popen[str], event: str) -> str:
    """Read what the run prints up to this event."""
    assert process.stdout is not None
    return next(line for line in process.stdout if f'"{event}"' in line)


def log_of(desk: Desk) -> bytes:
    return bytes((desk.folder() / "events.jsonl").read_bytes())


def test_it_follows_answers_and_leaves_all_as_it_was(desk: Desk, plan: Path, running: Running) -> None:
    """The question comes up there, too; its answer reaches the agent of the other process, and another gets more time.

    What cannot be done from here says why, and once the run is over its keys are offered no more. Leaving asks nothing
    and loses no words.
    """
    first = running(str(plan))
    until(first, "gate_opened")
    watching = desk.terminal("watch", size=(120, 40))
    watching.until("ATTACHED", "asks is stuck", "esc leaves it open")
    watching.press(key_of("stuck.show_me"))
    watching.until("ctrl+s sends")
    watching.write("Make a file called done.")
    watching.press("ctrl+s")
    watching.until("1 done", "1 working")
    assert "Make a file called done." in desk.prompts("asks")[1]
    assert desk.ways() == ["attached_screen"]
    watching.press("G", key_of("task.hold"))
    watching.until("no screen is open for this run")
    watching.press(key_of("task.decide"))
    watching.until("Decide about works", "esc changes nothing")
    watching.press(key_of("decide.extend"))
    watching.until("enter sends")
    watching.write("2h")
    watching.press("enter")
    watching.until("extend: works", "1:59:")
    watching.press(key_of("task.shell"))
    watching.until("this is an attached screen")
    before = log_of(desk)
    watching.press(key_of("task.decide"))
    watching.until("Decide about works", "esc changes nothing")
    watching.press(key_of("decide.show_me"))
    watching.until("ctrl+s sends")
    watching.write("Not so fast")
    watching.until("Not so fast")
    watching.press(key_of("app.interrupt"))
    assert watching.ended() == 0
    assert watching.is_clean()
    assert log_of(desk) == before
    assert (desk.folder() / "unsent.txt").read_text() == "--- works, show me\nNot so fast\n\n"
    assert first.poll() is None, "the run goes on"
    last = desk.terminal("watch", size=(80, 24))
    last.until("ATTACHED", "1 of 2 done", "1 working")
    Path(desk.environment["GO"]).write_text("go\n")
    last.until("every task succeeded", "2 done")
    last.gone("h hold", "m decide", "a answer", "w edit")
    last.press(key_of("task.hold"))
    last.until("The run is over.")
    last.press(key_of("app.quit"))
    assert last.ended() == 0
    assert first.wait(PATIENCE) == 0
    assert json.loads(desk.unstuck("events", "--json").stdout.splitlines()[-1])["event"] == "run_ended"


def test_what_is_held_there_is_asked_about_there(desk: Desk, plan: Path) -> None:
    """A task that has not begun is held from the second screen: it asks at once what now, and its answer is heard."""
    tasks = json.loads(plan.read_text(encoding="utf-8"))
    tasks["tasks"][0]["needs"] = ["works"]
    plan.write_text(json.dumps(tasks), encoding="utf-8")
    first = desk.terminal("run", str(plan))
    first.until("1 working", "1 blocked")
    watching = desk.terminal("watch")
    watching.until("ATTACHED", "1 working")
    watching.press("g", key_of("task.hold"))
    watching.until("asks is held", "esc leaves it open: ")
    watching.press(key_of("question.skip"))
    watching.until("1 skipped")
    first.until("1 skipped")
    watching.press(key_of("app.quit"))
    assert watching.ended() == 0
    Path(desk.environment["GO"]).write_text("go\n")
    first.until("1 done")


def test_the_run_is_killed_and_gone_on_with_meanwhile(desk: Desk, plan: Path, running: Running) -> None:
    """The screen says that nobody works it any more, refuses an answer in words, and follows who goes on."""
    first = running(str(plan))
    until(first, "gate_opened")
    watching = desk.terminal("watch")
    watching.until("asks is stuck", "esc leaves it open")
    watching.press("escape")
    watching.gone("esc leaves it open")
    first.send_signal(signal.SIGKILL)
    first.wait(PATIENCE)
    watching.until("The supervisor process is gone")
    watching.press(key_of("gate.answer"))
    watching.until("asks is stuck", "esc leaves it open")
    watching.press(key_of("stuck.skip"))
    watching.until("the supervisor is gone")
    second = running("--resume", "last")
    until(second, "run_resumed")
    watching.until("The run continues in process")
    Path(desk.environment["GO"]).write_text("go\n")
    assert second.wait(PATIENCE) == 3
    watching.until("The run is paused", "1 done")
    watching.press(key_of("app.quit"))
    assert watching.ended() == 0
    assert watching.is_clean()


def test_a_second_supervisor_is_a_client_or_says_why_not(desk: Desk, plan: Path, running: Running) -> None:
    """Another run is refused with the process that works here and the way to see it, and writes nothing."""
    first = running(str(plan))
    until(first, "gate_opened")
    before = log_of(desk)
    for command in (("run", "--headless", str(plan)), ("run", "--headless", "--resume", "last")):
        refused = desk.unstuck(*command)
        assert refused.returncode == 2
        assert f"process {first.pid}" in refused.stderr
        assert "`unstuck watch` shows it" in refused.stderr
    client = desk.unstuck("watch", "--verify", "true")
    assert client.returncode == 2
    assert "this is an attached screen: omit --check" in client.stderr
    assert log_of(desk) == before
    with desk.begin("watch", "--json") as lines:
        until(lines, "gate_opened")
        Path(desk.environment["GO"]).write_text("go\n")
        said = [json.loads(line) for line in lines.stdout or ()]
        lines.wait(PATIENCE)
    assert first.wait(PATIENCE) == lines.returncode == 3
    assert said[-1] == {"run": desk.folder().name, "exit_reason": "needs_person", "exit_code": 3}
    assert len(list(desk.folder().parent.iterdir())) == 1
