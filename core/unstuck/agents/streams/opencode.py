"""Parser of ``opencode run --format json``. Pure.

A call and its result share one line after its end, with a command's exit code in the metadata. Each step reports its
usage. No line marks the end; the last step's reason is ``stop``. The reason of some errors is in the log only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.stream import Stream, amount, canonical, exit_code, mapping, number, text
from unstuck.contract import Observation

_UNTOLD = "Unexpected server error"
_LOGGED = re.compile(
    r'^timestamp=\S+ level=ERROR .{0,200}\bmessage=failed .{0,200}?\berror="(?:\w{0,60}Error: )?([^"\\]{1,2000})', re.M
)


class OpencodeStream(Stream):
    """opencode. Its input excludes cached tokens."""

    def _id(self, data: Mapping[str, Any]) -> str:
        return text(mapping(data, "part"), "id")

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        self._names_session(data.get("sessionID"))
        part = mapping(data, "part")
        match text(data, "type"):
            case "text":
                yield from self._message(text(part, "text"), id=text(part, "id"))
            case "tool_use":
                yield from self._tool_use(part)
            case "step_start":
                yield Observation(kind="alive")
            case "step_finish":
                self.ended = text(part, "reason") != "tool-calls"
                yield from self._used(_tokens(mapping(part, "tokens")), amount(part, "cost"))
            case "error":
                self.error = _problem(data) or "it failed"

    def error_beside(self, printed: str) -> str:
        """Return the logged error of a failure that the stream only calls unexpected."""
        logged = _LOGGED.findall(printed) if self.error.startswith(_UNTOLD) else []
        return logged[-1] if logged else ""

    def _tool_use(self, part: Mapping[str, Any]) -> Iterator[Observation]:
        id, tool, state = text(part, "callID"), text(part, "tool"), mapping(part, "state")
        yield self._call(id, tool, mapping(state, "input"))
        code = exit_code(mapping(state, "metadata"), "exit")
        failed = text(state, "status") == "error" or bool(code)
        output = text(state, "output") or text(state, "error")
        yield self._result(id, tool, output, failed=failed, exit_code=code)


def _tokens(tokens: Mapping[str, Any]) -> int:
    written = number(tokens, "output") + number(tokens, "reasoning")
    return number(tokens, "input") + written + number(mapping(tokens, "cache"), "write")


def _problem(data: Mapping[str, Any]) -> str:
    error = data.get("error")
    if isinstance(error, str):
        return error
    return text(mapping(error, "data"), "message") or text(error, "message") or canonical(error)
