"""Claude Code through the Claude Agent SDK, with the program that comes with it: held, asked, steered, interrupted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.real_agents import conversations
from tests.real_agents.conftest import CACHE, ENVIRON, Lab
from tests.real_agents.environments import PROJECT, environment
from tests.real_agents.scripted_model import Asked, ScriptedModel, Turn

pytestmark = pytest.mark.agents

AGENT = "claude-sdk"
DEPLOY = Turn(text="I deploy.", command="make deploy")
MAY = ("--", "--allowedTools", "Bash(ls:*)", "Bash(echo:*)")

Labs = Callable[[Callable[[Asked], Turn]], Lab]


@pytest.fixture(scope="session")
def installed_sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executables of an environment with the extra."""
    folder = Path(ENVIRON[CACHE]) if ENVIRON.get(CACHE) else tmp_path_factory.mktemp("environments")
    return environment(folder / "claude-sdk", "--editable", f"{PROJECT}[claude]", environ=ENVIRON)


@pytest.fixture
def lab(installed_sdk: Path, repo: Path, isolated: Path, tmp_path: Path) -> Iterator[Labs]:
    """``lab(answer)``: a project and a model; no program is on the PATH but that of the extra."""
    with ExitStack() as stack:
        models: list[ScriptedModel] = []

        def make(answer: Callable[[Asked], Turn]) -> Lab:
            models.append(stack.enter_context(ScriptedModel(answer)))
            one = Lab("claude", tmp_path / "no-programs", repo, isolated / "home", models[-1])
            one.environ["PATH"] = os.pathsep.join((str(installed_sdk), one.environ["PATH"]))
            return one

        yield make
        assert [failure for model in models for failure in model.failures] == []


def test_answered_on_the_screen(lab: Labs) -> None:
    """A person at the screen says no with a reason, and shows the way when it is stuck."""

    def answer(asked: Asked) -> Turn:
        return conversations.gets_stuck(asked, DEPLOY)

    one = lab(answer)
    conversations.answered_by_a_person(one, AGENT, *MAY)
    assert one.events("gate_opened")[0]["data"]["standing"] == "held"


def test_steered_in_its_turn(lab: Labs) -> None:
    """Its next call is held while the question is open, and brings the answer back."""
    one = lab(conversations.repeats)
    conversations.steered(one, "--verify", conversations.VERIFY, "--agent", AGENT, conversations.TASK, *MAY)
    assert one.events("gate_opened")[0]["data"]["standing"] == "held"


def test_interrupted(lab: Labs) -> None:
    """The SDK interrupts the turn before its process is ended; nothing of it is left."""
    said = conversations.stopped(lab(conversations.sleeps), AGENT, "--", "--allowedTools", "Bash")
    assert "error_during_execution" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("early", "it ended before its turn was over (exit code 1): cannot start: no space left"),
        ("long", "it said a line of more than 16 MiB"),
        ("other", "Unsupported: initialize"),
    ],
)
def test_a_wrong_program_ends_its_attempt(wrong: str, said: str, lab: Labs) -> None:
    """A stream that ends early, a line without an end, and another protocol are one clear line each."""
    one = lab(lambda asked: Turn(text="Nobody asks."))
    program = one.repo / "bin" / "claude"
    program.parent.mkdir()
    script = Path(__file__).with_name("wrong_claude.py")
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {script} {wrong}\n")
    program.chmod(0o755)
    one.environ["PATH"] = os.pathsep.join((str(program.parent), one.environ["PATH"]))
    one.environ["UNSTUCK_OUTPUT_LIMIT"] = "65536"  # what is kept is looked through for secrets
    one.unstuck(
        "run", "--headless", "--ask", "never", "--verify", "false", "--agent", AGENT, conversations.TASK, code=4
    )
    reports = [record["data"]["report"] for record in one.events("attempt_ended")]
    assert {report["how"] for report in reports} == {"crashed"}
    assert {report["error"] for report in reports} == {f"Claude Agent SDK: {said}"}
