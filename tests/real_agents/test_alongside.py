"""Real agents in their own terminals, attached through their hooks: held, answered on the screen, checked, let go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ptyprocess
import pytest
from tests.real_agents.conftest import PATIENCE, Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.screen.terminal.conftest import Terminal

from unstuck.agents.hooks.known import KNOWN
from unstuck.agents.presets import preset_command
from unstuck_tui.actions import key_of

pytestmark = pytest.mark.agents

FAILING = "echo oops >&2; exit 3"
ADVICE = "look in the cellar"
AWAKE = "esc leaves it open"
"""What a dialog says as soon as it takes keys."""
TASK = "Make it work, please."


def repeats(asked: Asked) -> Turn:
    """Tries the very same failing command until it hears of the cellar."""
    if ADVICE in asked.text:
        return Turn(text="In the cellar it is. Done.")
    return Turn(text="Again.", command=FAILING) if asked.answered < 9 else Turn(text="I give up.")


class Session:
    """A person's own session of an agent, which nobody of ours started."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.known = KNOWN[lab.name]
        self.settings = self.known.file("home", root=lab.repo, environ=lab.environ)
        self.before = self.settings.read_bytes() if self.settings.exists() else None

    def install(self) -> None:
        """Set up the hooks; Codex wants them trusted, which a person does once."""
        self.lab.unstuck("hooks", "install", self.lab.name, "--yes")
        if self.lab.name == "codex":
            assert "is not trusted" in self.lab.unstuck("hooks", "status", "codex", code=1)
            assert "is not trusted" in self.lab.unstuck("doctor", code=1)
            trust(self.lab)
            assert "(trusted)" in self.lab.unstuck("hooks", "status", "codex")

    def remove(self) -> None:
        """Take them out: the file is what it was."""
        self.lab.unstuck("hooks", "remove", self.lab.name, "--yes")
        assert (self.settings.read_bytes() if self.settings.exists() else None) == self.before

    @contextmanager
    def working(self, task: str = TASK) -> Iterator[subprocess.Popen[bytes]]:
        """The agent at work on a task in the project."""
        words = [
            task if word == "{prompt}" else word for word in preset_command(self.lab.name, self.lab.program.arguments)
        ]
        process = subprocess.Popen(
            words,
            cwd=self.lab.repo,
            env=self.lab.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the program itself is a child of its package's wrapper
            process.communicate()

    def done(self, process: subprocess.Popen[bytes]) -> str:
        """What it printed, once it has ended by itself."""
        out, _ = process.communicate(timeout=PATIENCE)
        return out.decode(errors="replace")


def trust(lab: Lab) -> None:
    """What a person does with /hooks in Codex, by the way that takes there."""
    server = subprocess.Popen(
        ["codex", "app-server"],
        cwd=lab.repo,
        env=lab.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def ask(id: int, method: str, params: dict[str, Any]) -> Any:
        print(json.dumps({"id": id, "method": method, "params": params}), file=server.stdin, flush=True)
        assert server.stdout is not None
        return next(found for line in server.stdout if (found := json.loads(line)).get("id") == id)["result"]

    ask(1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
    print(json.dumps({"method": "initialized"}), file=server.stdin, flush=True)
    (place,) = ask(2, "hooks/list", {"cwds": [str(lab.repo)]})["data"]
    state = {hook["key"]: {"enabled": True, "trusted_hash": hook["currentHash"]} for hook in place["hooks"]}
    ask(3, "config/batchWrite", {"edits": [{"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}]})
    os.killpg(server.pid, signal.SIGKILL)
    server.communicate()


@pytest.fixture
def session(lab: Labs) -> Callable[[str, Callable[[Asked], Turn]], Session]:
    """``session(agent, answer)``: a session with its model."""
    return lambda name, answer: Session(lab(name, answer))


Sessions = Callable[[str, Callable[[Asked], Turn]], Session]


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
def test_held_at_the_hook_and_answered_on_the_screen(name: str, session: Sessions) -> None:
    """A session repeats a failing command: its next call is held, the person answers on the screen, and the model's
    next request carries the answer. Before the watch and after the removal the agent works as if we were not there."""
    one = session(name, repeats)
    one.install()
    with screen(one.lab) as terminal:
        terminal.until("no tasks yet")
        with one.working() as process:
            terminal.until("Show me how", "Not a loop", AWAKE)
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
def test_its_stop_is_checked(name: str, session: Sessions) -> None:
    """It says that it is done and is not: the check is run, and it is sent on with what failed until it passes."""

    def claims(asked: Asked) -> Turn:
        if "did not pass the check" in asked.last:
            return Turn(text="Then I do it.", command="echo hello > greeting.txt")
        return Turn(text="All is done.")

    one = session(name, claims)
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
def test_without_a_watch_it_is_not_disturbed(name: str, session: Sessions) -> None:
    """Nobody listens, or the forwarder has gone: the session runs to its end, and its model hears nothing of us."""

    def works(asked: Asked) -> Turn:
        return Turn(text="I look.", command="echo hi") if asked.answered == 0 else Turn(text="All done.")

    one = session(name, works)
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
