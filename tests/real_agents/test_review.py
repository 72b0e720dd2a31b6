"""Sessions kept by real agents, as `unstuck review` reads them."""

from __future__ import annotations

import json

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn
from tests.real_agents.sessions import TASK

from unstuck.agents.command.presets import preset_command
from unstuck.history.locations import AGENTS

pytestmark = pytest.mark.agents

WORDS = ("I run it.", "Once more.", "It may pass now.", "Again.")


def circling(asked: Asked) -> Turn:
    """Runs the same failing check four times, and says that all is well."""
    if asked.answered < len(WORDS):
        return Turn(text=WORDS[asked.answered], command="make test")
    return Turn(text="I've fixed it, and all tests pass.")


@pytest.mark.parametrize("name", AGENTS)
def test_a_session_of_a_real_agent(name: str, lab: Labs) -> None:
    """Its own transcript is found where this version keeps it: steps, usage, the loop, the claim and the last check."""
    one = lab(name, circling)
    (one.repo / "Makefile").write_text("test:\n\t@echo 'app.py:3: AssertionError: 1 != 2'; exit 1\n", "utf-8")
    command = preset_command(name, one.program.arguments)
    assert one.run(*(TASK if word == "{prompt}" else word for word in command)).returncode == 0
    (row,) = [json.loads(line) for line in one.unstuck("review", "--json", "--agent", name).splitlines()]
    assert (row["agent"], row["project"]) == (name, str(one.repo))
    assert (row["steps"], row["failures"]) == (4, 4)
    (loop,) = row["loops"]
    assert (loop["first"], loop["noticed"], loop["action"]) == (1, 2, "nudge")
    assert (row["claimed"], row["last_check"]) == ("done", "failed")
    assert row["tokens"]
    assert "~" not in one.unstuck("review", "--agent", name), "this version is known"
