"""Updates of an agent's work during a turn: calls, results, messages, plans, usage. Pure.

A call comes in pieces: first perhaps only a name, then its arguments, at last its result. Some agents send the
arguments only with a request for permission. Each agent puts a command's exit code in another place, some in none, and
``completed`` means no more than an end.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from unstuck.agents.acp_agents import Quirks
from unstuck.agents.streams.cline import has_failed, results_of
from unstuck.agents.streams.edits import compared
from unstuck.agents.streams.stream import Stream, amount, exit_code, items, mapping, number, text
from unstuck.contract import Observation
from unstuck.text import Clean, admit

_MOST_CALLS = 1_024
_MOST_CHANGES = 100
_PIECES_LIMIT = 64 * 1024
_WHY_LIMIT = 2_000
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b[ \t]*\n?|(?:^|\n)Exit Code: (\d{1,3})(?=\n|$)")
_FENCED = re.compile(r"```[a-z]*\n(.*?)\n?```", re.DOTALL)
# Arguments of a call whose subject is not known yet.
_PLACE = frozenset({"cwd"})


_KINDS = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}
CANCELLED: Mapping[str, Any] = {"outcome": {"outcome": "cancelled"}}


@dataclass(slots=True)
class _Call:
    """The known part of a call."""

    title: str = ""
    kind: str = ""
    name: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    content: str = ""
    changes: list[list[str]] = field(default_factory=list)
    output: str = ""
    exit: int | None = None
    told: bool = False
    done: bool = False


class Updates(Stream):
    """Parser of one attempt's updates. ``before`` and ``cost_before`` are what its session had used before."""

    def __init__(self, quirks: Quirks, *, before: int = 0, cost_before: float = 0.0) -> None:
        super().__init__(before=before)
        self.session_cost = self._cost_before = cost_before
        if quirks.sums_session:
            self.tokens = before
        self._quirks = quirks
        self._calls: OrderedDict[str, _Call] = OrderedDict()
        self._broken = False

    def update(self, data: Mapping[str, Any]) -> list[Observation]:
        """Return the observations in one update of the session."""
        return list(self._read(data))

    @property
    def calling(self) -> bool:
        """Return whether a call runs."""
        return any(call.told and not call.done for call in self._calls.values())

    def permission(self, data: Mapping[str, Any]) -> tuple[list[Observation], Observation, Clean]:
        """Return earlier observations, the call that a request for permission is about, and its reason."""
        before = list(self._message_so_far())
        told = mapping(data, "toolCall")
        id = text(told, "toolCallId")
        call = self._known(id)
        self._learn(call, told)
        call.told = True
        why = call.content if call.content != _about(call) else ""
        return before, self._call(id, _tool(call), _given(call)), admit(why, limit=_WHY_LIMIT)

    def turn_over(self, result: Mapping[str, Any], *, cached: int = 0) -> list[Observation]:
        """Return the observations at the end of a turn.

        ``cached`` of its tokens were read from a cache, where it does not say so itself.
        """
        observed = [*self._message_so_far(), *self._usage_of_turn(result, cached)]
        self.error = self.last_message.strip() if self._broken else ""
        return observed

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        kind = text(data, "sessionUpdate")
        if kind == "agent_message_chunk":
            self._pieces = (self._pieces + text(mapping(data, "content"), "text"))[-_PIECES_LIMIT:]
            usage = mapping(mapping(data, "_meta"), "usage")
            yield from self._used(_without_cache(usage, number(usage, "totalTokens")), written=_written(usage))
        elif kind in ("tool_call", "tool_call_update"):
            yield from self._message_so_far()
            yield from self._step(data)
        elif kind == "plan":
            yield from self._message_so_far()
            yield from self._plan(data)
        elif kind == "usage_update":
            yield from self._usage_so_far(data)
        elif kind == "session_info_update":
            # Codex ends such a turn well, and says only in its last message what its provider refused.
            status = mapping(mapping(mapping(data, "_meta"), "codex"), "threadStatus")
            yield from self._message_so_far()
            self._broken = text(status, "type") == "systemError" or (self._broken and not status)

    def _message_so_far(self) -> Iterator[Observation]:
        """Yield the message whose pieces are complete because another kind of update follows."""
        pieces, self._pieces = self._pieces, ""
        yield from self._message(pieces)

    def _known(self, id: str) -> _Call:
        call = self._calls.setdefault(id, _Call())
        if len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)
        return call

    def _step(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        id, status = text(data, "toolCallId"), text(data, "status")
        call = self._known(id)
        self._learn(call, data)
        over = status in ("completed", "failed")
        if not call.told and (over or _is_known(call)):
            call.told = True
            yield self._call(id, _tool(call), _given(call))
        if over and not call.done:
            call.done = True
            output, code = _outcome(call, data)
            unsuccessful = status == "failed" or has_failed(items(data, "rawOutput"))
            failed = bool(code) or (unsuccessful and code is None)
            yield self._result(id, _tool(call), output, failed=failed, exit_code=code)
            # Else a thousand whole files would stay in memory.
            call.given, call.content, call.output, call.changes = {}, "", "", []

    def _learn(self, call: _Call, data: Mapping[str, Any]) -> None:
        meta = mapping(data, "_meta")
        call.title = text(data, "title") or call.title
        call.kind = text(data, "kind") or call.kind
        call.name = (
            text(data, "name") or text(mapping(meta, "claudeCode"), "toolName") or text(meta, "toolName") or call.name
        )
        given = mapping(data, "rawInput")
        call.given = given if set(given) - _PLACE or not call.given else call.given
        if "content" in data:
            call.content = "\n".join(_texts(items(data, "content")))[-_PIECES_LIMIT:]
            call.changes = list(islice(_changes(items(data, "content")), _MOST_CHANGES)) or call.changes
        call.output = (call.output + text(mapping(meta, "terminal_output_delta"), "data"))[-_PIECES_LIMIT:]
        ended = exit_code(mapping(meta, "terminal_exit"), "exit_code")
        call.exit = call.exit if ended is None else ended

    def _plan(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        """Yield the plan as a step, so that an agent that repeats the same plan is noticed."""
        steps = [f"[{text(entry, 'status')}] {text(entry, 'content')}" for entry in items(data, "entries")]
        if steps:
            yield self._call("", "plan", steps)

    # --- usage -----------------------------------------------------------------------------------------------------

    def _usage_so_far(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        """Yield the cost in this process, and the tokens if the agent counts them per session."""
        cost = amount(mapping(data, "cost"), "amount") if text(mapping(data, "cost"), "currency") == "USD" else None
        if cost is not None and self._quirks.sums_cost:
            # The agent's sum over its session, which began before this process.
            self.session_cost, cost = cost, cost - self._cost_before if cost >= self._cost_before else cost
        tokens = number(mapping(data, "_meta"), "totalTokens") if self._quirks.sums_session else 0
        yield from self._used_in_all(max(tokens, self.tokens), cost)

    def _usage_of_turn(self, result: Mapping[str, Any], cached: int) -> Iterator[Observation]:
        counted = mapping(mapping(mapping(result, "_meta"), "quota"), "token_count")
        usage = mapping(result, "usage")
        tokens = _spent(usage) or _spent(counted)
        if self._quirks.sums_session:
            yield from self._used_in_all(tokens)
        else:
            written = _written(usage) or _written(counted)
            unreported = 0 if _cached(usage) or _cached(counted) else cached
            yield from self._used(max(written, tokens - unreported), written=written)


def _spent(usage: Mapping[str, Any]) -> int:
    """Return the tokens read and written, without those read from a cache."""
    read = number(usage, "inputTokens") or _without_cache(usage, number(usage, "input_tokens"))
    return read + number(usage, "cachedWriteTokens") + _written(usage)


def _written(usage: Mapping[str, Any]) -> int:
    return number(usage, "outputTokens") or number(usage, "output_tokens")


def _without_cache(usage: Mapping[str, Any], tokens: int) -> int:
    """Return ``tokens`` without those read from a cache, for an agent that counts them among its input."""
    return max(0, tokens - _cached(usage))


def _cached(usage: Mapping[str, Any]) -> int:
    names = ("cachedReadTokens", "cached_tokens", "cached_input_tokens", "cached")
    return next((number(usage, name) for name in names if number(usage, name)), 0)


def _is_known(call: _Call) -> bool:
    """Return whether the call's arguments are known."""
    return bool(set(call.given) - _PLACE)


def _tool(call: _Call) -> str:
    if call.kind == "execute":
        return "bash"
    return call.kind if call.kind not in ("", "other") else call.name or "tool"


def _about(call: _Call) -> str:
    return call.title.strip().strip("`")


def _given(call: _Call) -> Any:
    """Return the call's arguments, else the changes that it shows, else its title."""
    if call.kind != "execute":
        return call.given or call.changes or {"title": _about(call)}
    several = items(call.given, "commands")
    if several and all(isinstance(one, str) for one in several):
        return {"command": "\n".join(several)}
    command = call.given.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return {"command": command[-1] if len(command) == 3 and command[1] in ("-c", "-lc") else " ".join(command)}
    return {"command": command if isinstance(command, str) else _about(call)}


def _texts(content: Iterable[Any]) -> Iterator[str]:
    for part in content:
        output = text(mapping(part, "content"), "text") or text(part, "path")
        if output:
            fenced = _FENCED.fullmatch(output)
            yield fenced[1] if fenced else output


def _changes(content: Iterable[Any]) -> Iterator[list[str]]:
    """Yield what is done to each file that is shown as changed, its path, and the diff."""
    for part in content:
        if text(part, "type") == "diff":
            old = text(part, "oldText")
            diff = "\n".join(compared(old, text(part, "newText")))
            yield ["update" if old else "add", text(part, "path"), diff]


def _outcome(call: _Call, data: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the text of the call's result, and its exit code if there is one anywhere."""
    raw = data.get("rawOutput")
    if isinstance(raw, list):
        return results_of(raw)
    whole = raw if isinstance(raw, Mapping) else {}
    names = ("output", "aggregated_output", "error")
    output = raw if isinstance(raw, str) else next((text(whole, name) for name in names if text(whole, name)), "")
    output = output or call.output or call.content
    for code in (exit_code(whole, "exit_code"), exit_code(mapping(whole, "metadata"), "exit"), call.exit):
        if code is not None:
            return output, code
    for words in (output, call.content):
        found = _EXIT_CODE.match(words) or (_EXIT_CODE.search(words) if "\nExit Code: " in words else None)
        if found is not None:
            rest = words[found.end() :] if found.start() == 0 and found[1] else output
            return rest or output, int(found[1] or found[2])
    return output, None


def permission_outcome(request: Mapping[str, Any], *, allowed: bool) -> Mapping[str, Any]:
    """Return the answer to a request for permission; *cancelled* if it offers no such option.

    Options are chosen by kind, never by name: one that begins with *allow* may allow always.
    """
    options = items(request, "options")
    for kind in _KINDS[allowed]:
        for option in options:
            if text(option, "kind") == kind and text(option, "optionId"):
                return {"outcome": {"outcome": "selected", "optionId": text(option, "optionId")}}
    return CANCELLED
