"""Real agents on several approaches at the same time: the first that passes is taken, and the other is ended."""

from __future__ import annotations

import json
from collections.abc import Callable

import psutil
import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn

from unstuck.agents.command.presets import preset_command

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
CHECK = "grep hello greeting.txt || { echo 'AssertionError: no greeting'; exit 1; }"
FIRST, SECOND = "greet in one line", "greet in a loop"
PATTERNS = [{"pattern": "AssertionError", "approach": FIRST}, {"pattern": "AssertionError", "approach": SECOND}]


def script(way: Callable[[Asked], str]) -> Callable[[Asked], Turn]:
    """The first attempt writes nothing of use; of the approaches the second one writes the greeting."""

    def turn(asked: Asked) -> Turn:
        if asked.answered:
            return Turn(text="I am done.")
        match way(asked):
            case "second":
                return Turn(text="A loop.", command="pwd > where.txt; echo hello > greeting.txt")
            case "first":
                return Turn(text="One line.", command="exec sleep 654321")
        return Turn(text="I begin.", command="echo bye > greeting.txt")

    return turn


def way_of(asked: Asked) -> str:
    return "first" if f"Approach: {FIRST}" in asked.text else "second" if f"Approach: {SECOND}" in asked.text else ""


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_first_that_passes_is_taken(lab: Labs, name: str) -> None:
    """Two sessions of the agent work at once in worktrees; the one that passes wins, and no process is left."""
    one = lab(name, script(way_of))
    plan = {
        "agents": {name: {"command": [*preset_command(name), *one.program.arguments]}},
        "tasks": [{"id": "greet", "agent": name, "prompt": TASK, "check": CHECK, "isolation": "worktree"}],
        "settings": {
            "pivot": {"parallel": 2},
            "failure_handler": {"max_retries": 0, "max_pivots": 2, "patterns": PATTERNS},
        },
    }
    path = one.home / "plan.yaml"
    path.write_text(json.dumps(plan), encoding="utf-8")
    one.unstuck("run", "--headless", str(path))
    ends = {event["data"]["approach"]: event["data"]["result"] for event in one.events("approach_ended")}
    assert ends == {FIRST: "stopped", SECOND: "passed"}
    assert [event["data"]["status"] for event in one.events("task_ended")] == ["succeeded"]
    assert [event["data"]["level"] for event in one.events("directive_issued")] == ["pivot"]
    assert not [process for process in psutil.process_iter(["cmdline"]) if "sleep 654321" in _words(process)]
    memory = [json.loads(line) for line in one.unstuck("memory", "list", "--json").splitlines()]
    assert {row["approach"]: row["outcome"] for row in memory if row["approach"] in ends} == {
        FIRST: "stopped",
        SECOND: "worked",
    }


def _words(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or ())
