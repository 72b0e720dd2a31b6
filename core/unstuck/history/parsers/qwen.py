"""Parser of the chat file that Qwen Code keeps of each session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.gemini import shell_result
from unstuck.agents.streams.stream import Stream, canonical, items, mapping, number, text
from unstuck.contract import Observation


class QwenTranscript(Stream):
    """Qwen Code. The exit code of a command is only in its text."""

    def _id(self, data: Mapping[str, Any]) -> str:
        return text(data, "uuid")

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        self._names_session(data.get("sessionId"))
        parts = items(mapping(data, "message"), "parts")
        words = "\n".join(filter(None, (text(part, "text") for part in parts if not _is_thought(part))))
        match text(data, "type"):
            case "user":
                yield from self._asked(words)
            case "assistant":
                self._names_model(data.get("model"))
                yield from self._message(words)
                for part in parts:
                    if call := mapping(part, "functionCall"):
                        yield self._call(text(call, "id"), text(call, "name"), mapping(call, "args"))
                yield from self._used(_tokens(mapping(data, "usageMetadata")))
            case "tool_result":
                yield from self._results(parts, mapping(data, "toolCallResult"))

    def _results(self, parts: Iterable[Any], told: Mapping[str, Any]) -> Iterator[Observation]:
        for part in parts:
            if not (answer := mapping(part, "functionResponse")):
                continue
            response = mapping(answer, "response")
            said, code = shell_result(text(response, "output") or text(response, "error"))
            failed = text(told, "status") in ("error", "cancelled") or bool(code)
            # What is shown to a person is the output alone, without lines that differ each time.
            output = text(told, "resultDisplay") or said or ("" if code is not None else canonical(response))
            yield self._result(text(answer, "id"), text(answer, "name"), output, failed=failed, exit_code=code)


def _is_thought(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("thought") is True


def _tokens(usage: Mapping[str, Any]) -> int:
    read = max(0, number(usage, "promptTokenCount") - number(usage, "cachedContentTokenCount"))
    return read + number(usage, "candidatesTokenCount")
