"""Known agents in a plan: a name is enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstuck.agents.command.presets import preset_command
from unstuck.errors import PlanError
from unstuck.runs.plans.one_command import one_command
from unstuck.runs.plans.plan import Plan, one_task_plan
from unstuck.runs.plans.plan_file import load_plan

TASKS = "tasks:\n  - {id: a, prompt: Do it, agent: claude}\n"


def load(folder: Path, text: str) -> Plan:
    """The plan with this text."""
    path = folder / "plan.yaml"
    path.write_text(text)
    return load_plan(path)


def test_its_name_at_a_task_is_enough(tmp_path: Path) -> None:
    """No ``agents`` at all; for the remediation, too."""
    plan = load(tmp_path, "remediation: codex\n" + TASKS)
    assert plan.agents["claude"].command == preset_command("claude")
    assert plan.agents["codex"].command == preset_command("codex")
    assert Plan.from_dict(plan.as_dict()).agents == plan.agents


def test_with_arguments_and_another_name(tmp_path: Path) -> None:
    """An entry of one's own, and an agent of one's own that is called like a known one."""
    plan = load(
        tmp_path,
        "agents:\n"
        "  fast: {preset: claude, arguments: [--model, haiku], type: qa_engineer}\n"
        "  claude: {command: ./mine.sh}\n" + TASKS + "  - {id: b, prompt: Do it, agent: fast}\n",
    )
    assert plan.agents["fast"].command == preset_command("claude", ("--model", "haiku"))
    assert plan.agents["fast"].type == "qa_engineer"
    assert plan.agents["claude"].command == ("./mine.sh",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks:\n  - {id: a, prompt: Do it}\n", "needs `agents`.*`claude`"),
        ("tasks:\n  - {id: a, prompt: Do it, agent: cloud}\n", "plan.yaml:2.*unknown agent `cloud`|needs `agents`"),
        ("agents: {x: {preset: cloude}}\n" + TASKS, "plan.yaml:1: unknown preset `cloude`.*claude"),
        ("agents: {x: {preset: claude, command: y}}\n" + TASKS, "a `preset` and a `command`"),
        ("agents: {x: {command: y, arguments: z}}\n" + TASKS, "`arguments` go with a `preset`"),
        ("agents: {x: {preset: claude, arguments: [1]}}\n" + TASKS, "must be text or a list of texts"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    """With its line, before anything starts."""
    with pytest.raises(PlanError, match=words):
        load(tmp_path, text)


def test_one_command() -> None:
    """The agent has the preset's name."""
    plan = one_task_plan(one_command(preset_command("codex"), task="x", name="codex"))
    assert list(plan.agents) == ["codex"]


def test_the_command_line(repo: Path, inside: object) -> None:
    """A task is needed, once, and ``--`` brings more arguments; an unknown name is refused with the known ones."""
    assert callable(inside)
    assert "wants a task" in inside(repo, "run", "--agent", "claude", "--headless")[2]
    assert "put it into quotes" in inside(repo, "run", "--agent", "claude", "fix", "it", "--headless")[2]
    assert "no agent is known as `cloud`" in inside(repo, "run", "--agent", "cloud", "fix it", "--headless")[2]
