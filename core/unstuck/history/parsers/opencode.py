"""Parser of the parts in the database of opencode, as ``opencode_store`` hands them over. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unstuck.agents.streams.opencode import OpencodeStream
from unstuck.agents.streams.stream import mapping, text
from unstuck.contract import Observation

_ENDED = ("completed", "error")


class OpencodeTranscript(OpencodeStream):
    """opencode. A part is that of the stream under another name of its type."""

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        part = mapping(data, "part")
        self._names_model(data.get("model"))
        match text(data, "type"), text(part, "type"):
            case "user", "text":
                yield from self._asked(text(part, "text"))
            case "assistant", "tool" if text(mapping(part, "state"), "status") in _ENDED:
                yield from super()._read({**data, "type": "tool_use"})
            case "assistant", "text":
                yield from super()._read({**data, "type": "text"})
            case "assistant", "step-finish":
                yield from super()._read({**data, "type": "step_finish"})
