"""Parser of the transcript of Claude Code. Pure.

Its lines hold the messages of the stream, with other names around them. The lines of one reply repeat its usage, and
the last of them is right. Sub-agents have transcripts of their own; earlier versions wrote them into the same file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.claude import ClaudeStream
from unstuck.agents.streams.stream import items, mapping, text
from unstuck.contract import Observation

_REPLIES_KEPT = 256


class ClaudeTranscript(ClaudeStream):
    """Claude Code. It keeps no cost."""

    def __init__(self, *, before: int = 0) -> None:
        super().__init__(before=before)
        self._replies: OrderedDict[str, int] = OrderedDict()

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        self._names_session(data.get("sessionId"))
        agent = text(data, "agentId") or ("sub-agent" if data.get("isSidechain") is True else "")
        message = mapping(data, "message")
        match text(data, "type"):
            case "assistant":
                self._names_model(message.get("model"))
                yield from self._assistant(message, agent)
            case "user":
                results = [block for block in items(message, "content") if text(block, "type") == "tool_result"]
                for block in results:
                    yield self._tool_result(block, agent)
                if not results and not agent and not data.get("isMeta") and not data.get("isCompactSummary"):
                    yield from self._asked(_words(message))

    def _usage(self, id: str, tokens: int) -> Iterator[Observation]:
        before = self._replies.pop(id, 0)
        self._replies[id] = max(before, tokens)
        if len(self._replies) > _REPLIES_KEPT:
            self._replies.popitem(last=False)
        yield from self._used(tokens - before)


def _words(message: Mapping[str, Any]) -> str:
    texts = (text(block, "text") for block in items(message, "content"))
    return text(message, "content") or "\n".join(filter(None, texts))
