"""Real agents that learn from the skill when to ask a person."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.documents import TOP
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

SKILL = TOP / "skills" / "unstuck"
PLACES = {
    "claude": ".claude/skills",
    "codex": ".codex/skills",
    "gemini": ".gemini/skills",
    "qwen": ".qwen/skills",
    "opencode": ".config/opencode/skills",
    "pi": ".pi/agent/skills",
}
"""Folder of each for its user's skills, below the home directory."""
TEXT = (SKILL / "SKILL.md").read_text("utf-8")
(COMMAND,) = re.findall(r"^```sh\n(.*)\n```$", TEXT, re.MULTILINE)
(ASKS, *_) = re.findall(r"^UNSTUCK .*$", TEXT, re.MULTILINE)


def taught(asked: Asked) -> Turn:
    """Does as the skill says: it saves a checkpoint of its work, then it asks by its status line."""
    return (
        Turn(text=f"I must ask.\n{ASKS}")
        if asked.answered
        else Turn(text="I save it.", command=f"echo 80 > port.txt; {COMMAND}")
    )


@pytest.mark.parametrize("name", list(PLACES))
def test_an_agent_knows_the_skill_and_does_as_it_says(name: str, lab: Labs) -> None:
    """The installed skill is in what the agent tells its model; the command of the skill saves a checkpoint where the
    agent works, and its status line is a question to a person."""
    one = lab(name, taught)
    shutil.copytree(SKILL, one.home / PLACES[name] / "unstuck")
    # Codex runs commands in a login shell.
    (one.home / ".profile").write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n', encoding="utf-8")
    arguments = ("--", *one.program.arguments) if one.program.arguments else ()
    one.unstuck("run", "--headless", "--check", "false", "--agent", name, "Open the port.", *arguments, code=3)
    assert any("when to ask a person" in json.dumps(asked.body) for asked in one.model.asked)
    (opened,) = one.events("gate_opened")
    assert opened["data"]["context"]["question"] == json.loads(ASKS.removeprefix("UNSTUCK "))["question"]
    saved = [json.loads(line)["reason"] for line in one.unstuck("checkpoints", "list", "--json").splitlines()]
    if name == "codex":  # its sandbox keeps .git read-only, which the skill says
        assert "Read-only file system" in one.model.asked[-1].last
    else:
        assert "before the migration" in saved
