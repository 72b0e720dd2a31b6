"""Five runs with similar failures against which one approach works: the learned order changes, says why, and decays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.conftest import Unstuck

from unstuck.eventlog.memory.store import Memory

SETTINGS = {
    "UNSTUCK_MEMORY__ORDER": "learned",
    "UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "0",
    "UNSTUCK_FAILURE_HANDLER__MAX_PIVOTS": "3",
}
AGENT = 'grep -q "Approach: $GOOD" "$UNSTUCK_PROMPT_FILE" && touch done; true'
DERIVE = "derive the expected value by hand, then correct the algorithm"
REPLACE = "replace the failing function by a simpler implementation"


def approaches_of(unstuck: Unstuck, number: int, good: str) -> list[dict[str, Any]]:
    """The new approaches of a run whose failure is like the others, and against which only ``good`` works."""
    (unstuck.root / "done").unlink(missing_ok=True)
    check = unstuck.script(
        f"check{number}.sh", f"test -f done || {{ echo 'AssertionError: total of cart {number} is wrong'; exit 1; }}"
    )
    agent = unstuck.script("agent.sh", AGENT)
    env = SETTINGS | {"GOOD": good}
    done = unstuck.inside("run", "--headless", "--json", "--check", f"sh {check}", "--", "sh", agent, env=env)
    assert done.code == 0, done.errors
    return [one for one in done.data("directive_issued") if one["level"] == "pivot"]


def ranked(unstuck: Unstuck, **env: str) -> list[tuple[str, int, int]]:
    rows = unstuck.inside("memory", "approaches", "--json", env=SETTINGS | env).rows
    return [(row["approach"], row["worked"], row["tried"]) for row in rows]


def test_the_order_changes_says_why_and_decays(unstuck: Unstuck) -> None:
    """First what is built in is taken; then the one that works, until its successes are a year old."""
    taken = [approaches_of(unstuck, 1, DERIVE), *(approaches_of(unstuck, number, REPLACE) for number in range(2, 6))]
    assert [[one["approach"] for one in run] for run in taken] == [
        [DERIVE], [DERIVE, REPLACE], [REPLACE], [REPLACE], [REPLACE],
    ]  # fmt: skip
    told = [run[0]["reason"].partition(", ")[2] for run in taken]
    assert told == ["", "worked 1 of 1", "worked 1 of 1", "worked 2 of 2", "worked 3 of 3"]
    assert ranked(unstuck)[:2] == [(REPLACE, 4, 4), (DERIVE, 1, 2)]
    memory = Memory(unstuck.root / ".git" / "unstuck" / "memory.jsonl")
    memory.load()
    old = datetime.now(UTC) - timedelta(days=360)
    worked = [entry for entry in memory.entries("approach") if entry.approach == REPLACE]
    memory.forget([entry.id for entry in worked])
    for entry in reversed(worked):
        memory.remember(replace(entry, when=type(entry.when)(old.isoformat(timespec="seconds"))))
    assert [one["approach"] for one in approaches_of(unstuck, 6, DERIVE)] == [REPLACE, DERIVE]
    assert [one["approach"] for one in approaches_of(unstuck, 7, DERIVE)] == [DERIVE]  # else 4 of 5 would come first
