"""Parser of the chat file that Gemini CLI keeps of each session. Pure.

A message is written again when its calls have ended, so each part of it counts once. Earlier versions kept one object
with all messages. The exit code of a command is only in its text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.gemini import shell_result
from unstuck.agents.streams.stream import Stream, canonical, items, mapping, number, text
from unstuck.contract import Observation

_KEPT = 8_192
_ENDED = ("success", "error", "cancelled")
_NOT_THE_PERSON = ("<session_context>", "System: ")


class GeminiTranscript(Stream):
    """Gemini CLI."""

    def __init__(self, *, before: int = 0) -> None:
        super().__init__(before=before)
        self._seen: OrderedDict[tuple[str, str], int] = OrderedDict()

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        self._names_session(data.get("sessionId"))
        for message in items(mapping(data, "$set"), "messages") or items(data, "messages") or [data]:
            if isinstance(message, Mapping):
                yield from self._part(message)

    def _part(self, message: Mapping[str, Any]) -> Iterator[Observation]:
        id, words = text(message, "id"), _words(message.get("content"))
        match text(message, "type"):
            case "user" if words and not words.startswith(_NOT_THE_PERSON) and self._more(("words", id), 1):
                yield from self._asked(words)
            case "gemini":
                self._names_model(message.get("model"))
                if words and self._more(("words", id), 1):
                    yield from self._message(words, id=id)
                for call in items(message, "toolCalls"):
                    yield from self._tool_call(call)
                yield from self._used(self._more(("tokens", id), _tokens(mapping(message, "tokens"))))

    def _tool_call(self, call: Any) -> Iterator[Observation]:
        id, tool, status = text(call, "id"), text(call, "name"), text(call, "status")
        if status not in _ENDED or not self._more(("call", id), 1):
            return
        response = _response(call)
        said, code = shell_result(text(response, "output") or text(response, "error"))
        # What is shown to a person is the output alone, without lines that differ each time.
        output = text(call, "resultDisplay") or said or ("" if code is not None else canonical(response))
        yield self._call(id, tool, mapping(call, "args"))
        yield self._result(id, tool, output, failed=status != "success" or bool(code), exit_code=code)

    def _more(self, key: tuple[str, str], count: int) -> int:
        """Return the uncounted part of ``count`` under ``key``."""
        before = self._seen.pop(key, 0)
        self._seen[key] = max(before, count)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return max(0, count - before)


def _response(call: Any) -> Mapping[str, Any]:
    found = (mapping(mapping(part, "functionResponse"), "response") for part in items(call, "result"))
    return next((response for response in found if response), {})


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text(part, "text") for part in items({"content": content}, "content"))))


def _tokens(usage: Mapping[str, Any]) -> int:
    read = max(0, number(usage, "input") - number(usage, "cached"))
    return read + number(usage, "output") + number(usage, "thoughts")
