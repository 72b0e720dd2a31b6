"""Parser of ``gemini -o stream-json``. Pure.

A message comes in pieces, which are joined until another kind of line comes. The exit code of a command is in no field,
at most in its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.stream import Stream, mapping, number, text
from unstuck.contract import Observation

_EXIT_CODE = re.compile(r"^(?:Exit Code|Command exited with code):? (\d{1,3})\b", re.MULTILINE)
_SHELL_RESULT = re.compile(
    r"Command: .*?\nDirectory: [^\n]*\n(?:Output|Stdout): (.*)\nError: (.*?)\nExit Code: (\d{1,3})\n", re.DOTALL
)
_NOTHING = ("(empty)", "(none)")
_PIECES_LIMIT = 64 * 1024


class GeminiStream(Stream):
    """Gemini CLI."""

    def _id(self, data: Mapping[str, Any]) -> str:
        return text(data, "tool_id")  # pieces of a message have none, because the same words may come twice

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        kind = text(data, "type")
        if kind == "message" and text(data, "role") == "assistant":
            self._pieces = (self._pieces + text(data, "content"))[-_PIECES_LIMIT:]
            yield Observation(kind="alive")
            return
        pieces, self._pieces = self._pieces, ""
        yield from self._message(pieces)
        match kind:
            case "init":
                self._names_session(data.get("session_id"))
                self._names_model(data.get("model"))
            case "tool_use":
                yield self._call(text(data, "tool_id"), text(data, "tool_name"), mapping(data, "parameters"))
            case "tool_result":
                yield self._tool_result(data)
            case "error" if text(data, "severity") != "warning":
                self.error = text(data, "message") or "it failed"
            case "result":
                yield from self._end(data)

    def _tool_result(self, data: Mapping[str, Any]) -> Observation:
        call = text(data, "tool_id")
        output, code = shell_result(text(data, "output") or text(mapping(data, "error"), "message"))
        failed = text(data, "status") == "error" or bool(code)
        return self._result(call, self._tool_of(call), output, failed=failed, exit_code=code)

    def _end(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        self.ended = True
        if text(data, "status") != "success":
            self.error = text(mapping(data, "error"), "message") or self.error or "it failed"
        else:
            self.error = ""
        stats = mapping(data, "stats")
        read = max(0, number(stats, "input_tokens") - number(stats, "cached"))
        written = number(stats, "output_tokens")
        yield from self._used_in_all(read + written, written=written)


def shell_result(said: str) -> tuple[str, int | None]:
    """Return the output of a command alone, and its exit code, from the text of a result; None if none is there."""
    if (found := _SHELL_RESULT.match(said)) is not None:
        return "\n".join(part for part in found.groups()[:2] if part not in _NOTHING), int(found[3])
    code = _EXIT_CODE.search(said)
    return said, int(code[1]) if code else None
