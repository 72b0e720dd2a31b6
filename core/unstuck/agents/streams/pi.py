"""Parser of ``pi --mode json -p``. Pure.

Messages grow in updates and come whole at their end, with the usage of their request. A failed command says its exit
code at the end of its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.stream import Stream, amount, items, mapping, number, text
from unstuck.contract import Observation

_EXIT_CODE = re.compile(r"\n*Command exited with code (\d{1,3})\s*\Z")


class PiStream(Stream):
    """The coding agent pi."""

    def _id(self, data: Mapping[str, Any]) -> str:
        message = mapping(data, "message")
        return text(data, "toolCallId") or text(message, "responseId") or str(number(message, "timestamp") or "")

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        call = text(data, "toolCallId")
        match text(data, "type"):
            case "session":
                self._names_session(data.get("id"))
            case "turn_start" | "message_update" | "tool_execution_update":
                yield Observation(kind="alive")
            case "message_end":
                yield from self._message_end(mapping(data, "message"))
            case "tool_execution_start":
                yield self._call(call, text(data, "toolName"), mapping(data, "args"))
            case "tool_execution_end":
                yield self._tool_end(call, data)
            case "agent_end":
                self.ended = True

    def _message_end(self, message: Mapping[str, Any]) -> Iterator[Observation]:
        if text(message, "role") != "assistant":
            return
        self._names_model(message.get("model"))
        said = (text(part, "text") for part in items(message, "content") if text(part, "type") == "text")
        yield from self._message("\n".join(filter(None, said)))
        # A request that is repeated after an error ends well.
        failed = text(message, "stopReason") == "error"
        self.error = text(message, "errorMessage") or "it failed" if failed else ""
        usage = mapping(message, "usage")
        tokens = sum(number(usage, name) for name in ("input", "output", "cacheWrite"))
        yield from self._used(tokens, amount(mapping(usage, "cost"), "total"))

    def _tool_end(self, call: str, data: Mapping[str, Any]) -> Observation:
        output = "\n".join(text(part, "text") for part in items(mapping(data, "result"), "content"))
        failed = data.get("isError") is True
        found = _EXIT_CODE.search(output) if failed else None
        return self._result(
            call,
            text(data, "toolName"),
            output[: found.start()] if found else output,
            failed=failed,
            exit_code=int(found[1]) if found else None,
        )
