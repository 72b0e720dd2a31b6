"""Base of the parsers of an agent's JSON lines. Pure.

Lines of another version, broken lines and noise are skipped, so a parser may report too little but does no harm.
"""

from __future__ import annotations

import json
import re
import shlex
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from unstuck.contract import Observation
from unstuck.text import Clean, admit, one_line

LINE_LIMIT = 2**20
"""Bytes of the longest line; a longer one is skipped, as the agent's next line says enough."""

_MESSAGES_LIMIT = 64 * 1024
_TEXT_LIMIT = 16_000
_CANONICAL_LIMIT = 15_000
_LEAST_VALUE = 256
_NAME_LIMIT = 100
_KEYS_KEPT = 4_096
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SHELLS = frozenset({"bash", "shell", "run_shell_command", "exec_command", "local_shell", "command_execution"})
_MOST_CALLS = 4_096
_MOST_DENIED = 64
_DENIED = re.compile(
    r"(?:Error: )?(?:This (?:Bash )?command (?:requires approval|contains multiple operations\. The following parts? "
    r"requires? approval(?:: (?P<part>[^\n]+))?)"
    r"|Claude requested permissions? to .{1,300} but you haven't granted it yet"
    r"|Permission to use .{1,300} has been denied|.{1,200} was blocked\. For security, Claude Code may only "
    r"|Qwen Code requires permission to use .{1,200} but that permission was declined"
    r"|Tool execution (?:for .{1,200} )?(?:was )?denied (?:by|because)|Tool \"run_shell_command\" not found"
    r"|The user (?:rejected permission to use this|has specified a rule which prevents you from using this))"
)
"""Beginning of the result of a call that was not allowed, in the words of known agents."""
_SHELL_WRAPPED = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh -l?c ")


class Stream(ABC):
    """Parser of one attempt, line by line; a repeated line is ignored.

    ``session`` is the agent's own session, ``model`` the model it names, ``messages`` its last messages, ``error`` its
    own error message; each may be empty. ``ended`` is set once the agent reports its end. ``tokens`` counts its usage,
    ``written`` the part that was written. For an agent that counts per session (``sums_session``), ``before`` and
    ``written_before`` are the session's usage before this process. ``denied`` are the calls that were not allowed, each
    a tool and what it was to do, by their ids.
    """

    sums_session = False

    def __init__(self, *, before: int = 0, written_before: int = 0) -> None:
        self.session = self.model = self.error = ""
        self.ended = False
        self.tokens = before if self.sums_session else 0
        self.cost: float | None = None
        self.written = written_before if self.sums_session else 0
        self._pieces = ""
        self._messages: deque[str] = deque()
        self._messages_length = 0
        self._keys: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._actions: OrderedDict[str, tuple[Clean, Clean]] = OrderedDict()
        self.denied: dict[str, tuple[str, str]] = {}

    @property
    def messages(self) -> str:
        """Return the last messages of the agent, joined by line ends."""
        return "\n".join(self._messages)

    @property
    def unfinished(self) -> str:
        """Return the message whose end has not come yet; empty if there is none."""
        return self._pieces

    @property
    def last_message(self) -> str:
        """Return the last message of the agent; empty without one."""
        return self._messages[-1] if self._messages else ""

    def read(self, line: str | bytes) -> list[Observation]:
        """Return the observations in ``line``; none if it is not a line of this agent."""
        if len(line) > LINE_LIMIT:
            return []
        try:
            data = json.loads(line if isinstance(line, str) else line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return []
        return self.take(data) if isinstance(data, dict) else []

    def take(self, data: Mapping[str, Any]) -> list[Observation]:
        """Return the observations in one object of the stream."""
        return [] if self._is_repeated((text(data, "type"), self._id(data))) else list(self._read(data))

    def _is_repeated(self, key: tuple[str, str]) -> bool:
        """Return whether this object came before; one without an id never did."""
        if not key[1]:
            return False
        repeated = key in self._keys
        self._keys[key] = None
        if len(self._keys) > _KEYS_KEPT:
            self._keys.popitem(last=False)
        return repeated

    def _id(self, data: Mapping[str, Any]) -> str:
        """Return the object's id among those of its type; empty if the agent gives none."""
        return ""

    def close(self) -> list[Observation]:
        """Return the observations that are due once the process has ended."""
        return []

    @abstractmethod
    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        """Yield the observations in one object of the stream."""

    def _names_session(self, value: Any) -> None:
        if not self.session and isinstance(value, str) and _SESSION.fullmatch(value):
            self.session = value

    def _names_model(self, value: Any) -> None:
        if isinstance(value, str) and value:
            self.model = one_line(value, _NAME_LIMIT)

    def _message(self, words: str, *, id: str = "", agent: str = "") -> Iterator[Observation]:
        if not words.strip():
            return
        if not agent:
            self._messages.append(words[-_MESSAGES_LIMIT:])
            self._messages_length += len(self._messages[-1])
            while self._messages_length > _MESSAGES_LIMIT and len(self._messages) > 1:
                self._messages_length -= len(self._messages.popleft())
        yield Observation(
            kind="message", role="agent", tool="message", text=_clean(words), id=_name(id), agent_id=_name(agent)
        )

    def _asked(self, words: str) -> Iterator[Observation]:
        """Yield a message of the person."""
        if words.strip():
            yield Observation(kind="message", role="user", tool="message", text=_clean(words))

    def _call(self, id: str, tool: str, given: Any, *, agent: str = "") -> Observation:
        command = given.get("command") if isinstance(given, Mapping) else None
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            command = shlex.join(command)
        is_shell = tool.lower() in _SHELLS
        action = unwrapped(command) if is_shell and isinstance(command, str) else f"{tool} {canonical(given)}"
        called = Observation(kind="action", text=_clean(action), id=_name(id), tool=_tool(tool), agent_id=_name(agent))
        self._actions[id] = called.tool, called.text  # type: ignore[assignment]
        if len(self._actions) > _MOST_CALLS:
            self._actions.popitem(last=False)
        return called

    def _tool_of(self, id: str) -> str:
        """Return the tool of the call with this id."""
        return self._actions.get(id, ("tool", ""))[0]

    def _deny(self, id: str, part: str = "") -> None:
        """Note that the call with this id, or a ``part`` of its command, was not allowed."""
        if id in self._actions and len(self.denied) < _MOST_DENIED:
            tool, action = self._actions[id]
            self.denied.setdefault(id, (tool, _clean(part) or action))

    def error_beside(self, printed: str) -> str:
        """Return the error in what was ``printed`` beside the stream; empty where the stream's own says as much."""
        return ""

    def denied_beside(self, printed: str) -> Iterable[tuple[str, str]]:
        """Return the calls that were not allowed according to what the agent printed beside its JSON."""
        return ()

    def _result(
        self, id: str, tool: str, output: str, *, failed: bool, exit_code: int | None = None, agent: str = ""
    ) -> Observation:
        if failed and exit_code is None and (found := _DENIED.match(output)):
            self._deny(id, found["part"] or "")
        kind: Literal["failure", "success"] = "failure" if failed else "success"
        return Observation(
            kind=kind, text=_clean(output), id=_name(id), tool=_tool(tool), exit_code=exit_code, agent_id=_name(agent)
        )

    def _used(self, tokens: int, cost: float | None = None, written: int = 0) -> Iterator[Observation]:
        """Yield the usage since the last report."""
        if tokens > 0 or cost:
            self.tokens += max(0, tokens)
            self.written += written
            if cost:
                self.cost = (self.cost or 0.0) + cost
            yield Observation(kind="usage", tokens=max(0, tokens), cost=cost, written=written)

    def _used_in_all(self, tokens: int, cost: float | None = None, written: int = 0) -> Iterator[Observation]:
        """Yield the unreported part of this process's total usage."""
        more = max(0.0, cost - (self.cost or 0.0)) if cost is not None else None
        yield from self._used(tokens - self.tokens, more, max(0, written - self.written))


def _value(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else None


def text(data: Any, key: str) -> str:
    """Return the text at ``key``, else an empty one."""
    value = _value(data, key)
    return value if isinstance(value, str) else ""


def mapping(data: Any, key: str) -> Mapping[str, Any]:
    """Return the object at ``key``, else an empty one."""
    value = _value(data, key)
    return value if isinstance(value, Mapping) else {}


def items(data: Any, key: str) -> list[Any]:
    """Return the list at ``key``, else an empty one."""
    value = _value(data, key)
    return value if isinstance(value, list) else []


def number(data: Any, key: str) -> int:
    """Return the count at ``key``, else 0."""
    value = _value(data, key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def amount(data: Any, key: str) -> float | None:
    """Return the amount of money at ``key``, else None."""
    value = _value(data, key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else None


def exit_code(data: Any, key: str) -> int | None:
    """Return the exit code at ``key``, else None."""
    value = _value(data, key)
    return value if isinstance(value, int) and not isinstance(value, bool) and -255 <= value <= 255 else None


def unwrapped(command: str) -> str:
    """Return the command inside a shell call: ``make`` for ``/bin/bash -lc 'make'``."""
    if not _SHELL_WRAPPED.match(command):
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


def canonical(value: Any) -> str:
    """Return ``value`` as canonical JSON; a value that could be parsed may still be nested too deeply to be written.

    Where it is too long, the middle of its long texts is left out, so that it stays JSON if it can.
    """
    try:
        written = _written(value)
        limit = _CANONICAL_LIMIT
        while len(written) > _CANONICAL_LIMIT and limit > _LEAST_VALUE:
            limit //= 2
            written = _written(_shortened(value, limit))
    except RecursionError:
        return "(nested too deeply)"
    return written[:_TEXT_LIMIT]


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _shortened(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return admit(value, limit=limit)
    if isinstance(value, list):
        return [_shortened(one, limit) for one in value]
    return {key: _shortened(one, limit) for key, one in value.items()} if isinstance(value, dict) else value


def _tool(name: str) -> str:
    return "bash" if name.lower() in _SHELLS else _name(name).lower()


def _clean(words: str) -> Clean:
    return admit(words, limit=_TEXT_LIMIT)


@lru_cache(maxsize=4_096)
def _name(words: str) -> Clean:
    # Every name comes several times: of tools, of sub-agents, of a call and its result.
    return one_line(words, limit=_NAME_LIMIT)
