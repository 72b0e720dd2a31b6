"""Parser of ``codex exec --json``. Pure.

Items begin and complete; a command has its exit code. Ids restart in every process. The usage of a completed turn is
that of the whole thread so far, including earlier processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.stream import Stream, canonical, exit_code, items, mapping, number, text, unwrapped
from unstuck.contract import Observation

_REJECTED = re.compile(r'Rejected\(\\?"`(.{1,2000}?)` rejected: ')
_READ_ONLY = "Read-only file system"


class CodexStream(Stream):
    """Codex. Its error is a failed turn or an error of the whole stream."""

    sums_session = True

    def _id(self, data: Mapping[str, Any]) -> str:
        return text(mapping(data, "item"), "id")

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        match text(data, "type"):
            case "thread.started":
                self._names_session(data.get("thread_id"))
            case "turn.started":
                yield Observation(kind="alive")
            case "item.started":
                yield from self._started(mapping(data, "item"))
            case "item.completed":
                yield from self._completed(mapping(data, "item"))
            case "turn.completed":
                self.ended, self.error = True, ""
                usage = mapping(data, "usage")
                yield from self._used_in_all(tokens_of(usage), written=number(usage, "output_tokens"))
            case "turn.failed":
                self.ended, self.error = True, text(mapping(data, "error"), "message") or "its turn failed"
            case "error":
                # Reconnections are errors, too, so only the end of the turn decides.
                self.error = text(data, "message") or self.error

    def denied_beside(self, printed: str) -> Iterable[tuple[str, str]]:
        """Return the commands that Codex itself rejected."""
        return [("bash", unwrapped(found[1])) for found in _REJECTED.finditer(printed)]

    def _started(self, item: Mapping[str, Any]) -> Iterator[Observation]:
        id = text(item, "id")
        match text(item, "type"):
            case "command_execution":
                yield self._call(id, "command_execution", {"command": text(item, "command")})
            case "mcp_tool_call":
                yield self._call(id, mcp_name(item), item.get("arguments"))
            case "file_change":
                yield self._call(id, "apply_patch", _changed(item))

    def _completed(self, item: Mapping[str, Any]) -> Iterator[Observation]:
        id, status = text(item, "id"), text(item, "status")
        match text(item, "type"):
            case "agent_message":
                yield from self._message(text(item, "text"), id=id)
            case "command_execution":
                code = exit_code(item, "exit_code")
                failed = bool(code) or status in ("failed", "declined")
                if status == "declined" or (failed and _READ_ONLY in text(item, "aggregated_output")):
                    self._deny(id)
                yield self._result(
                    id, "command_execution", text(item, "aggregated_output"), failed=failed, exit_code=code
                )
            case "mcp_tool_call":
                output = text(mapping(item, "error"), "message") or canonical(item.get("result"))
                yield self._result(id, mcp_name(item), output, failed=status == "failed")
            case "file_change":
                # A quick change comes in one line, already completed.
                yield from self._started(item)
                yield self._result(id, "apply_patch", status, failed=status == "failed")
            case "web_search":
                yield self._call(id, "web_search", {"query": text(item, "query")})


def tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the tokens read and written, without those read from a cache."""
    return max(0, number(usage, "input_tokens") - number(usage, "cached_input_tokens")) + number(usage, "output_tokens")


def mcp_name(item: Mapping[str, Any]) -> str:
    """Return the name of an MCP call with its server."""
    return f"{text(item, 'server')}.{text(item, 'tool')}"


def _changed(item: Mapping[str, Any]) -> list[list[str]]:
    return [[text(change, "kind"), text(change, "path")] for change in items(item, "changes")]
