"""Parser of ``cline --json``. Pure.

A call holds several commands, each with its own result. The last line has the reason of the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from unstuck.agents.streams.stream import Stream, amount, canonical, items, mapping, number, text
from unstuck.contract import Observation

_EXIT_CODE = re.compile(r"\[?Command exited with code (\d{1,3})\]?\n?")


class ClineStream(Stream):
    """Cline. It names no session."""

    def _id(self, data: Mapping[str, Any]) -> str:
        event = mapping(data, "event")
        return ":".join([text(data, "ts"), *(text(event, key) for key in ("type", "contentType", "toolCallId"))])

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        kind, event = text(data, "type"), mapping(data, "event")
        if kind == "run_result":
            self.ended = True
            self._names_model(mapping(data, "model").get("id"))
            if text(data, "finishReason") != "completed":
                self.error = self.error or text(data, "text") or text(data, "finishReason") or "it failed"
        elif kind == "error":
            self.error = text(data, "message") or text(data, "error") or "it failed"
        elif kind == "agent_event":
            yield from self._event(event, text(event, "contentType") == "tool")

    def _event(self, event: Mapping[str, Any], is_tool: bool) -> Iterator[Observation]:
        call, tool = text(event, "toolCallId"), text(event, "toolName")
        match text(event, "type"):
            case "content_start" if is_tool:
                yield self._call(call, *_called(tool, mapping(event, "input")))
            case "content_end" if is_tool:
                yield self._tool_end(call, event)
            case "content_end":
                yield from self._message(text(event, "text"))
            case "usage":
                # Some providers count the cached tokens as input, too.
                read, cached = number(event, "inputTokens"), number(event, "cacheReadTokens")
                read -= cached if cached <= read else 0
                written = number(event, "outputTokens") + number(event, "cacheWriteTokens")
                yield from self._used(read + written, amount(event, "cost"))
            case "error":
                self.error = text(event, "message") or text(mapping(event, "error"), "message") or "it failed"
            case _:
                yield Observation(kind="alive")

    def _tool_end(self, call: str, event: Mapping[str, Any]) -> Observation:
        results, error = items(event, "output"), text(event, "error")
        output, code = results_of(results or [{"error": error}])
        failed = bool(error) or has_failed(results)
        return self._result(
            call,
            self._tool_of(call),
            output or canonical(event.get("output")),
            failed=failed,
            exit_code=code if failed else None,
        )


def results_of(results: Sequence[Any]) -> tuple[str, int | None]:
    """Return the output of a call's commands together, and the first exit code that is not 0."""
    output = "\n".join(text(one, "result") or text(one, "error") for one in results)
    found = _EXIT_CODE.search(output) if has_failed(results) else None
    return _EXIT_CODE.sub("", output), int(found[1]) if found else None


def has_failed(results: Sequence[Any]) -> bool:
    """Return whether one of a call's commands has failed."""
    return any(isinstance(one, Mapping) and one.get("success") is False for one in results)


def _called(tool: str, given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the tool and its arguments; commands as one command of a shell."""
    commands = items(given, "commands")
    if tool == "run_commands" and commands and all(isinstance(command, str) for command in commands):
        return "bash", {"command": "\n".join(commands)}
    return tool, given
