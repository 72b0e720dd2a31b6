"""Parser of the lines that ``codex app-server`` printed in an attempt. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unstuck.agents.appserver.stream import AppServerStream
from unstuck.agents.streams.stream import mapping, text
from unstuck.contract import Observation


class AppServerOutput(AppServerStream):
    """The server's side of the conversation. Its thread is the one of its reply, else of its first notification."""

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        result, params = mapping(data, "result"), mapping(data, "params")
        if thread := text(mapping(result, "thread"), "id"):
            self.begin(thread, text(result, "model"))
        elif not self.session and text(data, "method").startswith("item/"):
            self.begin(text(params, "threadId"))
        return super()._read(data)
