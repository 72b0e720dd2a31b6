"""Two real agents on one task: the first one's quota is used up for three days, and the second one finishes."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from tests.real_agents.conftest import Labs
from tests.real_agents.scripted_model import Asked, Turn

pytestmark = pytest.mark.agents

TASK = "Write the greeting that everybody waits for."
CHECK = "grep hello greeting.txt"


def test_the_other_agent_finishes_and_no_call_is_made_twice(lab: Labs) -> None:
    """Claude Code makes one call and is refused with 429; Codex hears what was done, and does the rest."""
    resets = datetime.now(UTC) + timedelta(days=3)
    spent = f"usage limit reached, resets {resets:%b} {resets.day}, {resets:%I%p} (UTC)"

    def reads(asked: Asked) -> Turn:
        if asked.answered:
            return Turn(spent=spent)
        return Turn(text="I look.", command="echo read >> calls.txt")

    def writes(asked: Asked) -> Turn:
        if asked.answered:
            return Turn(text="The greeting is there.")
        return Turn(text="I go on.", command="echo wrote >> calls.txt; echo hello > greeting.txt")

    one, other = lab("claude", reads), lab("codex", writes)
    path = f"{one.environ['PATH']}{os.pathsep}{other.environ['PATH']}"
    one.environ = {**other.environ, **one.environ, "PATH": path, "UNSTUCK_FAILOVER": '["codex"]'}
    arguments = ("--", *one.program.arguments)
    one.unstuck("run", "--headless", "--verify", CHECK, "--agent", "claude", TASK, *arguments)

    assert (one.repo / "calls.txt").read_text() == "read\nwrote\n"
    (event,) = one.events("agent_replaced")
    assert (event["data"]["before"], event["data"]["agent"], event["data"]["reason"]) == ("claude", "codex", "outage")
    assert not one.events("outage_wait")
    assert not one.events("transient_error_retry")
    told = next(asked for asked in other.model.asked if TASK in asked.last)
    assert "Another agent (claude) worked on this before you" in told.text
    assert "added calls.txt" in told.text
    assert [record["data"]["status"] for record in one.events("task_ended")] == ["succeeded"]
    assert '"agent": "codex"' in one.unstuck("truth", "--json")
