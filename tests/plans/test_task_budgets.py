"""Budgets of a task and of an attempt, prices of agents without a cost, and what is left in the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

CHECK = "test -f done.txt"
TURN = {"type": "turn.completed", "usage": {"input_tokens": 9000, "cached_input_tokens": 5000, "output_tokens": 1000}}


def codex(bench: Bench, script: str, *, arguments: tuple[str, ...] = (), **plan: Any) -> Path:
    """A plan for a program named codex that prints the JSON of codex."""
    worker = bench.agent("worker", script)
    named = bench.outside / "codex"
    Path(worker["command"][0]).rename(named)
    command = [str(named), "exec", "--json", *arguments, "{prompt}"]
    return bench.plan(
        agents={"worker": {"command": command}}, tasks=[{"id": "web", "prompt": "Build it.", "verify": CHECK}], **plan
    )


def says(*objects: dict[str, Any]) -> str:
    """Shell commands that print these objects, a line each."""
    return "\n".join(f"echo '{json.dumps(one)}'" for one in objects)


THREAD = {"type": "thread.started", "thread_id": "t-1"}
WAITS = "while :; do sleep 0.1; done"


def test_an_attempt_is_stopped_at_its_budget_and_the_next_one_hears_why(bench: Bench) -> None:
    """The stream says in the middle of the attempt what it has used; the check runs on what is there."""
    script = f"[ $n = 2 ] && touch done.txt && exit 0\n{says(TURN)}\n{WAITS}"
    done = bench.run(codex(bench, script, budget={"attempt_tokens": 4000}))
    assert done.code == 0, done.out + done.err
    (reached,) = bench.events("attempt_budget_reached")
    assert reached["data"] == {"scope": "attempt", "kind": "tokens", "used": 5000.0, "limit": 4000.0}
    assert "■ the budget of the attempt is used up: 5,000 of 4,000 tokens" in done.out
    assert bench.events("attempt_ended")[0]["data"]["report"]["how"] == "over_budget"
    assert bench.events("stop_receipt")[0]["data"]["alive"] == []
    assert "What is left of the budget for this attempt: 4,000 tokens." in bench.prompt("web.1")
    again = bench.prompt("web.2")
    assert "The last attempt was stopped: the budget of the attempt is used up: 5,000 of 4,000 tokens" in again
    assert again.count("What is left of the budget") == 1


def test_a_task_asks_when_its_attempts_have_used_its_budget(bench: Bench) -> None:
    """Priced by the user's table: the second attempt crosses the limit, and the answer begins a new count."""
    # Codex sums its session, which the second attempt goes on with.
    twice = {"type": "turn.completed", "usage": {name: 2 * count for name, count in TURN["usage"].items()}}
    script = (
        f"[ $n = 1 ] && {{ {says(THREAD)}\n{says(TURN)}\nexit 0; }}\n"
        f"[ $n = 3 ] && touch done.txt && exit 0\n{says(THREAD, twice)}\n{WAITS}"
    )
    settings = {"prices": {"codex": {"read": 1, "written": 10}}}
    done = bench.run(codex(bench, script, budget={"task_cost": 0.02}, settings=settings))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 2
    used = [event["data"] for event in bench.events("usage_counted")]
    assert [(one["tokens"], one["written"], one["cost"], one["priced"]) for one in used] == [
        (5000, 1000, 0.014, True)
    ] * 2
    assert [event["data"]["scope"] for event in bench.events("attempt_budget_reached")] == ["task"]
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert "the budget of the task is used up: $0.03 of $0.02" in json.dumps(dict(gate.context), ensure_ascii=False)
    assert "$0.01" in bench.prompt("web.2")
    assert bench.call("answer", bench.gate(), "retry", "Write less.").code == 0
    assert bench.resume().code == 0


@pytest.mark.parametrize("budget", [{"cost": 5}, {"task_cost": 5}, {"attempt_cost": 5}])
def test_a_cap_without_a_price_is_refused_at_the_start(bench: Bench, budget: dict[str, float]) -> None:
    """Codex reports no cost: a limit that could never be reached is no limit."""
    done = bench.run(codex(bench, "touch done.txt", budget=budget))
    assert done.code == 2
    assert "agent codex reports no cost: give its price in the setting `prices: {codex:" in done.err
    assert not bench.told.glob("*") or bench.attempts("web") == 0


def test_a_price_by_model_is_enough(bench: Bench) -> None:
    """The model that the command names has a price."""
    settings = {"prices": {"gpt-*": {"read": 1, "written": 10}}}
    script = f"{says(TURN)}\ntouch done.txt"
    done = bench.run(codex(bench, script, arguments=("-m", "gpt-5"), budget={"cost": 5}, settings=settings))
    assert done.code == 0, done.out + done.err
    assert bench.events("usage_counted")[0]["data"]["cost"] == 0.014


def test_a_stopped_claude_attempt_keeps_what_it_used(bench: Bench) -> None:
    """Its messages report one written token each; what it wrote counts, at the user's price, when it is stopped."""
    content = [{"type": "text", "text": "word " * 800}]
    message = {"id": "m1", "content": content, "usage": {"input_tokens": 100, "output_tokens": 1}}
    worker = bench.agent("worker", f"{says({'type': 'assistant', 'message': message})}\ntrap '' INT\n{WAITS}")
    named = bench.outside / "claude"
    Path(worker["command"][0]).rename(named)
    command = [str(named), "-p", "{prompt}", "--output-format", "stream-json", "--verbose"]
    path = bench.plan(
        agents={"worker": {"command": command}},
        tasks=[{"id": "web", "prompt": "Build it.", "verify": CHECK}],
        budget={"attempt_tokens": 100},
        settings={"ask": "never", "task_failure_limit": 1, "prices": {"claude": {"read": 1, "written": 100}}},
    )
    bench.run(path)
    attempt = bench.state.attempts["web.1"]
    assert attempt.tokens > 1000
    assert attempt.cost == pytest.approx((100 + (attempt.written) * 100) / 1e6)
