"""Real agents whose results do not fit together: one of them is given the conflict, and resolves it."""

from __future__ import annotations

import subprocess

import pytest
import yaml
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn

from unstuck.agents.command.presets import preset_command

pytestmark = pytest.mark.agents

ADVICE = "Keep both lines."


def writes(asked: Asked) -> Turn:
    """Writes its own line into the same file, or both where it hears of the conflict."""
    if asked.answered:
        return Turn(text="Done.")
    if ADVICE in asked.last:
        return Turn(text="I keep both.", command="cp line.txt saw.txt; printf 'one\\ntwo\\n' > line.txt")
    word = "one" if "Write the word one" in asked.text else "two"
    return Turn(text="I write.", command=f"echo {word} > line.txt")


@pytest.mark.parametrize("pair", [("claude", "codex"), ("codex", "qwen")])
def test_a_conflict_of_two_agents_is_resolved_by_one_of_them(pair: tuple[str, str], lab: Labs) -> None:
    """Both work side by side; the second result does not fit in, and its agent merges with both sides explained."""
    first, second = (lab(name, writes) for name in pair)
    first.environ |= second.environ | {"PATH": f"{first.environ['PATH']}:{second.environ['PATH']}"}
    (first.repo / "line.txt").write_text("base\n")
    subprocess.run(["git", "add", "-A"], cwd=first.repo, check=True)
    subprocess.run(["git", "commit", "-qm", "Begin"], cwd=first.repo, env=first.environ, check=True)
    tasks = [
        {"id": word, "agent": one.name, "prompt": f"Write the word {word}.", "check": f"grep {word} line.txt"}
        for word, one in (("one", first), ("two", second))
    ]
    agents = {one.name: {"command": list(preset_command(one.name, one.program.arguments))} for one in (first, second)}
    plan = first.home / "plan.yaml"
    plan.write_text(yaml.safe_dump({"max_parallel": 2, "agents": agents, "tasks": tasks}))
    first.unstuck("run", str(plan), "--headless", code=3)
    (opened,) = [record["data"] for record in first.events("gate_opened")]
    assert (opened["type"], opened["context"]["paths"]) == ("integration", ["line.txt"])
    first.unstuck("answer", opened["gate"], "retry", ADVICE)
    first.unstuck("run", "--headless", "--resume", "last")
    (told,) = [asked for one in (first, second) for asked in one.model.asked if ADVICE in asked.last]
    assert "has begun in this worktree" in told.last
    assert "is your side:" in told.last
    assert "is the side of the other results:" in told.last
    results = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname:short)", "refs/heads/unstuck"],
        cwd=first.repo,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    branch = next(name for name in results if name.endswith("/_run"))
    shown = subprocess.run(["git", "show", f"{branch}:line.txt"], cwd=first.repo, capture_output=True, text=True)
    assert shown.stdout == "one\ntwo\n"
    seen = subprocess.run(["git", "show", f"{branch}:saw.txt"], cwd=first.repo, capture_output=True, text=True)
    assert seen.stdout.startswith("<<<<<<< ")
    assert [record["data"]["status"] for record in first.events("task_ended")] == ["succeeded"] * 2
