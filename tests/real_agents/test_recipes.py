"""Commands of the docs, typed as written, with real agents."""

from __future__ import annotations

import re

import ptyprocess
import pytest
from tests.documents import commands
from tests.real_agents.conftest import Lab, Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import Session
from tests.screen.terminal.conftest import Terminal

from unstuck_tui.keys.actions import key_of

pytestmark = pytest.mark.agents

TEST = 'def test_it():\n    assert open("greeting.txt").read() == "hello\\n"\n'


def recipe(words: str) -> str:
    """The only command of the documents that begins so, or has this end."""
    (found,) = {line for line in commands() if re.fullmatch(words, line)}
    return found


def project(lab: Lab) -> None:
    """One whose only test fails."""
    (lab.repo / "test_it.py").write_text(TEST, encoding="utf-8")


def terminal_with(lab: Lab, command: str) -> Terminal:
    """A shell of the person's that runs this."""
    environment = lab.environ | {"TEXTUAL_ANIMATIONS": "none"}
    argv = ["sh", "-c", command]
    return Terminal(ptyprocess.PtyProcess.spawn(argv, cwd=str(lab.repo), env=environment, dimensions=(40, 120)))


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_task_for_a_known_agent(name: str, lab: Labs) -> None:
    """One line is enough: the agent edits files, and the task is done once the check has passed."""

    def mends(asked: Asked) -> Turn:
        if asked.answered:
            return Turn(text="Done.")
        if name == "claude":
            given = {"file_path": str(one.repo / "greeting.txt"), "content": "hello\n"}
            return Turn(text="I write it.", calls=(("Write", given),))
        return Turn(text="I write it.", command="echo hello > greeting.txt")

    one = lab(name, mends)
    project(one)
    command = recipe('unstuck run --check "pytest -q" --agent claude "[^"]*"').replace("claude", name)
    done = one.run("sh", "-c", command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
    assert "Make the tests pass." in one.model.asked[0].last


def test_more_arguments_for_a_known_agent(lab: Labs) -> None:
    """Arguments after the dashes reach the agent, which may then run commands."""

    def runs(asked: Asked) -> Turn:
        return Turn(text="Done.") if asked.answered else Turn(text="I run it.", command="echo hello > greeting.txt")

    one = lab("claude", runs)
    project(one)
    done = one.run("sh", "-c", recipe("unstuck run .* -- --allowedTools Bash"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_in_a_terminal_of_its_own(lab: Labs) -> None:
    """Hooks set up with a yes, a watch with a check in a second terminal, and the agent sent back until it passes."""

    def mends(asked: Asked) -> Turn:
        if "did not pass the check" in asked.last:
            return Turn(text="Then I do it.", command="echo hello > greeting.txt")
        return Turn(text="All is done.")

    one = Session(lab("claude", mends))
    project(one.lab)
    installing = terminal_with(one.lab, recipe("unstuck hooks install claude"))
    installing.until('"Stop"', "[y/N]")
    assert one.before is None
    assert not one.settings.exists()
    installing.write("y\r")
    installing.ended()
    watch = terminal_with(one.lab, recipe('unstuck watch --check "pytest -q"'))
    watch.until("no sessions yet")
    with one.working("Make the tests pass.") as process:
        one.done(process)
    watch.until("succeeded")
    watch.press(key_of("app.quit"))
    watch.ended()
    one.remove()
