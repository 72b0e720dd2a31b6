"""Translation between Claude Code's hooks and those of other agents. Pure.

All of them follow its format, with differences. Codex and Qwen Code report a failed command as a success. Gemini CLI
has other event names and no call ids. Gemini CLI and Qwen Code return the text that continues a stop as a prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from unstuck.agents.hooks.claude_hooks import CONTEXT_EVENTS, STOPPING_EVENTS
from unstuck.agents.streams.gemini import shell_result
from unstuck.agents.streams.stream import mapping, text

Payload = Mapping[str, Any]

_GEMINI_EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "Notification": "Notification",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
_SHELLS = frozenset({"run_shell_command"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Dialect of one agent. ``decode`` translates its payloads (None: ignored), ``encode`` the replies to it.

    At the ``stopping`` events, in Claude Code's names, the agent can be stopped; at the ``telling`` ones its model
    accepts messages. With ``echoes`` the text that continues a stop comes back as a prompt.
    """

    name: str
    title: str
    decode: Callable[[Payload], dict[str, Any] | None]
    encode: Callable[[str, dict[str, Any]], dict[str, Any]]
    stopping: frozenset[str]
    telling: frozenset[str] = CONTEXT_EVENTS
    echoes: bool = False


def _as_it_is(payload: Payload) -> dict[str, Any] | None:
    return dict(payload)


def _unchanged(event: str, output: dict[str, Any]) -> dict[str, Any]:
    return output


def _codex(payload: Payload) -> dict[str, Any] | None:
    """Translate a payload with the ``exit_code`` from the transcript: Codex's own payload has none."""
    decoded = dict(payload)
    code = decoded.pop("exit_code", None)
    return _judged(decoded, code if isinstance(code, int) else None, _response(payload))


def _qwen(payload: Payload) -> dict[str, Any] | None:
    if payload.get("hook_event_name") == "UserPromptSubmit" and not str(payload.get("prompt") or "").strip():
        return None  # it also announces its own turns
    return _with_shell(payload)


def _gemini(payload: Payload) -> dict[str, Any] | None:
    event = _GEMINI_EVENTS.get(str(payload.get("hook_event_name", "")))
    if event is None:
        return None
    decoded = {**payload, "hook_event_name": event}
    details = mapping(payload, "details")
    if event == "Notification" and text(details, "type") == "exec":
        command = {"command": text(details, "command")}
        return {**decoded, "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": command}
    if event == "Stop":
        decoded["last_assistant_message"] = payload.get("prompt_response")
    if event in ("PreToolUse", "PostToolUse"):
        # Without ids its time distinguishes a call from a repetition, and a result belongs to the last such call.
        call = [payload.get(key) for key in ("tool_name", "tool_input")]
        decoded["tool_use_id"] = _digest([payload.get("timestamp"), *call])
        decoded["call"] = _digest(call)
    return _with_shell(decoded)


def _digest(parts: list[Any]) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _with_shell(payload: Payload) -> dict[str, Any] | None:
    """Translate the name of the shell tool, and turn a failed command into a failure."""
    decoded = dict(payload)
    if str(decoded.get("tool_name")) in _SHELLS:
        decoded["tool_name"] = "Bash"
    if decoded.get("hook_event_name") == "PostToolUseFailure":
        output, code = shell_result(text(payload, "error"))
        return {**decoded, "error": f"Exit code {code}\n{output}"} if code else decoded
    said, shown, failed = _response(payload), text(mapping(payload, "tool_response"), "returnDisplay"), _error(payload)
    output, code = shell_result(said)
    if failed and not code:
        return _failed(decoded, failed)
    return _judged(decoded, code or 0, shown or output)


def _judged(decoded: dict[str, Any], code: int | None, said: str) -> dict[str, Any]:
    if decoded.get("hook_event_name") != "PostToolUse":
        return decoded
    if code:
        return _failed(decoded, f"Exit code {code}\n{said}")
    return {**decoded, "tool_response": said}


def _failed(decoded: dict[str, Any], error: str) -> dict[str, Any]:
    if decoded.get("hook_event_name") != "PostToolUse":
        return decoded
    return {**decoded, "hook_event_name": "PostToolUseFailure", "error": error}


def _response(payload: Payload) -> str:
    return text(payload, "tool_response") or text(mapping(payload, "tool_response"), "llmContent")


def _error(payload: Payload) -> str:
    response = mapping(payload, "tool_response")
    return text(response, "error") or text(mapping(response, "error"), "message")


def _renamed(event: str, output: dict[str, Any]) -> dict[str, Any]:
    """Return ``output`` with the agent's own name of the event."""
    specific = output.get("hookSpecificOutput")
    return {"hookSpecificOutput": {**specific, "hookEventName": event}} if isinstance(specific, dict) else output


def _to_gemini(event: str, output: dict[str, Any]) -> dict[str, Any]:
    """Return ``output`` with a refusal as Gemini CLI's decision."""
    specific = output.get("hookSpecificOutput")
    if isinstance(specific, dict) and specific.get("permissionDecision") == "deny":
        return {"decision": "deny", "reason": specific["permissionDecisionReason"]}
    return _renamed(event, output)


DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="claude", title="Claude Code", decode=_as_it_is, encode=_unchanged, stopping=STOPPING_EVENTS),
        # No hook of Codex ends its turn, so further calls are denied until it stops.
        Dialect(name="codex", title="Codex", decode=_codex, encode=_renamed, stopping=frozenset()),
        Dialect(
            name="gemini",
            title="Gemini CLI",
            decode=_gemini,
            encode=_to_gemini,
            stopping=frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"}),
            telling=CONTEXT_EVENTS - {"PreToolUse"},
            echoes=True,
        ),
        Dialect(
            name="qwen",
            title="Qwen Code",
            decode=_qwen,
            encode=_renamed,
            stopping=frozenset(),
            telling=CONTEXT_EVENTS - {"SessionStart"},
            echoes=True,
        ),
    )
}
