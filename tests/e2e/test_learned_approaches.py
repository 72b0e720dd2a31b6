"""Approaches by what worked: ``unstuck memory approaches`` says why one comes first, and a run takes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck

from unstuck.eventlog.memory.entry import learnt
from unstuck.eventlog.memory.store import Memory

PIVOTS = {f"UNSTUCK_FAILURE_HANDLER__MAX_{name}": "0" for name in ("RETRIES", "RESEARCH")}
ONCE, OFTEN, NEVER = "trace the input", "tabulate all cases", "mock it"


@pytest.fixture
def failure(unstuck: Unstuck, failing: str) -> str:
    """The signature of a failure against which one approach worked once, one four times of five, one never."""
    agent = unstuck.script("agent.sh", "true")
    unstuck.inside("run", "--headless", "--check", failing, "--", "sh", agent, env={**PIVOTS, **no_pivots()})
    (found,) = unstuck.inside("signatures", "--json").rows
    memory = Memory(unstuck.root / ".git" / "unstuck" / "memory.jsonl")
    when = datetime.now(UTC).isoformat(timespec="seconds")

    def remember(approach: str, outcome: Any, run: str, signature: str) -> None:
        about = {"signature": signature, "note": str(found["headline"]), "cause": "test_assertion", "task": "t"}
        memory.remember(learnt("approach", approach=approach, outcome=outcome, run=run, when=when, **about))

    for number in range(5):
        remember(OFTEN, "failed" if number == 0 else "worked", f"r{number}", f"other{number}")
    remember(NEVER, "failed", "r8", found["signature"])
    remember(ONCE, "worked", "r9", found["signature"])
    return str(found["signature"])


def no_pivots() -> dict[str, str]:
    return {"UNSTUCK_FAILURE_HANDLER__MAX_PIVOTS": "0"}


def pivots(unstuck: Unstuck, check: str, **env: str) -> list[dict[str, Any]]:
    agent = str(unstuck.seen.parent / "agent.sh")
    env = {**PIVOTS, "UNSTUCK_FAILURE_HANDLER__MAX_PIVOTS": "2", **env}
    done = unstuck.inside("run", "--headless", "--json", "--check", check, "--", "sh", agent, env=env)
    return [one for one in done.data("directive_issued") if one["level"] == "pivot"]


def test_the_list_says_why(unstuck: Unstuck, failure: str) -> None:
    """By confidence the approach against this very failure comes first; by what worked the one with four of five."""
    rows = unstuck.inside("memory", "approaches", failure[:8], "--json").rows
    assert [row["place"] for row in rows] == [*range(1, len(rows)), None]
    assert (rows[0]["approach"], rows[0]["order"], rows[0]["score"]) == (ONCE, "confidence", 0.8)
    assert rows[-1]["approach"] == NEVER
    env = {"UNSTUCK_MEMORY__ORDER": "learned"}
    learned = unstuck.inside("memory", "approaches", "--json", env=env).rows
    assert [row["approach"] for row in learned[:2]] == [OFTEN, ONCE]
    assert (learned[0]["worked"], learned[0]["tried"], learned[0]["order"]) == (4, 5, "learned")
    assert {row["approach"] for row in learned} == {row["approach"] for row in rows}
    first, *_, last = unstuck.inside("memory", "approaches", env=env).out.splitlines()[2:]
    assert first.startswith(f"1  {OFTEN}")
    assert first.endswith("worked 4 of 5 against similar failures")
    assert last.startswith(f"-  {NEVER}")
    assert last.endswith("failed against this failure: not taken again")


def test_a_run_takes_them_in_this_order(unstuck: Unstuck, failure: str, failing: str) -> None:
    """The default stays as it was; ``learned`` takes the approach that worked most, and says so in the event."""
    assert pivots(unstuck, failing)[0]["approach"] == ONCE
    unstuck.inside("memory", "forget", *[row["memory"] for row in unstuck.inside("memory", "list", "--json").rows][-3:])
    first = pivots(unstuck, failing, UNSTUCK_MEMORY__ORDER="learned")[0]
    assert first["approach"] == OFTEN
    assert first["reason"] == "from memory, worked 4 of 5"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("approaches", "zz"), "no approach is remembered for zz yet"),
        (("approaches", "other"), "other could be any of: other0, other1"),
    ],
)
def test_an_unknown_failure_is_refused(unstuck: Unstuck, failure: str, words: tuple[str, ...], said: str) -> None:
    """One line, and exit code 2."""
    done = unstuck.inside("memory", *words)
    assert done.code == 2
    assert said in done.errors


def test_a_wrong_order_is_refused(unstuck: Unstuck) -> None:
    """The line names the setting and what it may be."""
    done = unstuck.inside("config", "show", env={"UNSTUCK_MEMORY__ORDER": "best"})
    assert done.code == 2
    assert "memory.order: must be 'confidence' or 'learned', not 'best'" in done.errors
