"""`unstuck recap`: what happened in real runs, told in at most ten lines."""

from __future__ import annotations

import json
import re

from tests.e2e.conftest import Unstuck

AGENT = 'echo \'{"step": "usage", "tokens": 1200, "cost": 0.25}\'; echo ok > $UNSTUCK_TASK.txt; echo Done.'


def test_there_is_no_run_yet(unstuck: Unstuck) -> None:
    """An empty project says so in one line."""
    done = unstuck.inside("recap")
    assert done.code == 2
    assert "there is no run in this project yet" in done.errors


def test_a_plan_that_is_done(unstuck: Unstuck) -> None:
    """Each line says which check passed and what it cost, with the numbers of its events."""
    tasks = [{"id": name, "agent": "a", "prompt": "Work", "verify": f"cat {name}.txt"} for name in ("one", "two")]
    plan = {"agents": {"a": {"command": ["sh", "-c", AGENT.replace("echo '{", "echo 'UNSTUCK {")]}}, "tasks": tasks}
    (unstuck.root / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    assert unstuck.inside("run", "--headless", "plan.yaml").code == 0
    lines = unstuck.inside("recap").out.splitlines()
    assert re.fullmatch(r"run [\d-]+: every task succeeded \(#\d+\)", lines[0])
    passed = {line.partition(" (#")[0] for line in lines[1:3]}
    assert passed == {"passed: one by cat one.txt", "passed: two by cat two.txt"}
    assert lines[3].startswith("used: 2 attempts, ")
    assert len(lines) == 4
    rows = unstuck.inside("recap", "last", "--json").rows
    assert [row["kind"] for row in rows] == ["run", "passed", "passed", "used"]
    known = {row["seq"]: row["event"] for row in unstuck.inside("events", "--json").rows}
    assert {known[seq] for seq in rows[1]["events"]} == {"check_finished"}


def test_what_needs_a_person(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """The open question comes first, with the command that answers it; what was decided names its actor."""
    unstuck.inside("run", "--headless", "--verify", "echo 'AssertionError: no'; exit 1", "--", "true", env=no_climb)
    gate = unstuck.only_gate()["gate"]
    first, second, *others = unstuck.inside("recap").out.splitlines()
    assert first.startswith("needs you first: task: stuck after 1 retry: ")
    assert f"unstuck answer {gate} (#" in first
    assert "paused: needs your answer" in second
    assert any(line.startswith("decided without you by policy: 1× retry (task) (#") for line in others)


def test_since_a_moment(unstuck: Unstuck) -> None:
    """Before it nothing is told; a moment that is none is refused with an example."""
    unstuck.inside("run", "--headless", "--verify", "true", "--", "true")
    assert "passed: task by true" in unstuck.inside("recap", "--since", "1h").out
    (line,) = unstuck.inside("recap", "--since", "2099-01-01").out.splitlines()
    assert "nothing has happened since then" in line
    done = unstuck.inside("recap", "--since", "soon")
    assert done.code == 2
    assert "10m (ago)" in done.errors


def test_a_damaged_log_is_told_up_to_its_damage(unstuck: Unstuck) -> None:
    """The readable part is shown, and the exit code says that it is not all."""
    unstuck.inside("run", "--headless", "--verify", "true", "--", "true")
    log = unstuck.runs[-1] / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]) + b"nonsense\n" + b"".join(lines[4:]))
    done = unstuck.inside("recap")
    assert done.code == 6
    assert done.out.startswith("run ")


def test_a_run_that_was_given_up_says_which_task_and_why(unstuck: Unstuck, no_climb: dict[str, str]) -> None:
    """Nobody may be asked, so the run halts: the task, the reason, and the events behind it."""
    check = "echo 'AssertionError: no'; exit 1"
    done = unstuck.inside("run", "--headless", "--ask", "never", "--verify", check, "--", "true", env=no_climb)
    assert done.code == 4
    (line,) = [line for line in unstuck.inside("recap").out.splitlines() if line.startswith("failed: ")]
    assert line.startswith("failed: task: ")
    assert "AssertionError: no" in line
    number = int(line.rpartition("(#")[2].split()[0].rstrip(")"))
    known = {row["seq"]: row["event"] for row in unstuck.inside("events", "--json").rows}
    assert known[number] in ("workflow_failed", "task_ended")
