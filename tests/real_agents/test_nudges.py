"""Real agents that run as commands: told within the attempt that they repeat themselves, they take another way."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.programs import PROGRAMS
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
VERIFY = "grep hello greeting.txt"
TOLD = "Go on with the task."


def loops(asked: Asked) -> Turn:
    """Tries the very same failing command until it hears that it repeats itself."""
    if TOLD in asked.text:
        after = asked.text.split(TOLD)[-1]
        return (
            Turn(text="Done.")
            if "greeted" in after
            else Turn(text="So.", command="echo hello | tee greeting.txt; echo greeted")
        )
    return Turn(text="Again.", command="cat no-such-file")


def own_files(folder: Path) -> dict[str, bytes]:
    """The settings that the person has written, with their contents."""
    names = ("settings.json", "config.toml", "opencode.json", "models.json", "hooks.json")
    return {str(file): file.read_bytes() for file in folder.rglob("*.*") if file.name in names}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_told_of_its_loop_within_the_attempt(name: str, lab: Labs) -> None:
    """The model hears in its next request what it repeats, in the same conversation; one attempt is enough, and no
    settings file of the person has changed."""
    one = lab(name, loops)
    before = own_files(one.home)
    arguments = ("--", *one.program.arguments) if one.program.arguments else ()
    one.unstuck("run", "--headless", "--verify", VERIFY, "--agent", name, TASK, *arguments)
    assert len(one.events("attempt_started")) == 1
    assert len(one.events("loop_warned")) == len(one.events("loop_told")) == 1
    assert one.events("gate_opened") == []
    told = next(asked for asked in one.model.asked if TOLD in asked.last)
    assert "no-such-file" in told.last
    assert TASK in told.text
    after = own_files(one.home)
    assert {file: after.get(file) for file in before} == before
    (report,) = [record["data"]["report"] for record in one.events("attempt_ended")]
    assert report["receipt"]["alive"] == []


def test_cline_is_not_told_and_a_person_is_asked(lab: Labs) -> None:
    """It resumes no session without a terminal: its loop is seen, and the log says that it cannot be told."""
    one = lab("cline", loops)
    one.sign_in()
    given = ("--headless", "--verify", VERIFY, "--agent", "cline", TASK)
    one.unstuck("run", *given, "--", "--retries", "9", code=3)
    (warned,) = one.events("loop_warned")
    assert warned["data"]["deaf"] == "agent"
    assert one.events("loop_told") == []
    assert [record["data"]["type"] for record in one.events("gate_opened")] == ["loop_detected"]
