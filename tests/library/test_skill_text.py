"""The skill for agents says what the code does."""

from __future__ import annotations

import re

import yaml
from tests.documents import TOP

from unstuck.agents.command.signal_line import read_signal
from unstuck.agents.mcp.tools import TOOLS

SKILL = (TOP / "skills" / "unstuck" / "SKILL.md").read_text("utf-8")


def test_the_skill_has_the_head_that_agents_look_for() -> None:
    """Its name is that of its folder, and its description fits into what agents show their model."""
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert head["name"] == "unstuck"
    assert 0 < len(head["description"]) <= 1024


def test_the_skill_teaches_what_is_read() -> None:
    """Each status line in it is one that Unstuck reads, and each tool that it names exists."""
    signals = [read_signal(line, "web") for line in re.findall(r"^UNSTUCK .*$", SKILL, re.MULTILINE)]
    assert [signal.kind for signal in signals] == ["needs_guidance", "blocked", "complete"]
    assert all(signal.problem == "" for signal in signals)
    named = set(re.findall(r"\b(?:call|Call) `(\w+)`|^`(\w+)` with", SKILL, re.MULTILINE))
    tools = {name for pair in named for name in pair if name}
    assert tools == {"ask_human", "report_failure", "checkpoint"}
    assert tools <= set(TOOLS)
