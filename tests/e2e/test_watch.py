"""``unstuck watch``: a session in another terminal is seen through its hooks, held, answered, and left alone again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from typing import Any

from tests.e2e.conftest import Unstuck

SESSION = "0a1b2c3d-1111-2222-3333-444455556666"
FAILURE = "Exit code 1\nE   AssertionError: assert 1 == 2\ntests/test_a.py:3: AssertionError"


def hook(unstuck: Unstuck, event: str, **fields: Any) -> dict[str, Any]:
    """Return the reply to the agent's hook: a call of the installed forwarder, as the agent makes it."""
    program = shutil.which("unstuck-hook")
    assert program
    payload = {"session_id": SESSION, "cwd": str(unstuck.root), "hook_event_name": event, **fields}
    done = subprocess.run(
        [program, "claude"], input=json.dumps(payload), text=True, capture_output=True, timeout=60, check=True
    )
    return dict(json.loads(done.stdout)) if done.stdout else {}


def test_a_session_elsewhere_is_held_and_answered(unstuck: Unstuck) -> None:
    """The third failure of one command holds the next call; an answer from another terminal is in its reply."""
    watching = unstuck.start("watch", "--headless", "--verify", "true", env={"PYTHONUNBUFFERED": "1"})
    assert watching.stdout is not None
    lines = iter(watching.stdout.readline, b"")
    assert any(b"watching" in line for line in lines)
    hook(unstuck, "UserPromptSubmit", prompt="Make the tests pass.")
    for number in range(3):
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": f"t{number}"}
        assert hook(unstuck, "PreToolUse", **call) == {}
        hook(unstuck, "PostToolUseFailure", **call, error=FAILURE)
    asked = next(line for line in lines if b"? loop_detected" in line).decode()
    gate = asked.split("loop_detected ")[1].split(":")[0]
    assert unstuck.inside("answer", gate, "retry", "use the raw body").code == 0
    call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": "t3"}
    reply = hook(unstuck, "PreToolUse", **call)["hookSpecificOutput"]
    assert reply["permissionDecision"] == "deny"
    assert "use the raw body" in reply["permissionDecisionReason"]
    hook(unstuck, "Stop", stop_hook_active=False)
    assert any(b"succeeded" in line for line in lines)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 130
    assert hook(unstuck, "PreToolUse", **call) == {}


def test_a_question_that_outlives_its_watch_is_not_answered_into_the_void(unstuck: Unstuck) -> None:
    """Once the watch has ended nobody promises that it goes on: neither its last lines nor `unstuck answer`."""
    watching = unstuck.start("watch", "--headless", env={"PYTHONUNBUFFERED": "1"})
    assert watching.stdout is not None
    lines = iter(watching.stdout.readline, b"")
    assert any(b"watching" in line for line in lines)
    hook(unstuck, "UserPromptSubmit", prompt="Make the tests pass.")
    for number in range(3):
        call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": f"t{number}"}
        hook(unstuck, "PreToolUse", **call)
        hook(unstuck, "PostToolUseFailure", **call, error=FAILURE)
    asked = next(line for line in lines if b"? loop_detected" in line).decode()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 130
    assert b"--resume" not in b"".join(lines)
    gate = asked.split("loop_detected ")[1].split(":")[0]
    late = unstuck.inside("answer", gate, "retry", "use the raw body")
    assert late.code == 2
    assert "has ended" in late.errors
    assert len(late.errors.splitlines()) == 1


def test_a_watch_keeps_to_its_budget(unstuck: Unstuck) -> None:
    """``--budget`` of a watch asks once it is used up, and *stop* ends the watch with 5."""
    watching = unstuck.start("watch", "--headless", "--budget", "time=0", env={"PYTHONUNBUFFERED": "1"})
    asked = unstuck.until(watching, b"watching").decode()
    gate = asked.split("? budget ")[1].split(":")[0]
    assert unstuck.inside("answer", gate, "stop").code == 0
    assert watching.wait(60) == 5
    assert unstuck.inside("watch", "--headless", "--budget", "pages=3").code == 2


def test_a_second_watch_follows_the_first(unstuck: Unstuck) -> None:
    """One project is watched over once: another watch prints what the first records, and ends when and as it does."""
    watching = unstuck.start("watch", "--headless", env={"PYTHONUNBUFFERED": "1"})
    assert watching.stdout is not None
    assert any(b"watching" in line for line in iter(watching.stdout.readline, b""))
    second = unstuck.start("watch", "--headless", env={"PYTHONUNBUFFERED": "1"})
    assert second.stdout is not None
    first_line = second.stdout.readline()
    assert first_line
    os.kill(watching.pid, signal.SIGTERM)
    assert watching.wait(60) == second.wait(60) == 130
