"""The way in which an answer came in, as the event log and ``unstuck show`` say it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck

from unstuck.channel import call, socket_path
from unstuck.settings.paths import runtime_dir

STUCK = "failure_handler: {skip_to_ask: [AssertionError]}\n"
CHECK = "echo 'AssertionError: 1 == 2'; exit 1"
RUN = ("run", "--headless", "--task", "x", "--verify", CHECK)
PLAN = """
agents:
  slow: {command: [sleep, "600"]}
  quick: {command: ["true"]}
max_parallel: 2
tasks:
  - {id: slow, prompt: p, verify: "true", agent: slow}
  - {id: x, prompt: p, verify: "echo 'AssertionError: 1 == 2'; exit 1", agent: quick}
"""


def asked(unstuck: Unstuck) -> dict[str, Any]:
    """The one question of the last run."""
    rows = unstuck("show", "--json").rows
    (moment,) = [one for row in rows for one in row.get("timeline", ()) if one["kind"] == "question"]
    return moment


def test_an_answer_while_no_run_is_live(unstuck: Unstuck) -> None:
    """``unstuck answer`` writes it into the log, and that is what is shown."""
    (unstuck.root / "unstuck.yaml").write_text(STUCK)
    assert unstuck(*RUN, "--", "true").code == 3
    assert unstuck("answer", unstuck.only_gate()["gate"], "skip").code == 0
    assert (asked(unstuck)["by"], asked(unstuck)["via"]) == ("human", "file")
    assert "skip, by a person with `unstuck answer`, while no run was live" in unstuck("show").out


def test_an_answer_by_rule(unstuck: Unstuck) -> None:
    """A rule of the answers file is named as such."""
    (unstuck.root / "unstuck.yaml").write_text(STUCK)
    rules = unstuck.seen.parent / "answers.yaml"
    rules.write_text("- {gate: stuck, answer: skip}\n")
    unstuck(*RUN, "--answers", str(rules), "--", "true")
    assert (asked(unstuck)["by"], asked(unstuck)["via"]) == ("policy", "rule")


def test_an_answer_by_option(unstuck: Unstuck) -> None:
    """`--recover` of a resumed run answers the question about an attempt that was cut off."""
    unstuck.environment["UNSTUCK_RECOVERY"] = "ask"
    run = unstuck.start("run", "--headless", "--json", "--verify", "true", "--", "sleep", "600")
    unstuck.until(run, b"agent_spawned")
    run.kill()
    run.wait(60)
    assert unstuck("run", "--resume", "last", "--headless").code == 3
    unstuck("run", "--resume", "last", "--headless", "--recover", "task=skip")
    assert (asked(unstuck)["by"], asked(unstuck)["via"]) == ("human", "option")


@pytest.mark.parametrize(("claimed", "via"), [("", "socket"), ("command", "command"), ("the king", "socket")])
def test_an_answer_to_a_live_run(unstuck: Unstuck, claimed: str, via: str) -> None:
    """A program at the socket is one, unless it says that it is the command."""
    (unstuck.root / "unstuck.yaml").write_text(STUCK)
    (unstuck.root / "plan.yaml").write_text(PLAN)
    run = unstuck.start("run", "plan.yaml", "--headless", "--json")
    unstuck.until(run, b"gate_opened")
    gate = unstuck.only_gate()["gate"]
    if claimed == "command":
        assert unstuck("answer", gate, "skip").code == 0
    else:
        message = {"do": "answer", "gate": gate, "choice": "skip", "via": claimed}
        path = socket_path(runtime_dir(os.environ), unstuck.root / ".git" / "unstuck")
        assert call(path, message, timeout=30.0)["ok"]
    assert (asked(unstuck)["by"], asked(unstuck)["via"]) == ("human", via)
