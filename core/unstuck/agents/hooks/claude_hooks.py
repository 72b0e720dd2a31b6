"""Payloads and outputs of Claude Code's hooks. Pure.

The output for a directive depends on the event, because a field may mean something else, or nothing, at another one:

- *tell* is ``additionalContext``. Before a tool call it has no ``permissionDecision``: the user decides on the call.
- *deny* is a ``permissionDecision`` before a tool call; after the tool has run it is only a message.
- *stop* is ``continue: false`` after a successful call or a batch of calls. Claude Code ignores it before a call, which
  is denied instead, and after a failed one, where the reason is a message and the following batch stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from unstuck.agents.streams.edits import change_in
from unstuck.agents.streams.stream import text as string
from unstuck.contract import Directive, Observation
from unstuck.text import Clean, admit, one_line

Payload = Mapping[str, Any]

CONTEXT_EVENTS = frozenset(
    {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"}
)
STOPPING_EVENTS = frozenset({"PostToolUse", "PostToolBatch"})
_QUESTIONS = frozenset({"AskUserQuestion", "ExitPlanMode", "ask_user", "ask_user_question", "exit_plan_mode"})
_ASKING = frozenset({"permission_prompt", "elicitation_dialog", "ToolPermission"})
_ASKED_LIMIT = 500
_SLUG, _SLUG_READ = 28, 200
_EXIT_CODE = re.compile(r"Exit code (\d{1,3})\b[ \t]*\n?")


def task_id(payload: Payload, agent: str = "claude") -> str:
    """Return the agent's name and the first eight letters and digits of the session."""
    return f"{agent}-" + re.sub(r"[^A-Za-z0-9]", "", string(payload, "session_id")[:64])[:8]


def slug(prompt: str) -> str:
    """Return the first words of ``prompt`` for a name, in small letters; empty where it has none."""
    words = re.findall(r"[a-z0-9]+", prompt[:_SLUG_READ].lower())
    name = ""
    for word in words:
        if name and len(name) + len(word) >= _SLUG:
            break
        name = f"{name}-{word}" if name else word[:_SLUG]
    return name


def call_of(payload: Payload) -> tuple[str, Any]:
    """Return the tool of a call, and its command or its input: the same for the request about a call and its result."""
    given = payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    return string(payload, "tool_name"), command if isinstance(command, str) else given


def asked_there(event: str, payload: Payload) -> Clean:
    """Return what the agent asks the person in its own terminal at this event; empty where it asks nothing."""
    tool, given = string(payload, "tool_name"), payload.get("tool_input")
    if event in ("PreToolUse", "PermissionRequest") and tool in _QUESTIONS:
        questions = given.get("questions") if isinstance(given, dict) else None
        first = questions[0] if isinstance(questions, list) and questions else {}
        return admit(string(first, "question") or "a question of its own", limit=_ASKED_LIMIT)
    if event == "PermissionRequest":
        change = change_in(given)
        cwd = string(payload, "cwd")
        paths = ", ".join(path.removeprefix(f"{cwd}/") if cwd else path for path in change.paths) if change else ""
        what = f"change {paths}" if paths else f"use {_action(payload)['text']}"
        return admit(f"may it {what}?", limit=_ASKED_LIMIT)
    if event == "Notification" and string(payload, "notification_type") in _ASKING:
        return admit(string(payload, "message") or "it needs you", limit=_ASKED_LIMIT)
    return Clean("")


def observation(payload: Payload, at: float) -> Observation | None:
    """Return the observation in ``payload`` at ``at`` (monotonic seconds); None for events that are no step.

    A sub-agent's step carries its ``agent_id``; the main agent's is empty.
    """
    read = _READERS.get(string(payload, "hook_event_name"))
    if read is None:
        return None
    return Observation(at=at, task_id=task_id(payload), agent_id=_name(payload, "agent_id"), **read(payload))


def output(
    event_name: str, directive: Directive, *, stopping: frozenset[str] = STOPPING_EVENTS
) -> dict[str, Any] | None:
    """Return the JSON to print for ``directive`` at this event; None prints nothing, and the agent proceeds.

    At the ``stopping`` events the agent can be stopped.
    """
    text = directive.text or (directive.guidance.text if directive.guidance else Clean(""))
    match directive.kind:
        case "start":
            return {"decision": "block", "reason": text} if event_name == "Stop" and text else None
        case "tell":
            return _context(event_name, text)
        case "deny":
            return _deny(event_name, text)
        case "stop" if event_name in stopping:
            return {"continue": False, "stopReason": text or "stopped"}
        case "stop":
            return _deny(event_name, text or Clean("stopped"))
    return None


def _context(event_name: str, text: str) -> dict[str, Any] | None:
    if not text or event_name not in CONTEXT_EVENTS:
        return None
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}


def _deny(event_name: str, text: str) -> dict[str, Any] | None:
    reason = text or "denied"
    if event_name == "PreToolUse":
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {"hookSpecificOutput": {"hookEventName": event_name, **decision}}
    if event_name == "PermissionRequest":
        refusal = {"behavior": "deny", "message": reason}
        return {"hookSpecificOutput": {"hookEventName": event_name, "decision": refusal}}
    return _context(event_name, reason)


def _action(payload: Payload) -> dict[str, Any]:
    tool, given = string(payload, "tool_name"), payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) and tool == "Bash" else None
    text = command if isinstance(command, str) else f"{tool} {_canonical(given)}"
    return {"kind": "action", "text": admit(text), **_call(payload)}


def _success(payload: Payload) -> dict[str, Any]:
    exit_code = 0 if payload.get("tool_name") == "Bash" else None
    text = admit(_response_text(payload.get("tool_response")))
    return {"kind": "success", "text": text, "exit_code": exit_code, **_call(payload)}


def _failure(payload: Payload) -> dict[str, Any]:
    if payload.get("is_interrupt") is True:
        return {"kind": "alive", **_call(payload)}  # an interrupt by the person is no result of the command
    error = string(payload, "error")
    found = _EXIT_CODE.match(error)
    # The code becomes a number, and the text is the command's own output, if there is any.
    text = error[found.end() :] or error if found else error
    exit_code = int(found[1]) if found else None
    return {"kind": "failure", "text": admit(text), "exit_code": exit_code, **_call(payload)}


def _call(payload: Payload) -> dict[str, Any]:
    return {"id": _name(payload, "tool_use_id"), "tool": _name(payload, "tool_name").lower()}


def _agent_message(payload: Payload) -> dict[str, Any]:
    message = _name(payload, "message_id")
    index = payload.get("index")
    piece = f"{message}:{index}" if message and isinstance(index, int) else ""
    return _message("agent", string(payload, "delta"), piece)


def _user_message(payload: Payload) -> dict[str, Any]:
    return _message("user", string(payload, "prompt"), "")


def _message(role: Literal["agent", "user"], text: str, message: str) -> dict[str, Any]:
    return {"kind": "message", "role": role, "tool": "message", "text": admit(text), "id": message}


_READERS = {
    "PreToolUse": _action,
    "PostToolUse": _success,
    "PostToolUseFailure": _failure,
    "MessageDisplay": _agent_message,
    "UserPromptSubmit": _user_message,
}


def _response_text(response: Any) -> str:
    """Return a tool's response as text: a command's two streams, the texts of a content list, else the JSON."""
    if isinstance(response, str):
        return response
    if isinstance(response, dict) and isinstance(response.get("stdout"), str):
        streams = [response["stdout"], response.get("stderr")]
        return "\n".join(stream for stream in streams if isinstance(stream, str) and stream)
    content = response.get("content") if isinstance(response, dict) else response
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        if any(isinstance(text, str) for text in texts):
            return "\n".join(text for text in texts if isinstance(text, str))
    return "" if response is None else _canonical(response)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _name(payload: Payload, key: str) -> str:
    return one_line(string(payload, key), limit=100)
