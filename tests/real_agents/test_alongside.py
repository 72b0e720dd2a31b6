"""Real agents in their own terminals, attached through their hooks: held, answered on the screen, checked, let go."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ptyprocess
import pytest
from tests.real_agents.conftest import PATIENCE, Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import Session
from tests.screen.terminal.conftest import Terminal

from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck_tui.keys.actions import key_of

pytestmark = pytest.mark.agents

FAILING = "echo oops >&2; exit 3"
ADVICE = "look in the cellar"
AWAKE = "esc leaves it open"
"""What a dialog says as soon as it takes keys."""


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
        terminal.until("no tasks yet")
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
