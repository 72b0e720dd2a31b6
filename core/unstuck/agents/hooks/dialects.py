"""What other agents' hooks say, in Claude Code's terms, and what they understand in the place of its. Pure.

All of them took over its shape. What differs: Codex and Qwen Code call a failing command a success, Gemini CLI has its
own names and no ids of calls, and what makes an agent go on at its stop comes back from Gemini CLI and Qwen Code as if
a person had said it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from unstuck.agents.hooks.claude_hooks import CONTEXT_EVENTS, STOPPING_EVENTS

__all__ = ["DIALECTS", "Dialect", "Payload"]

Payload = Mapping[str, Any]

_EXIT_CODE = re.compile(r"^Exit Code: (\d{1,3})$", re.MULTILINE)
_GEMINI_EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
_SHELLS = frozenset({"run_shell_command"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One agent's way. ``heard`` translates what it says (None: nothing of interest), ``spoken`` what it is told.

    ``stopping`` are the events, in Claude Code's names, at which it can be made to stop, ``telling`` those at which its
    model can be told something; with ``echoes`` what sends it on at its stop comes back as a prompt.
    """

    name: str
    title: str
    heard: Callable[[Payload], dict[str, Any] | None]
    spoken: Callable[[str, dict[str, Any]], dict[str, Any]]
    stopping: frozenset[str]
    telling: frozenset[str] = CONTEXT_EVENTS
    echoes: bool = False


def _as_it_is(payload: Payload) -> dict[str, Any] | None:
    return dict(payload)


def _unchanged(event: str, output: dict[str, Any]) -> dict[str, Any]:
    return output


def _codex(payload: Payload) -> dict[str, Any] | None:
    """``exit_code`` was put in by who looked it up: Codex's own words do not have it."""
    heard = dict(payload)
    code = heard.pop("exit_code", None)
    return _judged(heard, code if isinstance(code, int) else None, _response(payload))


def _qwen(payload: Payload) -> dict[str, Any] | None:
    if payload.get("hook_event_name") == "UserPromptSubmit" and not str(payload.get("prompt") or "").strip():
        return None  # it says so before every turn of its own, too
    return _with_shell(payload)


def _gemini(payload: Payload) -> dict[str, Any] | None:
    event = _GEMINI_EVENTS.get(str(payload.get("hook_event_name", "")))
    if event is None:
        return None
    heard = {**payload, "hook_event_name": event}
    if event == "Stop":
        heard["last_assistant_message"] = payload.get("prompt_response")
    if event in ("PreToolUse", "PostToolUse"):
        # Without ids a call is told from its own repetition by its time, and its result belongs to the last such call.
        call = [payload.get(key) for key in ("tool_name", "tool_input")]
        heard["tool_use_id"] = _digest([payload.get("timestamp"), *call])
        heard["call"] = _digest(call)
    return _with_shell(heard)


def _digest(parts: list[Any]) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _with_shell(payload: Payload) -> dict[str, Any] | None:
    """With the name that a command has elsewhere, and its failure told as one."""
    heard = dict(payload)
    if str(heard.get("tool_name")) in _SHELLS:
        heard["tool_name"] = "Bash"
    said, shown, failed = _response(payload), _shown(payload), _error(payload)
    found = _EXIT_CODE.search(said)
    code = int(found[1]) if found else None
    if failed and not code:
        return _failed(heard, failed)
    return _judged(heard, code if found else 0, shown or said)


def _judged(heard: dict[str, Any], code: int | None, said: str) -> dict[str, Any]:
    if heard.get("hook_event_name") != "PostToolUse":
        return heard
    if code:
        return _failed(heard, f"Exit code {code}\n{said}")
    return {**heard, "tool_response": said}


def _failed(heard: dict[str, Any], error: str) -> dict[str, Any]:
    if heard.get("hook_event_name") != "PostToolUse":
        return heard
    return {**heard, "hook_event_name": "PostToolUseFailure", "error": error}


def _response(payload: Payload) -> str:
    response = payload.get("tool_response")
    if isinstance(response, Mapping):
        response = response.get("llmContent")
    return response if isinstance(response, str) else ""


def _shown(payload: Payload) -> str:
    response = payload.get("tool_response")
    shown = response.get("returnDisplay") if isinstance(response, Mapping) else None
    return shown if isinstance(shown, str) else ""


def _error(payload: Payload) -> str:
    response = payload.get("tool_response")
    error = response.get("error") if isinstance(response, Mapping) else None
    said = error.get("message") if isinstance(error, Mapping) else error
    return said if isinstance(said, str) else ""


def _renamed(event: str, output: dict[str, Any]) -> dict[str, Any]:
    """The same, for the event as the agent calls it."""
    specific = output.get("hookSpecificOutput")
    return {"hookSpecificOutput": {**specific, "hookEventName": event}} if isinstance(specific, dict) else output


def _to_gemini(event: str, output: dict[str, Any]) -> dict[str, Any]:
    """A refusal is a decision of its own there."""
    specific = output.get("hookSpecificOutput")
    if isinstance(specific, dict) and specific.get("permissionDecision") == "deny":
        return {"decision": "deny", "reason": specific["permissionDecisionReason"]}
    return _renamed(event, output)


DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="claude", title="Claude Code", heard=_as_it_is, spoken=_unchanged, stopping=STOPPING_EVENTS),
        # No hook of Codex ends its turn: further calls are denied until it stops by itself.
        Dialect(name="codex", title="Codex", heard=_codex, spoken=_renamed, stopping=frozenset()),
        Dialect(
            name="gemini",
            title="Gemini CLI",
            heard=_gemini,
            spoken=_to_gemini,
            stopping=frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"}),
            telling=CONTEXT_EVENTS - {"PreToolUse"},
            echoes=True,
        ),
        Dialect(name="qwen", title="Qwen Code", heard=_qwen, spoken=_renamed, stopping=frozenset(), echoes=True),
    )
}
