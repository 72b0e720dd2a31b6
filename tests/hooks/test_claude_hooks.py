"""Hooks of Claude Code, parsed and answered, on lines that it really sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstuck.agents.hooks.claude_hooks import observation, output, task_id
from unstuck.contract import Directive, Guidance
from unstuck.text import Clean

RECORDED = Path(__file__).parents[1] / "data" / "claude_hooks.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]


def recorded(event: str, tool: str | None = None) -> dict[str, Any]:
    return next(line for line in LINES if line["hook_event_name"] == event and tool in (None, line.get("tool_name")))


def directive(kind: Any, text: str = "") -> Directive:
    return Directive(kind=kind, text=Clean(text))


def test_a_command_is_seen_as_what_was_typed() -> None:
    """The row shows the command, with the call's id and the time it was seen."""
    seen = observation(recorded("PreToolUse", "Bash"), 7.5)
    assert seen is not None
    assert seen.kind == "action"
    assert seen.text == "echo hi"
    assert seen.tool == "bash"
    assert seen.at == 7.5
    assert seen.id == "toolu_8c85c193a8864e7ab459"
    assert seen.task_id == "claude-6439288a"
    assert seen.agent_id == ""


def test_another_tool_is_seen_with_its_input_however_it_is_ordered() -> None:
    """Two calls with the same input are the same step, whatever the order of the keys."""
    payload = recorded("PreToolUse", "WebFetch")
    turned = {**payload, "tool_input": dict(reversed(payload["tool_input"].items()))}
    first, second = observation(payload, 0.0), observation(turned, 0.0)
    assert first == second
    assert first is not None
    assert first.text == 'WebFetch {"prompt":"x","url":"http://127.0.0.1:1/x"}'
    assert first.agent_id == "a96f19cb22560fb8d"


def test_a_success_carries_what_was_printed() -> None:
    """The output of a command and the texts of a tool's answer are read, not their wrapping."""
    bash = observation(recorded("PostToolUse", "Bash"), 0.0)
    agent = observation(recorded("PostToolUse", "Agent"), 0.0)
    mcp = observation(recorded("PostToolUse", "mcp__supervisor__ask_human"), 0.0)
    assert bash is not None
    assert bash.kind == "success"
    assert bash.text == "hi"
    assert bash.exit_code == 0
    assert agent is not None
    assert agent.kind == "success"
    assert agent.text == "All done."
    assert agent.exit_code is None
    assert mcp is not None
    assert mcp.text == '{"result":"HUMAN-MCP-ANSWER: go left"}'


def test_a_failure_carries_exit_code_and_what_was_said() -> None:
    """The code is a number and the text is the command's own."""
    seen = observation(recorded("PostToolUseFailure"), 0.0)
    assert seen is not None
    assert seen.kind == "failure"
    assert seen.text == "oops"
    assert seen.exit_code == 3


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [("Exit code 137", "Exit code 137", 137), ("File does not exist.", "File does not exist.", None), ("", "", None)],
)
def test_a_failure_without_code_or_words_is_still_a_failure(error: str, text: str, code: int | None) -> None:
    """Nothing that failed goes missing because it was said in another way."""
    seen = observation({**recorded("PostToolUseFailure"), "error": error}, 0.0)
    assert seen is not None
    assert seen.kind == "failure"
    assert seen.text == text
    assert seen.exit_code == code


def test_an_interruption_by_the_person_is_no_failure() -> None:
    """Pressing escape does not count against the agent."""
    seen = observation({**recorded("PostToolUseFailure"), "is_interrupt": True}, 0.0)
    assert seen is not None
    assert seen.kind == "alive"


def test_messages_say_who_spoke() -> None:
    """The agent's words and the person's prompt are told apart."""
    agent, user = observation(recorded("MessageDisplay"), 0.0), observation(recorded("UserPromptSubmit"), 0.0)
    assert agent is not None
    assert user is not None
    assert agent.role == "agent"
    assert agent.text == "I will run the tests."
    assert user.role == "user"
    assert user.text == "do it"


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["hook_event_name"])
def test_every_recorded_line_is_understood_or_left_alone(line: dict[str, Any]) -> None:
    """No line that Claude Code sends breaks the reading, whatever is missing or of another type."""
    for key in line:
        for other in (None, 7, [], {}, "\x1b[2J\ud800"):
            seen = observation({**line, key: other}, 0.0)
            assert seen is None or "\x1b" not in seen.text + seen.tool + seen.id + seen.agent_id


def test_nothing_an_agent_prints_reaches_the_terminal_raw() -> None:
    """Escapes in a command or its output are gone before anything else sees them."""
    payload = {**recorded("PreToolUse", "Bash"), "tool_input": {"command": "printf '\x1b]52;c;aGk=\x07'"}}
    seen = observation(payload, 0.0)
    assert seen is not None
    assert seen.text == "printf ''"


def test_a_sub_agent_has_an_id_of_its_own_and_its_parents_task() -> None:
    """The sub-agent's steps are kept apart and belong to the same task."""
    parent, child = recorded("PreToolUse", "Bash"), recorded("PreToolUse", "WebFetch")
    seen = [observation(payload, 0.0) for payload in (parent, child)]
    assert [step and step.agent_id for step in seen] == ["", "a96f19cb22560fb8d"]
    assert task_id(parent) == task_id(child) == "claude-6439288a"
    assert task_id({"session_id": "../\x1b[2J"}) == "claude-2J"


EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"]
EVENTS += ["Stop", "SubagentStop", "SessionEnd", "Notification", "PermissionRequest", "MessageDisplay", "Elicitation"]


@pytest.mark.parametrize("event", EVENTS)
def test_going_on_and_the_end_are_silence(event: str) -> None:
    """Nothing is printed if there is nothing to say, and nothing is ever allowed in the user's name."""
    assert output(event, directive("go_on")) is None
    assert output(event, directive("end")) is None
    for kind in ("tell", "deny", "stop", "start"):
        assert '"allow"' not in json.dumps(output(event, directive(kind, "text")))


@pytest.mark.parametrize("event", EVENTS[:6])
def test_what_is_told_becomes_context_of_the_event(event: str) -> None:
    """A nudge reaches the model beside what it was doing, and no permission is decided with it."""
    said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "try another way"}}
    assert output(event, directive("tell", "try another way")) == said


@pytest.mark.parametrize("event", EVENTS[6:])
def test_events_that_carry_no_context_stay_silent(event: str) -> None:
    """A field that an event does not know is not sent there."""
    assert output(event, directive("tell", "try another way")) is None


def test_a_denied_call_carries_the_reason() -> None:
    """The model reads why its call did not run."""
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "held: waiting for an answer"}
    said = output("PreToolUse", directive("deny", "held: waiting for an answer"))
    assert said == {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def test_stop_is_said_in_the_one_way_that_works_at_each_event() -> None:
    """Before a call the call is denied, after one or a batch the run ends, after a failure the reason is told."""
    stop = directive("stop", "abandoned")
    for event in ("PostToolUse", "PostToolBatch"):
        assert output(event, stop) == {"continue": False, "stopReason": "abandoned"}
    before, failed = output("PreToolUse", stop), output("PostToolUseFailure", stop)
    assert before is not None
    assert before["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert failed is not None
    assert failed["hookSpecificOutput"]["additionalContext"] == "abandoned"


def test_a_new_attempt_keeps_the_agent_from_stopping() -> None:
    """At the agent's stop the guidance of the next attempt is why it goes on."""
    guidance = Guidance(attempt="a2", number=2, level="retry", text=Clean("run the tests"), workdir=Path("/repo"))
    start = Directive(kind="start", guidance=guidance)
    assert output("Stop", start) == {"decision": "block", "reason": "run the tests"}
