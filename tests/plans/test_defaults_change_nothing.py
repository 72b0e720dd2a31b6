"""A run whose settings ask for no failover, approaches at once or learned order has the same events as before."""

from __future__ import annotations

from typing import Any

import pytest
from tests.plans.conftest import Bench

CHECK = "test -f done.txt || { echo 'AssertionError: not done'; exit 1; }"
LEVELS = {"max_retries": 1, "max_pivots": 2, "max_research": 1}
DEFAULTS: dict[str, Any] = {
    "failover": [],
    "failover_files": "keep",
    "pivot": {"parallel": 1},
    "memory": {"order": "confidence"},
}
NEW = ("agent_replaced", "approach_ended", "files_collide")


def told(bench: Bench, settings: dict[str, Any], check: str = CHECK) -> list[tuple[Any, ...]]:
    """The events of a run to its question, without what differs from run to run."""
    (bench.root / "done.txt").unlink(missing_ok=True)
    (bench.root / ".git" / "unstuck" / "memory.jsonl").unlink(missing_ok=True)
    agents = {"worker": bench.agent("worker", "echo $n >> tried.txt")}
    tasks = [{"id": "web", "prompt": "Build it.", "check": check, "agent": "worker", "isolation": "worktree"}]
    done = bench.run(bench.plan(agents=agents, tasks=tasks, settings={"failure_handler": LEVELS} | settings))
    assert done.code == 3, done.out + done.err
    kept = ("level", "approach", "reason", "hint", "result", "how", "type", "choices", "approaches", "limit")
    return [
        (event["event"], event["task"], *((name, repr(event["data"][name])) for name in kept if name in event["data"]))
        for event in bench.events()
        if event["event"] != "notification_sent"
    ]


def test_the_events_are_the_same(bench: Bench) -> None:
    """Without the settings and with their defaults written down: the same events, and none of the new ones."""
    unset = told(bench, {})
    assert told(bench, DEFAULTS) == unset
    assert not {event[0] for event in unset} & set(NEW)
    levels = [dict(event[2:])["level"] for event in unset if event[0] == "directive_issued"]
    assert levels == ["'retry'", "'pivot'", "'pivot'", "'research'", "'human'"]
    assert all(dict(event[2:]).get("approaches", "()") in ("()", "[]") for event in unset)
    assert not any("worked " in str(event) for event in unset)


@pytest.mark.parametrize(
    ("common", "own", "left"),
    [
        ([], None, []),
        (["codex"], None, ["codex"]),
        (["codex"], [], []),
        ([], ["codex"], ["codex"]),
        (["codex"], ["worker"], []),
        (["codex", "gemini"], ["gemini"], ["gemini"]),
    ],
)
def test_the_list_of_a_task_replaces_the_setting(
    bench: Bench, common: list[str], own: list[str] | None, left: list[str]
) -> None:
    """Nothing at the task: the setting; a list, also an empty one: that alone, without the task's own agent."""
    task: dict[str, Any] = {"id": "web", "prompt": "Build it.", "check": CHECK, "agent": "worker"}
    task |= {"failover": own} if own is not None else {}
    agents = {"worker": bench.agent("worker", "touch done.txt")}
    done = bench.run(bench.plan(agents=agents, tasks=[task], settings={"failover": common}))
    assert done.code == 0, done.out + done.err
    (added,) = bench.events("task_added")
    assert list(added["data"].get("failover", ())) == left
