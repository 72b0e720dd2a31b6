"""``--budget`` on the command line: nothing begins beyond it, whichever way the run was started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck

SPENDS = """
echo 'UNSTUCK {"step": "usage", "tokens": 600, "cost": 0.06}'
echo 'UNSTUCK {"signal": "complete", "tokens": 20, "cost": 0.002}'
"""


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["event"] for row in rows if "event" in row]


@pytest.mark.parametrize("limits", ["tokens=1000", "cost=0.1"])
def test_one_command_ends_at_its_budget(unstuck: Unstuck, failing: str, limits: str) -> None:
    """The second attempt goes past the limit: no third one begins, the code is 5, and show says who used what."""
    agent = unstuck.script("agent.sh", SPENDS)
    done = unstuck.inside("run", "--json", "--task", "T", "--verify", failing, "--budget", limits, "--", "sh", agent)
    assert done.code == 5, done.errors
    assert done.rows[-1]["exit_reason"] == "budget", done.errors
    assert names(done.rows).count("attempt_started") == 2
    assert names(done.rows).index("budget_reached") > names(done.rows).index("attempt_started")
    run, task = unstuck.inside("show", "--json").rows
    # The second one is stopped as soon as its usage is heard, or has just ended.
    assert (run["tokens"], round(run["cost"], 3)) in ((1220, 0.122), (1240, 0.124))
    assert task["tokens"] == run["tokens"]
    assert task["cost"] == run["cost"]
    assert {rung: used["attempts"] for rung, used in task["rungs"].items()} == {"first": 1, "retry": 1}
    assert task["rungs"]["first"]["tokens"] == 620
    shown = unstuck.inside("show").out
    assert f"used: {run['tokens']} tokens, cost" in shown
    assert f"budget: {'1,000 tokens' if 'tokens' in limits else '$0.10'}" in shown
    assert "first try 620 tokens, cost 0.062" in shown


def test_the_time_of_one_command_is_a_budget(unstuck: Unstuck) -> None:
    """Past its wall time the hanging agent is stopped with a receipt, and the run ends with 5."""
    agent = unstuck.script("agent.sh", "sleep 1000")
    done = unstuck("run", "--json", "--task", "T", "--budget", "time=1s", "--", "sh", agent)
    assert done.code == 5
    assert done.data("budget_reached")[0]["kind"] == "time"
    assert done.data("stop_receipt")[0]["alive"] == []


def test_a_budget_of_nothing_lets_nothing_begin(unstuck: Unstuck, tmp_path: Path) -> None:
    """One command, a plan, and a run that goes on: with nothing to spend no agent is started on any way in."""
    agent = unstuck.script("agent.sh", "touch started")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        json.dumps({"agents": {"a": {"command": ["sh", agent]}}, "tasks": [{"id": "one", "prompt": "T"}]}),
        encoding="utf-8",
    )
    for start in (("--task", "T", "--budget", "tokens=0", "--", "sh", agent), ("--budget", "cost=0", str(plan))):
        done = unstuck.inside("run", "--headless", *start)
        assert done.code == 5, done.errors
        assert not (unstuck.root / "started").exists(), done.errors
        again = unstuck.inside("run", "--headless", "--resume", "last")
        assert again.code == 5
        assert not (unstuck.root / "started").exists()
    more = unstuck.inside("run", "--headless", "--resume", "last", "--budget", "cost=1000")
    assert more.code == 1
    assert (unstuck.root / "started").exists()


def test_a_rule_gives_more_and_the_question_is_on_record(unstuck: Unstuck, failing: str, tmp_path: Path) -> None:
    """A rule is asked before the run ends; its budget is used, and then the run ends with 5."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("- gate: budget\n  answer: extend\n  number: 500\n", encoding="utf-8")
    agent = unstuck.script("agent.sh", SPENDS)
    arguments = ("--budget", "tokens=1000", "--answers", str(rules), "--", "sh", agent)
    done = unstuck.inside("run", "--json", "--task", "T", "--verify", failing, *arguments)
    assert done.code == 5
    assert [gate["type"] for gate in done.data("gate_opened")] == ["budget"]
    assert names(done.rows).count("budget_reached") == 2
    assert names(done.rows).count("attempt_started") == 3
