"""Notifications of an app-server thread as observations. Pure.

Items begin and complete as in ``codex exec --json``, with other spellings. A sub-agent works in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.command.refused_requests import FIRST_TOLD, repeats
from unstuck.agents.streams.codex import mcp_name
from unstuck.agents.streams.stream import Stream, canonical, exit_code, items, mapping, number, text
from unstuck.contract import Observation
from unstuck.text import Clean

_MOST_CALLS = 4_096


class AppServerStream(Stream):
    """Parser of one attempt's notifications. ``turn`` is the id of the current turn; empty between turns.

    ``refused`` is the request that only repeats itself, for want of a network.
    """

    def __init__(self) -> None:
        super().__init__()
        self.turn = ""
        self.failed = self.interrupted = False
        self._calls: dict[str, Observation] = {}
        self._waits, self.refused = 0, Clean("")

    def begin(self, thread: str, model: str = "") -> None:
        """Set the thread of the attempt, and the model that works in it."""
        self.session = ""
        self._names_session(thread)
        self._names_model(model)

    def call(self, id: str) -> Observation | None:
        """Return the unfinished action with this id."""
        return self._calls.get(id)

    def command(self, id: str, command: str) -> Observation:
        """Return the action of running ``command``."""
        return self._call(id, "command_execution", {"command": command})

    def tool(self, id: str, name: str, given: Mapping[str, Any]) -> Observation:
        """Return the action of using a tool."""
        return self._call(id, name, given)

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        params = mapping(data, "params")
        thread = text(params, "threadId")
        agent = thread if thread != self.session else ""
        if not self.session:
            return  # a resumed thread replays its past first
        method = text(data, "method")
        if method != "error":
            self._waits = 0
        match method:
            case "turn/started" if not agent:
                self.turn, self.ended, self.error = text(mapping(params, "turn"), "id"), False, ""
                yield Observation(kind="alive")
            case "item/started":
                yield from self._started(mapping(params, "item"), agent)
            case "item/completed":
                yield from self._completed(mapping(params, "item"), agent)
            case "thread/tokenUsage/updated":
                if agent or text(params, "turnId") == self.turn:  # a resumed thread repeats an older turn's
                    last = mapping(mapping(params, "tokenUsage"), "last")
                    yield from self._used(_tokens(last), written=number(last, "outputTokens"))
            case "turn/completed" if not agent:
                self._end(mapping(params, "turn"))
            case "error" if not agent:
                problem = mapping(params, "error")
                self.error = text(problem, "message") or self.error
                # Codex waits so for ever.
                self._waits = self._waits + 1 if self.error.endswith("waiting for network") else 0
                if self._waits >= FIRST_TOLD:
                    self.refused = repeats("codex", text(problem, "additionalDetails") or self.error)
            case _:
                yield Observation(kind="alive")

    def _end(self, turn: Mapping[str, Any]) -> None:
        status = text(turn, "status")
        self.ended, self.turn = True, ""
        # With the network back, a turn may end well before it is interrupted.
        self.failed = status == "failed" or (status == "interrupted" and bool(self.refused))
        self.interrupted = status == "interrupted" and not self.refused
        message = self.refused or text(mapping(turn, "error"), "message")
        self.error = (message or self.error or "its turn failed") if self.failed else ""

    def _started(self, item: Mapping[str, Any], agent: str) -> Iterator[Observation]:
        id, found = text(item, "id"), None
        match text(item, "type"):
            case "commandExecution":
                found = self._call(id, "command_execution", {"command": text(item, "command")}, agent=agent)
            case "mcpToolCall":
                found = self._call(id, mcp_name(item), item.get("arguments"), agent=agent)
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
                output = text(item, "aggregatedOutput") or ("declined" if status == "declined" else "")
                yield self._result(
                    id, "command_execution", output, failed=failed or bool(code), exit_code=code, agent=agent
                )
            case "mcpToolCall":
                output = text(mapping(item, "error"), "message") or canonical(item.get("result"))
                yield self._result(id, mcp_name(item), output, failed=failed, agent=agent)
            case "fileChange":
                yield self._result(id, "apply_patch", status, failed=failed, agent=agent)


def _tokens(usage: Mapping[str, Any]) -> int:
    return max(0, number(usage, "inputTokens") - number(usage, "cachedInputTokens")) + number(usage, "outputTokens")


def _changed(item: Mapping[str, Any]) -> list[list[str]]:
    changes = items(item, "changes")
    return [[text(mapping(one, "kind"), "type"), text(one, "path"), text(one, "diff")] for one in changes]
