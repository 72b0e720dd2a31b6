"""Hooks of other agents, on recorded lines, and the reply to each in its own format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from unstuck.agents.hooks.claude_hooks import observation, output
from unstuck.agents.hooks.dialects import DIALECTS
from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck.agents.hooks.transcripts import exit_code
from unstuck.contract import Directive, Observation
from unstuck.text import Clean

RECORDED = Path(__file__).parents[1] / "data" / "hooks"
FAILING = "echo oops >&2; exit 3"


def lines(agent: str) -> list[dict[str, Any]]:
    """One recorded session: a command that works, one that fails, the end."""
    return [json.loads(line) for line in (RECORDED / f"{agent}.jsonl").read_text("utf-8").splitlines()]


async def heard(agent: str) -> list[dict[str, Any]]:
    """The session in Claude Code's terms, with what the bridge looks up for Codex."""
    found = []
    for line in lines(agent):
        code = await exit_code(str(RECORDED / "codex_transcript.jsonl"), line.get("tool_use_id", ""))
        found.append(DIALECTS[agent].decode({**line, "exit_code": code} if agent == "codex" else line))
    return [payload for payload in found if payload is not None]


@pytest.mark.parametrize("agent", ["codex", "gemini", "qwen"])
async def test_a_recorded_session_is_understood(agent: str) -> None:
    """The person's words, both commands, the failure with its exit code and what it said, the stop with the last words;
    a call and its result belong together."""
    seen: list[Observation] = [one for payload in await heard(agent) if (one := observation(payload, 0.0))]
    assert [(one.kind, one.tool, one.text.strip(), one.exit_code) for one in seen] == [
        ("message", "message", "do it", None),
        ("action", "bash", "echo hi", None),
        ("success", "bash", "hi", 0),
        ("action", "bash", FAILING, None),
        ("failure", "bash", "oops", 3),
    ]
    calls = [one.id for one in seen if one.kind == "action"]
    assert all(calls)
    assert calls[0] != calls[1]
    (stop,) = [payload for payload in await heard(agent) if payload["hook_event_name"] == "Stop"]
    assert stop["last_assistant_message"].endswith("All done.")


def test_a_newer_qwen_has_an_event_for_a_failed_command() -> None:
    """Of its text the output alone is read, with the exit code."""
    said = f"Command: {FAILING}\nDirectory: (root)\nOutput: oops\nError: (none)\nExit Code: 3\nSignal: (none)\n"
    call = {"tool_name": "run_shell_command", "tool_use_id": "1", "tool_input": {"command": FAILING}}
    decoded = DIALECTS["qwen"].decode({"hook_event_name": "PostToolUseFailure", **call, "error": said})
    assert decoded is not None
    seen = observation(decoded, 0.0)
    assert seen is not None
    assert (seen.kind, seen.tool, seen.text, seen.exit_code) == ("failure", "bash", "oops", 3)


def test_every_agent_with_hooks_has_its_dialect() -> None:
    """Each agent that can be installed is understood, and the events asked for are those that are read."""
    assert set(DIALECTS) == set(KNOWN)
    for name, agent in KNOWN.items():
        assert all(DIALECTS[name].decode({"hook_event_name": event, "prompt": "x"}) for event in agent.events)


def told(agent: str, event: str, kind: Any) -> dict[str, Any]:
    """Return what the agent prints for a directive at its own event."""
    payload = next(line for line in lines(agent) if line["hook_event_name"] == event)
    own = DIALECTS[agent].decode(payload)
    assert own is not None
    said = output(own["hook_event_name"], Directive(kind=kind, text=Clean("WORDS")), stopping=DIALECTS[agent].stopping)
    assert said is not None
    return DIALECTS[agent].encode(event, said)


def context(event: str) -> dict[str, Any]:
    """Additional context for the model."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "WORDS"}}


def denied(event: str) -> dict[str, Any]:
    """A refused call."""
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "WORDS"}
    return {"hookSpecificOutput": {"hookEventName": event, **decision}}


GO_ON = {"decision": "block", "reason": "WORDS"}
STOP = {"continue": False, "stopReason": "WORDS"}


@pytest.mark.parametrize(
    ("agent", "event", "kind", "printed"),
    [
        ("codex", "UserPromptSubmit", "tell", context("UserPromptSubmit")),
        ("codex", "PreToolUse", "deny", denied("PreToolUse")),
        ("codex", "PreToolUse", "stop", denied("PreToolUse")),
        ("codex", "PostToolUse", "tell", context("PostToolUse")),
        ("codex", "PostToolUse", "stop", context("PostToolUse")),
        ("codex", "Stop", "start", GO_ON),
        ("gemini", "BeforeAgent", "tell", context("BeforeAgent")),
        ("gemini", "BeforeTool", "deny", {"decision": "deny", "reason": "WORDS"}),
        ("gemini", "BeforeTool", "stop", STOP),
        ("gemini", "AfterTool", "tell", context("AfterTool")),
        ("gemini", "AfterTool", "stop", STOP),
        ("gemini", "AfterAgent", "start", GO_ON),
        ("qwen", "UserPromptSubmit", "tell", context("UserPromptSubmit")),
        ("qwen", "PreToolUse", "deny", denied("PreToolUse")),
        ("qwen", "PostToolUse", "stop", context("PostToolUse")),
        ("qwen", "Stop", "start", GO_ON),
    ],
)
def test_each_is_told_in_its_own_words(agent: str, event: str, kind: str, printed: dict[str, Any]) -> None:
    """As the real programs were seen to obey it."""
    assert told(agent, event, kind) == printed


def test_a_failure_is_answered_under_its_own_event() -> None:
    """Codex would drop an answer to an event that it does not know."""
    said = {"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "WORDS"}}
    assert DIALECTS["codex"].encode("PostToolUse", said) == context("PostToolUse")


def test_gemini_calls_are_told_apart_by_their_time() -> None:
    """It has no ids: the same call sent twice is one, the same command again is another."""
    call = next(line for line in lines("gemini") if line["hook_event_name"] == "BeforeTool")
    hear = DIALECTS["gemini"].decode
    later = {**call, "timestamp": "2026-11-22T08:00:00.000Z"}
    ids = [(hear(one) or {})["tool_use_id"] for one in (call, call, later)]
    assert ids[0] == ids[1] != ids[2]


def test_a_tool_that_says_it_failed() -> None:
    """Without an exit code, too."""
    call = {"hook_event_name": "AfterTool", "tool_name": "read_file", "tool_input": {"file_path": "x"}}
    payload = DIALECTS["gemini"].decode({**call, "tool_response": {"error": {"message": "no such file"}}})
    assert payload is not None
    assert payload["hook_event_name"] == "PostToolUseFailure"
    assert payload["error"] == "no such file"


@pytest.mark.parametrize(
    "response", [None, 7, [], {"llmContent": 7}, {"llmContent": [{"text": "x"}]}, {"error": []}, "Exit Code: 999999"]
)
@pytest.mark.parametrize("agent", list(DIALECTS))
def test_odd_answers_of_tools_do_no_harm(agent: str, response: Any) -> None:
    """Another version's, or a tool's own: seen as a success or a failure, never as an error of ours."""
    event = "AfterTool" if agent == "gemini" else "PostToolUse"
    payload = {"hook_event_name": event, "tool_name": "x", "tool_response": response, "session_id": "s"}
    own = DIALECTS[agent].decode(payload)
    assert own is not None
    assert observation(own, 0.0) is not None


async def test_the_transcript_of_codex(tmp_path: Path) -> None:
    """The exit code of exactly that call, also where much was printed since; none where it cannot be known."""
    recorded = (RECORDED / "codex_transcript.jsonl").read_text("utf-8")
    path = tmp_path / "rollout.jsonl"
    path.write_text('{"payload": 1}\n' + recorded + '{"half": "a li')
    assert await exit_code(str(path), "call_00000002") == 0
    assert await exit_code(str(path), "call_00000006") == 3
    assert await exit_code("/a\0b", "call_00000006") is None
    for call in ("call_0000000", "", "call_9", "\ud800"):
        assert await exit_code(str(path), call) is None
    assert await exit_code("rollout.jsonl", "call_00000006") is None
    assert await exit_code(str(tmp_path / "none"), "call_00000006") is None
    os.mkfifo(tmp_path / "pipe")
    assert await exit_code(str(tmp_path / "pipe"), "call_00000006") is None
    with open(path, "a") as file:
        file.write("x" * 2**21 + "\n")
    assert await exit_code(str(path), "call_00000006") is None
    with open(path, "a") as file:
        file.write(recorded)
    assert await exit_code(str(path), "call_00000006") == 3


@pytest.mark.parametrize("agent", list(KNOWN))
@pytest.mark.parametrize("name", [["run_shell_command"], {}, None, 7])
def test_a_tool_without_a_proper_name_is_still_seen(agent: str, name: Any) -> None:
    """A call of another version is a step all the same, and the agent goes on."""
    event = "BeforeTool" if agent == "gemini" else "PreToolUse"
    payload = DIALECTS[agent].decode({"hook_event_name": event, "tool_name": name, "tool_input": {"command": "make"}})
    assert payload is not None
    seen = observation(payload, 0.0)
    assert seen is not None
    assert seen.kind == "action"
