"""``unstuck what-if`` over other agents that go on, and over approaches at the same time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench
from tests.plans.test_failover import CHECK, FINISHES, LOGIN, agents
from tests.plans.test_failover import plan as failover_plan
from tests.plans.test_parallel_approaches import WAYS
from tests.plans.test_parallel_approaches import plan as parallel_plan


@pytest.fixture(autouse=True)
def signed_in() -> None:
    """The stand-in of codex is signed in."""
    (Path.home() / ".codex").mkdir(parents=True)
    (Path.home() / ".codex" / "auth.json").write_text("{}", encoding="utf-8")


def compared(bench: Bench, *changes: str) -> list[dict[str, Any]]:
    given = [part for change in changes for part in ("--set", change)]
    done = bench.call("what-if", "--json", *given)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def counts(total: dict[str, Any]) -> tuple[int, int, int]:
    return total["differ"], total["unknown"], total["rules"]


def test_without_the_failover_the_question_comes(bench: Bench) -> None:
    """The log has another agent; an empty list gives the question about the first one, and one attempt less."""
    settings = {"failover": ["codex"]}
    bench.run(failover_plan(bench, None, settings, claude=LOGIN, codex=FINISHES))
    (same,) = compared(bench)
    assert counts(same) == (0, 0, 0)
    (again,) = compared(bench, "failover=[codex]")
    assert counts(again) == (0, 0, 0)
    difference, total = compared(bench, "failover=[]")
    assert difference["own"] == {"kind": "another agent", "about": "codex"}
    assert difference["changed"]["kind"] == "question"
    assert (difference["questions"], difference["attempts"]) == (1, -1)
    assert total["rules"] == 0
    assert "another agent (codex)" in bench.call("what-if", "--set", "failover=[]").out


def test_a_list_of_the_task_stays(bench: Bench) -> None:
    """The setting is for tasks without a list of their own; those that keep theirs are named."""
    bench.run(failover_plan(bench, ["codex"], claude=LOGIN, codex=FINISHES))
    (total,) = compared(bench, "failover=[]")
    assert counts(total) == (0, 0, 0)
    done = bench.call("what-if", "--set", "failover=[acp:gemini]")
    assert "keeps a failover of its own: codex" in done.err
    assert "0 differ" in done.out
    assert "of its own" not in bench.call("what-if", "--set", "max_retries=0").err


@pytest.mark.parametrize("own", [["codex"], []])
def test_a_list_of_the_task_that_is_a_part_of_the_setting_stays(bench: Bench, own: list[str]) -> None:
    """The setting names two, the task one of them or none: that is the task's own list, too."""
    settings = {"failover": ["codex", "acp:gemini"]}
    bench.run(failover_plan(bench, own, settings, claude=LOGIN, codex=LOGIN))
    done = bench.call("what-if", "--set", "failover=[acp:gemini]")
    assert f"keeps a failover of its own: {', '.join(own) or 'none'}" in done.err
    assert "0 differ" in done.out


def test_the_settings_own_list_is_changed_and_nothing_else_is_said(bench: Bench) -> None:
    """The task's agent stands in the setting, too, and is no reason to call the rest the task's own list."""
    settings = {"failover": ["claude", "codex"]}
    bench.run(failover_plan(bench, None, settings, claude=LOGIN, codex=FINISHES))
    done = bench.call("what-if", "--set", "failover=[claude]")
    assert "of its own" not in done.err
    assert "1 differs" in done.out


def test_with_a_failover_an_agent_that_has_worked_in_the_run_goes_on(bench: Bench) -> None:
    """Codex worked another task, so it could be used; whether gemini could be is unknown, and is counted so."""
    tasks = [
        {"id": "api", "prompt": "Do.", "agent": "codex", "check": "true", "isolation": "worktree"},
        {"id": "web", "prompt": "Do.", "agent": "claude", "check": CHECK, "needs": ["api"], "isolation": "worktree"},
    ]
    scripts = agents(bench, claude=LOGIN, codex="echo 1 > one.txt")
    assert bench.run(bench.plan(agents=scripts, tasks=tasks)).code == 3
    difference, total = compared(bench, "failover=[claude, codex]")
    assert (difference["task"], difference["changed"]) == ("web", {"kind": "another agent", "about": "codex"})
    assert (difference["questions"], difference["attempts"], difference["tokens"]) == (-1, 1, None)
    assert counts(total) == (1, 0, 0)
    (total,) = compared(bench, "failover=[gemini, codex]")
    assert counts(total) == (0, 1, 0)
    assert (
        "unknown: 1 step after a step that differs, or not in the log"
        in bench.call("what-if", "--set", "failover=[gemini]").out
    )


def test_an_agent_that_was_left_out_then_is_left_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says that gemini could not be used: with it first, codex goes on as it did."""
    settings = {"failover": ["acp:gemini", "codex"]}
    bench.run(failover_plan(bench, None, settings, claude=LOGIN, codex=FINISHES))
    assert bench.events("agent_replaced")[0]["data"]["skipped"]
    (total,) = compared(bench, "failover=[codex]")
    assert counts(total) == (0, 0, 0)
    difference, _ = compared(bench, "failover=[acp:gemini]")
    assert difference["changed"]["kind"] == "question"


def test_none_was_left_and_so_it_is_judged(bench: Bench) -> None:
    """The last question of two agents that both failed is the same step again, and no difference."""
    settings = {"failover": ["codex", "acp:gemini"]}
    assert bench.run(failover_plan(bench, None, settings, claude=LOGIN, codex=LOGIN)).code == 3
    (total,) = compared(bench)
    assert counts(total) == (0, 0, 0)


def test_approaches_at_once_and_one_after_the_other(bench: Bench) -> None:
    """Three at once in the log, one in the change; equal numbers differ nowhere."""
    bench.run(parallel_plan(bench, "[ $me = two ] && { touch done.txt; exit 0; }; sleep 600"))
    for same in ((), ("pivot.parallel=3",)):
        (total,) = compared(bench, *same)
        assert counts(total) == (0, 0, 0)
    difference, _ = compared(bench, "parallel=1")
    assert difference["own"] == {"kind": "new approach", "about": f"{WAYS[0]} and 2 more at once"}
    assert difference["changed"] == {"kind": "new approach", "about": WAYS[0]}
    difference, _ = compared(bench, "parallel=2")
    assert difference["changed"]["about"] == f"{WAYS[0]} and 1 more at once"


def test_the_memory_of_that_time_is_no_difference(bench: Bench) -> None:
    """Another run takes approaches that the memory had put first: today's rules still say what the log says."""
    bench.run(parallel_plan(bench, "[ $me = two ] && { touch done.txt; exit 0; }; sleep 600"))
    handler = {"max_retries": 0, "max_pivots": 2, "max_research": 0}
    bench.run(parallel_plan(bench, "true", pivot={"parallel": 2}, failure_handler=handler))
    assert bench.events("directive_issued")[0]["data"]["approaches"][0] == "way two"
    (total,) = compared(bench)
    assert counts(total)[0] == 0
    assert counts(total)[2] == 0
