"""Parser of the rollout file that Codex keeps of each session. Pure.

A call and its result are records with one id. The result is text: some lines about the process, then its output.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.codex import tokens_of
from unstuck.agents.streams.stream import Stream, exit_code, items, mapping, text
from unstuck.contract import Observation

_MOST_CALLS = 4_096
_HEAD_LIMIT = 600
_OUTPUT = "Output:\n"
_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,3})\b", re.MULTILINE)
_FAILED = re.compile(
    r"(?:\w+ (?:verification )?failed\b|failed to |unsupported |error\b|aborted by user)", re.IGNORECASE
)


class CodexTranscript(Stream):
    """Codex. Its usage is the total of the session."""

    def __init__(self, *, before: int = 0) -> None:
        super().__init__(before=before)
        self._tools: dict[str, str] = {}

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        record = mapping(data, "payload")
        match text(data, "type"), text(record, "type"):
            case "session_meta", _:
                self._names_session(record.get("id"))
            case "turn_context", _:
                self._names_model(record.get("model"))
            case "response_item", "message" if text(record, "role") == "assistant":
                yield from self._message(_texts(record.get("content")), id=text(record, "id"))
            case "response_item", "function_call" | "custom_tool_call" | "local_shell_call":
                yield self._called(record)
            case "response_item", "function_call_output" | "custom_tool_call_output":
                yield self._ended(record)
            case "event_msg", "user_message":
                yield from self._asked(text(record, "message"))
            case "event_msg", "item_completed" if text(mapping(record, "item"), "type") == "UserMessage":
                yield from self._asked(_texts(mapping(record, "item").get("content")))
            case "event_msg", "token_count":
                yield from self._used_in_all(tokens_of(mapping(mapping(record, "info"), "total_token_usage")))

    def _called(self, record: Mapping[str, Any]) -> Observation:
        id, tool = text(record, "call_id"), text(record, "name") or "local_shell"
        if len(self._tools) < _MOST_CALLS:
            self._tools[id] = tool
        return self._call(id, tool, _given(record))

    def _ended(self, record: Mapping[str, Any]) -> Observation:
        id = text(record, "call_id")
        output, code = _output(record.get("output"))
        failed = bool(code) if code is not None else _FAILED.match(output) is not None
        return self._result(id, self._tools.pop(id, "tool"), output, failed=failed, exit_code=code)


def _given(record: Mapping[str, Any]) -> Any:
    given = _parsed(text(record, "arguments")) or mapping(record, "action") or {"input": text(record, "input")}
    command = given.get("cmd", given.get("command")) if isinstance(given, Mapping) else None
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else shlex.join(words)
    return {"command": command} if isinstance(command, str) else given


def _output(output: Any) -> tuple[str, int | None]:
    """Return the text of a result without the lines about its process, and the exit code if it has one."""
    found = _parsed(output) if isinstance(output, str) and output.startswith("{") else output
    if isinstance(found, Mapping):
        code = exit_code(mapping(found, "metadata"), "exit_code")
        return text(found, "output") or _texts(found.get("content")), code
    said = output if isinstance(output, str) else _texts(output)
    head, mark, rest = said[:_HEAD_LIMIT].partition(_OUTPUT)
    if not mark:
        return said, None
    code_found = _CODE.search(head)
    return rest + said[_HEAD_LIMIT:], int(code_found[1]) if code_found else None


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Iterator[str] = (text(part, "text") for part in items({"content": content}, "content"))
    return "\n".join(filter(None, parts))
