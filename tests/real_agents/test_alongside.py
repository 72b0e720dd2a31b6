"""Real agents in their own terminals, attached through their hooks: held, answered on the screen, checked, let go."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import ptyprocess
import pytest
from tests.real_agents.conftest import PATIENCE, Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import TASK, Session
from tests.screen.terminal.conftest import Terminal

from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck_tui.keys.actions import key_of

pytestmark = pytest.mark.agents

FAILING = "echo oops >&2; exit 3"
ADVICE = "look in the cellar"
AWAKE = "esc leaves it open"
"""Hint of a dialog as soon as it takes keys."""


def repeats(asked: Asked) -> Turn:
    """Tries the very same failing command until it hears of the cellar."""
    if ADVICE in asked.text:
        return Turn(text="In the cellar it is. Done.")
    return Turn(text="Again.", command=FAILING) if asked.answered < 9 else Turn(text="I give up.")


@contextmanager
def screen(lab: Lab, *arguments: str) -> Iterator[Terminal]:
    """``unstuck watch`` at a terminal."""
    environment = lab.environ | {"TEXTUAL_ANIMATIONS": "none"}
    command = [str(next(Path(place) for place in lab.environ["PATH"].split(":")) / "unstuck"), "watch", *arguments]
    process = ptyprocess.PtyProcess.spawn(command, cwd=str(lab.repo), env=environment, dimensions=(40, 120))
    try:
        yield Terminal(process)
    finally:
        process.close(force=True)


@pytest.mark.parametrize("name", list(KNOWN))
def test_held_at_the_hook_and_answered_on_the_screen(name: str, lab: Labs) -> None:
    """A session repeats a failing command: its next call is held, the person answers on the screen, and the model's
    next request carries the answer. Before the watch and after the removal the agent works as if we were not there."""
    one = Session(lab(name, repeats))
    one.install()
    with screen(one.lab) as terminal:
        terminal.until("no sessions yet")
        with one.working() as process:
            terminal.until("waits for you")
            terminal.press(key_of("gate.answer"))
            terminal.until("Show me how", "Let it continue", AWAKE)
            one.lab.model.wait(lambda asked: asked.answered == 3, seconds=PATIENCE)
            held = len(one.lab.model.asked)
            assert process.poll() is None
            terminal.press(key_of("loop.show_me"))
            terminal.until("ctrl+s sends")
            terminal.write(ADVICE)
            terminal.press("ctrl+s")
            told = one.lab.model.wait(lambda asked: ADVICE in asked.text, seconds=PATIENCE)
            assert one.lab.model.asked.index(told) == held
            assert ADVICE in told.last
            one.done(process)
        terminal.press(key_of("app.quit"))
        terminal.ended()
    commands = [step["data"]["text"] for step in one.lab.events("step_recorded") if step["data"]["kind"] == "failure"]
    assert len(commands) == 3
    assert one.lab.events("answer_delivered")
    one.remove()


@pytest.mark.parametrize("name", list(KNOWN))
def test_its_stop_is_checked(name: str, lab: Labs) -> None:
    """It says that it is done and is not: the check is run, and it is sent on with what failed until it passes."""

    def claims(asked: Asked) -> Turn:
        if "did not pass the check" in asked.last:
            return Turn(text="Then I do it.", command="echo hello > greeting.txt")
        return Turn(text="All is done.")

    one = Session(lab(name, claims))
    one.install()
    watching = subprocess.Popen(
        ["unstuck", "watch", "--json", "--verify", "grep hello greeting.txt"],
        cwd=one.lab.repo,
        env=one.lab.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert '"run_started"' in watching.stdout.readline()
        with one.working() as process:
            one.done(process)
        sent_on = one.lab.model.wait(lambda asked: "did not pass the check" in asked.last, seconds=1)
        assert "grep hello greeting.txt" in sent_on.last
        ended = next(record for line in watching.stdout if (record := json.loads(line))["event"] == "task_ended")
        assert ended["data"]["status"] == "succeeded"
        used = sum(record["data"]["tokens"] for record in one.lab.events("usage_counted"))
        assert used == 110 * len(one.lab.model.asked)  # its hooks do not say so, its transcript does
    finally:
        watching.terminate()
        watching.communicate()
    one.remove()


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_without_a_watch_it_is_not_disturbed(name: str, lab: Labs) -> None:
    """Nobody listens, or the forwarder has gone: the session runs to its end, and its model hears nothing of us."""

    def works(asked: Asked) -> Turn:
        return Turn(text="I look.", command="echo hi") if asked.answered == 0 else Turn(text="All done.")

    one = Session(lab(name, works))
    one.install()
    with one.working() as process:
        assert "All done." in one.done(process)
    installed = one.settings.read_text()
    one.settings.write_text(installed.replace("unstuck-hook", "gone/unstuck-hook"))
    with one.working() as process:
        assert "All done." in one.done(process)
    assert len(one.lab.model.asked) == 4
    assert "does not exist" in one.lab.unstuck("hooks", "status", name, code=1)
    one.settings.write_text(installed)
    one.remove()


OWN = {
    "codex": ("codex", "-a", "on-request", "-s", "workspace-write"),
    "gemini": ("gemini", "--model", "gemini-2.5-flash", "--skip-trust", "-i"),
    "qwen": ("qwen", "--auth-type", "openai", "-i"),
}
"""Commands with which a person starts each in a terminal, before the words of the task: some take words that are typed
with enter right after them for pasted lines."""
AGAIN_S = 5.0
TOUCH = "touch made-it && echo made"


class OwnTerminal:
    """The agent's own screen, by what it prints: it draws with signs that our emulator does not know."""

    def __init__(self, process: ptyprocess.PtyProcess) -> None:
        self.process, self._seen = process, ""
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        """Take what it draws all the time: a program whose terminal is full stands still."""
        with suppress(EOFError, OSError, ValueError):
            while True:
                drawn = ESCAPE.sub("", self.process.read(65_536).decode(errors="replace"))
                with self._more:
                    self._seen = (self._seen + "".join(drawn.split()))[-100_000:]
                    self._more.notify_all()

    def until(self, words: str) -> None:
        """Wait until these words were drawn, whatever blanks are between them."""
        wanted = "".join(words.split())
        with self._more:
            assert self._more.wait_for(lambda: wanted in self._seen, PATIENCE), self._seen[-2_000:]

    def enter_until(self, words: str) -> None:
        """Press enter until these words were drawn: a dialog takes no key in the moment in which it is drawn."""
        wanted = "".join(words.split())
        for _ in range(int(PATIENCE / AGAIN_S)):
            self.process.write(b"\r")
            with self._more:
                if self._more.wait_for(lambda: wanted in self._seen, AGAIN_S):
                    return
        self.until(words)


ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cMDE])")


@contextmanager
def own_terminal(one: Session) -> Iterator[OwnTerminal]:
    """The agent in the person's own terminal, in a project that they trust."""
    name, home = one.lab.name, one.lab.home
    if name == "codex":
        settings = home / ".codex" / "config.toml"
        settings.write_text(f'{settings.read_text()}\n[projects."{one.lab.repo}"]\ntrust_level = "trusted"\n')
    program = shutil.which(OWN[name][0], path=one.lab.environ["PATH"]) or name
    process = ptyprocess.PtyProcess.spawn(
        [program, *OWN[name][1:], TASK], cwd=str(one.lab.repo), env=one.lab.environ, dimensions=(40, 120)
    )
    try:
        yield OwnTerminal(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()  # closing it gives up on a program that takes a while to be gone
        process.close()


@pytest.mark.parametrize("name", ["codex", "gemini", "qwen"])
def test_its_own_dialog_is_said_and_ends_when_it_is_answered_there(name: str, lab: Labs) -> None:
    """Its permission dialog shows as waiting for the person in its own terminal, and no longer once it is allowed."""
    escalated = {"cmd": TOUCH, "sandbox_permissions": "require_escalated", "justification": "I need it"}

    def wants(asked: Asked) -> Turn:
        if asked.answered:
            return Turn(text="All done now.")
        return Turn(calls=(("exec_command", escalated),)) if name == "codex" else Turn(command=TOUCH)

    one = Session(lab(name, wants))
    one.install()
    with screen(one.lab) as terminal:
        terminal.until("no sessions yet")
        with own_terminal(one) as own:
            terminal.until("waits for you in its own terminal: may it use touch made-it")
            own.until("1. Yes" if name != "gemini" else "1. Allow once")
            own.enter_until("All done now.")
            terminal.gone("waits for you in its own terminal: may it use touch made-it")
    (asked,) = one.lab.events("terminal_asked")
    assert asked["data"]["text"] == f"may it use {TOUCH}?"
    assert one.lab.events("terminal_answered")
    assert (one.lab.repo / "made-it").exists()


@pytest.mark.parametrize("name", list(KNOWN))
def test_a_run_beside_a_watch(name: str, lab: Labs) -> None:
    """An agent with hooks that a run starts is no session of the watch that is live beside it."""

    def works(asked: Asked) -> Turn:
        return (
            Turn(text="I do.", command="echo hello > greeting.txt") if asked.answered == 0 else Turn(text="All done.")
        )

    one = Session(lab(name, works))
    one.install()
    watching = subprocess.Popen(
        ["unstuck", "watch", "--json"],
        cwd=one.lab.repo,
        env=one.lab.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert '"run_started"' in watching.stdout.readline()
        arguments = ("--", *one.lab.program.arguments) if one.lab.program.arguments else ()
        check = ("--check", "grep hello greeting.txt")
        one.lab.unstuck("run", "--headless", *check, "--agent", name, "Write the greeting.", *arguments)
        assert watching.poll() is None
    finally:
        watching.terminate()
        seen, _ = watching.communicate()
    assert "task_added" not in seen
    one.remove()
