"""Real agents that learn from the skill when to ask a person."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.documents import TOP
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

SKILL = TOP / "skills" / "unstuck"
PLACES = {"claude": ".claude/skills", "codex": ".codex/skills"}
"""Directory of each user's skills, below the home directory."""
BLOCKED = 'UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"]}'


def asks(asked: Asked) -> Turn:
    """Does as the skill says: it asks by its status line."""
    return Turn(text=f"I must ask.\n{BLOCKED}")


@pytest.mark.parametrize("name", list(PLACES))
def test_an_agent_knows_the_skill_and_its_question_reaches_a_person(name: str, lab: Labs) -> None:
    """The installed skill is in what the agent tells its model, and the status line that it teaches is a question."""
    one = lab(name, asks)
    shutil.copytree(SKILL, one.home / PLACES[name] / "unstuck")
    arguments = ("--", *one.program.arguments) if one.program.arguments else ()
    one.unstuck("run", "--headless", "--check", "false", "--agent", name, "Open the port.", *arguments, code=3)
    assert any("when to ask a person" in json.dumps(asked.body) for asked in one.model.asked)
    (opened,) = one.events("gate_opened")
    assert opened["data"]["context"]["question"] == "Which port?"
