"""Parser of the lines that an agent of the Agent Client Protocol printed in an attempt. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unstuck.agents.acp.updates import Updates
from unstuck.agents.acp_agents import Quirks
from unstuck.agents.streams.stream import mapping, text
from unstuck.contract import Observation

_SETUP = 2
"""Replies before the first prompt at least: to the initialization, and to the request for a session."""


class AcpOutput(Updates):
    """The agent's side of the conversation. A resumed session replays its past before the replies of its setup."""

    def __init__(self) -> None:
        super().__init__(Quirks())
        self._replies = 0

    def begin(self) -> None:
        """Read on from the middle of the conversation."""
        self._replies = _SETUP

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        params, result = mapping(data, "params"), data.get("result")
        if text(data, "method") == "session/update" and self._replies >= _SETUP:
            yield from super()._read(mapping(params, "update"))
        elif text(data, "method") == "session/request_permission":
            before, call, _ = self.permission(params)
            yield from (*before, call)
        elif "result" in data and "method" not in data:
            if text(result, "stopReason"):
                yield from self.turn_over(mapping(data, "result"))
            elif not text(result, "outcome"):
                self._replies, self._pieces = self._replies + 1, ""
        elif "error" in data and "method" not in data:
            self.error = text(mapping(data, "error"), "message") or self.error
