"""What a thread of the app-server tells of its work. Pure.

Items begin and complete as in ``codex exec --json``, with names written otherwise. What a sub-agent does comes from
a thread of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.stream import Stream, canonical, exit_code, items, mapping, number, text
from unstuck.contract import Observation

__all__ = ["AppServerStream"]

_MOST_CALLS = 4_096


class AppServerStream(Stream):
    """One attempt's notifications. ``turn`` is the turn that is under way; empty where none is."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = ""
        self.failed = self.interrupted = False
        self._calls: dict[str, Observation] = {}

    def begin(self, thread: str) -> None:
        """This is the thread that is worked in."""
        self.session = ""
        self._names_session(thread)

    def call(self, id: str) -> Observation | None:
        """The action with this id that has begun and is not over."""
        return self._calls.get(id)

    def command(self, id: str, command: str) -> Observation:
        """The action of running ``command``."""
        return self._call(id, "command_execution", {"command": command})

    def tool(self, id: str, name: str, given: Mapping[str, Any]) -> Observation:
        """The action of using a tool."""
        return self._call(id, name, given)

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        params = mapping(data, "params")
        thread = text(params, "threadId")
        agent = thread if thread != self.session else ""
        if not self.session:
            return  # it tells of a thread's past before that is gone on with
        match text(data, "method"):
            case "turn/started" if not agent:
                self.turn, self.ended, self.error = text(mapping(params, "turn"), "id"), False, ""
                yield Observation(kind="alive")
            case "item/started":
                yield from self._started(mapping(params, "item"), agent)
            case "item/completed":
                yield from self._completed(mapping(params, "item"), agent)
            case "thread/tokenUsage/updated":
                if agent or text(params, "turnId") == self.turn:  # an older turn's is told again on going on
                    yield from self._used(_tokens(mapping(mapping(params, "tokenUsage"), "last")))
            case "turn/completed" if not agent:
                self._end(mapping(params, "turn"))
            case "error" if not agent:
                self.error = text(mapping(params, "error"), "message") or self.error
            case _:
                yield Observation(kind="alive")

    def _end(self, turn: Mapping[str, Any]) -> None:
        status = text(turn, "status")
        self.ended, self.turn = True, ""
        self.failed, self.interrupted = status == "failed", status == "interrupted"
        said = text(mapping(turn, "error"), "message")
        self.error = (said or self.error or "its turn failed") if self.failed else ""

    def _started(self, item: Mapping[str, Any], agent: str) -> Iterator[Observation]:
        id, found = text(item, "id"), None
        match text(item, "type"):
            case "commandExecution":
                found = self._call(id, "command_execution", {"command": text(item, "command")}, agent=agent)
            case "mcpToolCall":
                found = self._call(id, _mcp_name(item), item.get("arguments"), agent=agent)
            case "fileChange":
                found = self._call(id, "apply_patch", _changed(item), agent=agent)
            case "webSearch":
                found = self._call(id, "web_search", {"query": text(item, "query")}, agent=agent)
        if found is not None:
            if len(self._calls) < _MOST_CALLS:
                self._calls[id] = found
            yield found

    def _completed(self, item: Mapping[str, Any], agent: str) -> Iterator[Observation]:
        id, status = text(item, "id"), text(item, "status")
        self._calls.pop(id, None)
        failed = status in ("failed", "declined")
        match text(item, "type"):
            case "agentMessage":
                yield from self._message(text(item, "text"), id=id, agent=agent)
            case "commandExecution":
                code = exit_code(item, "exitCode")
                said = text(item, "aggregatedOutput") or ("declined" if status == "declined" else "")
                yield self._result(
                    id, "command_execution", said, failed=failed or bool(code), exit_code=code, agent=agent
                )
            case "mcpToolCall":
                said = text(mapping(item, "error"), "message") or canonical(item.get("result"))
                yield self._result(id, _mcp_name(item), said, failed=failed, agent=agent)
            case "fileChange":
                yield self._result(id, "apply_patch", status, failed=failed, agent=agent)


def _tokens(usage: Mapping[str, Any]) -> int:
    return max(0, number(usage, "inputTokens") - number(usage, "cachedInputTokens")) + number(usage, "outputTokens")


def _mcp_name(item: Mapping[str, Any]) -> str:
    return f"{text(item, 'server')}.{text(item, 'tool')}"


def _changed(item: Mapping[str, Any]) -> list[list[str]]:
    return [[text(mapping(change, "kind"), "type"), text(change, "path")] for change in items(item, "changes")]
