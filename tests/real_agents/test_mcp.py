"""Real agents that ask by themselves, over the Model Context Protocol, and are answered on the screen."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import ptyprocess
import pytest
from tests.real_agents.conftest import PATIENCE, Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import trust
from tests.real_agents.test_alongside import AWAKE
from tests.real_agents.test_recipes import recipe, terminal_with
from tests.screen.terminal.conftest import Terminal

from unstuck.agents.command.presets import preset_command
from unstuck.agents.mcp.mcp_agents import KNOWN
from unstuck_tui.keys.actions import key_of

pytestmark = pytest.mark.agents

TASK = "Open the port, please."
QUESTION = "Which port is to be opened?"
ANSWER = "the one with the seal on it"
MINUTES_S = 120
ALLOWED = {"claude": ("--allowedTools", "mcp__unstuck"), "codex": ()}


def asks(asked: Asked) -> Turn:
    """Asks in its very first turn, and goes on once it has heard."""
    if asked.answered == 0:
        question = {"question": QUESTION, "options": ["80", "8080"]}
        return Turn(text="I must ask.", calls=(("mcp__unstuck__ask_human", question),))
    return Turn(text="So be it.")


@contextmanager
def screen(lab: Lab, *arguments: str) -> Iterator[Terminal]:
    """``unstuck watch``, or another command of ours, at a terminal."""
    program = str(next(Path(place) for place in lab.environ["PATH"].split(":")) / "unstuck")
    command = [program, *(arguments or ("watch",))]
    environment = lab.environ | {"TEXTUAL_ANIMATIONS": "none"}
    process = ptyprocess.PtyProcess.spawn(command, cwd=str(lab.repo), env=environment, dimensions=(40, 120))
    try:
        yield Terminal(process)
    finally:
        process.close(force=True)


@contextmanager
def working(lab: Lab) -> Iterator[subprocess.Popen[bytes]]:
    """The agent at work on the task, started by nobody of ours."""
    command: Sequence[str] = preset_command(lab.name, ALLOWED[lab.name])
    process = subprocess.Popen(
        [TASK if word == "{prompt}" else word for word in command],
        cwd=lab.repo,
        env=lab.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def show_question(terminal: Terminal) -> None:
    """The person opens the question that waits, and the dialog takes keys."""
    terminal.press(key_of("gate.answer"))
    terminal.until(QUESTION, "8080", AWAKE)


@pytest.mark.parametrize("name", list(KNOWN))
def test_it_is_answered_on_the_screen_after_two_minutes(name: str, lab: Labs) -> None:
    """The documented set-up works: the first turn finds the tool, and the question comes up on the screen. The agent
    waits for two minutes, and the model's next request holds what the person has typed. In the end the settings are
    what they were.
    """
    one = lab(name, asks)
    settings = KNOWN[name].file("home", root=one.repo, environ=one.environ)
    before = settings.read_bytes() if settings.exists() else None
    installing = terminal_with(one, recipe("unstuck mcp install claude").replace("claude", name))
    installing.until("[y/N]")
    installing.write("y\r")
    installing.ended()
    assert "installed" in one.unstuck("mcp", "status", name)
    with screen(one, *recipe("unstuck watch").split()[1:]) as terminal:
        terminal.until("no sessions yet")
        with working(one) as process:
            terminal.until(QUESTION, "waits for you")
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(MINUTES_S)
            assert len(one.model.asked) == 1
            show_question(terminal)
            terminal.press(key_of("question.show_me"))
            terminal.until("ctrl+s sends")
            terminal.write(ANSWER)
            terminal.press("ctrl+s")
            told = one.model.wait(lambda asked: ANSWER in asked.last, seconds=PATIENCE)
            assert one.model.asked.index(told) == 1
            out, _ = process.communicate(timeout=PATIENCE)
            assert b"So be it." in out
        terminal.until("cancelled")  # it has gone, and nothing is asked before leaving
        terminal.press(key_of("app.quit"))
        terminal.ended()
    (opened,), (sent,) = one.events("gate_opened"), one.events("answer_sent")
    assert sent["mono"] - opened["mono"] >= MINUTES_S
    assert one.events("answer_delivered")
    one.unstuck("mcp", "remove", name, "--yes")
    if name == "codex":  # Claude Code writes its own into the file at every start
        assert settings.read_bytes() == before
    assert b"alwaysLoad" not in settings.read_bytes()


@pytest.mark.parametrize("name", list(KNOWN))
def test_beside_hooks_it_is_the_same_session(name: str, lab: Labs) -> None:
    """With hooks and server both, the question is one of the session that the hooks tell of; the chosen option reaches
    the model."""
    one = lab(name, asks)
    one.unstuck("mcp", "install", name, "--yes")
    one.unstuck("hooks", "install", name, "--yes")
    if name == "codex":
        trust(one)
    with screen(one) as terminal:
        terminal.until("no sessions yet")
        with working(one) as process:
            terminal.until(QUESTION, "waits for you")
            show_question(terminal)
            terminal.press("2")
            one.model.wait(lambda asked: "chosen option 2: 8080" in asked.last, seconds=PATIENCE)
            process.communicate(timeout=PATIENCE)
        terminal.press(key_of("app.quit"))
        terminal.ended()
    (added,) = one.events("task_added")
    assert added["task"].startswith(f"{name}-")
    assert {record["task"] for record in one.events("gate_opened")} == {added["task"]}


@pytest.mark.parametrize("name", list(KNOWN))
def test_in_a_run_of_ours_it_waits_and_goes_on(name: str, lab: Labs) -> None:
    """We run it ourselves: it waits in its call, the answer reaches the model in the very same attempt, and the check
    passes."""

    def opens(asked: Asked) -> Turn:
        if asked.answered == 1:
            return Turn(text="I open it.", command="echo 8080 > port.txt")
        return asks(asked)

    one = lab(name, opens)
    one.unstuck("mcp", "install", name, "--yes")
    arguments = ("--", *one.program.arguments, *ALLOWED[name])
    if name == "claude":
        arguments = ("--", "--allowedTools", "Bash", "mcp__unstuck")
    run = ("run", "--verify", "grep 80.0 port.txt", "--agent", name, TASK)
    with screen(one, *run, *(arguments if len(arguments) > 1 else ())) as terminal:
        terminal.until(QUESTION, "waits for you")
        show_question(terminal)
        terminal.press("2")
        one.model.wait(lambda asked: "chosen option 2: 8080" in asked.last, seconds=PATIENCE)
        terminal.until("succeeded")
        terminal.press(key_of("app.quit"))
        terminal.ended()
    assert len(one.events("attempt_started")) == 1
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
