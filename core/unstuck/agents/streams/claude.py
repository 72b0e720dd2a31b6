"""Parser of ``claude -p … --output-format stream-json --verbose``, and of Qwen Code with the same format. Pure.

Each content block is a line; the blocks of one message share its id and repeat its usage. The result of a failed
command has ``is_error`` and begins with ``Exit code N``. The last line has the totals of the process and its
sub-agents, whose lines name the call that started them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unstuck.agents.streams.gemini import shell_result
from unstuck.agents.streams.stream import Stream, amount, canonical, items, mapping, number, text
from unstuck.contract import Observation

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b[ \t]*\n?")
_REFUSED = re.compile(r"\[API Error: (.{1,4000})\]", re.DOTALL)
_LETTERS_IN_TOKEN = 4
# Messages of the harness, and those that are echoed to whoever sent them.
_NOT_OF_THE_PERSON = ("isSynthetic", "isMeta", "isReplay")
_LIVE_MESSAGES = 64  # messages of the main agent and its sub-agents alternate


class ClaudeStream(Stream):
    """Claude Code. ``total_cost_usd`` is the cost of this process; newer versions sum the session there."""

    cached_is_input = False

    def __init__(self, *, before: int = 0, written_before: int = 0) -> None:
        super().__init__(before=before, written_before=written_before)
        self._seen_written = 0
        self._at_result = 0, 0.0, 0
        self._counted: deque[str] = deque(maxlen=_LIVE_MESSAGES)

    def _id(self, data: Mapping[str, Any]) -> str:
        return text(data, "uuid")

    def _read(self, data: Mapping[str, Any]) -> Iterable[Observation]:
        self._names_session(data.get("session_id"))
        agent = text(data, "parent_tool_use_id")
        match text(data, "type"):
            case "assistant":
                yield from self._assistant(mapping(data, "message"), agent)
            case "user":
                for block in items(mapping(data, "message"), "content"):
                    if text(block, "type") == "tool_result":
                        yield self._tool_result(block, agent)
                    elif not (agent or any(data.get(name) for name in _NOT_OF_THE_PERSON)):
                        yield from self._asked(text(block, "text"))
            case "result":
                yield from self._end(data)
            case "system":
                self._names_model(data.get("model"))
                yield Observation(kind="alive")

    def _assistant(self, message: Mapping[str, Any], agent: str) -> Iterator[Observation]:
        id = text(message, "id")
        for block in items(message, "content"):
            match text(block, "type"):
                case "text":
                    yield from self._message(text(block, "text"), agent=agent)
                case "tool_use":
                    call, tool = text(block, "id"), text(block, "name")
                    yield self._call(call, tool, mapping(block, "input"), agent=agent)
        usage = mapping(message, "usage")
        tokens, written = self._tokens(usage), number(usage, "output_tokens")
        if id and tokens and id not in self._counted:
            self._counted.append(id)
            yield from self._used(tokens, written=written)
        # The blocks of a message come with the usage of its beginning, in which hardly anything is written.
        self._seen_written += sum(len(canonical(block)) for block in items(message, "content")) // _LETTERS_IN_TOKEN

    def close(self) -> list[Observation]:
        """Return what was written and not reported by a process that was ended before its last line."""
        more = 0 if self.ended or self.cached_is_input else self._seen_written - self.written
        return list(self._used(more, written=max(0, more)))

    def _tool_result(self, block: Mapping[str, Any], agent: str) -> Observation:
        call = text(block, "tool_use_id")
        output = _content(block)
        failed = block.get("is_error") is True
        found = _EXIT_CODE.match(output) if failed else None
        # The code becomes a number, and the text is the command's own output, if there is any.
        return self._result(
            call,
            self._tool_of(call),
            output[found.end() :] or output if found else output,
            failed=failed,
            exit_code=int(found[1]) if found else None,
            agent=agent,
        )

    def _end(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        self.ended = True
        for denied in items(data, "permission_denials"):
            call = text(denied, "tool_use_id")
            if call not in self.denied:
                self._call(call, text(denied, "tool_name"), mapping(denied, "tool_input"))
                self._deny(call)
        if data.get("is_error") is True or text(data, "subtype").startswith("error"):
            said = text(data, "result") or _texts(data, "errors") or text(mapping(data, "error"), "message")
            self.error = said or text(data, "subtype") or "it failed"
        yield from self._rest(data)

    def _rest(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        recent = mapping(data, "model_usage_since_last_result")
        models = [model for model in (recent or mapping(data, "modelUsage")).values() if isinstance(model, Mapping)]
        names = ("inputTokens", "cacheCreationInputTokens", "outputTokens")
        # The usage by model includes the sub-agents.
        total = sum(number(model, name) for model in models for name in names)
        written = sum(number(model, "outputTokens") for model in models)
        total, cost = total or self._tokens(mapping(data, "usage")), amount(data, "total_cost_usd")
        if recent:
            tokens, spent, before = self._at_result
            total, written = tokens + total, before + written
            cost = spent + sum(amount(model, "costUSD") or 0.0 for model in models)
        yield from self._used_in_all(total, cost, written)
        self._at_result = self.tokens, self.cost or 0.0, self.written

    def _tokens(self, usage: Mapping[str, Any]) -> int:
        """Return the tokens read and written, without those read from a cache."""
        cached = number(usage, "cache_read_input_tokens") if self.cached_is_input else 0
        read = number(usage, "input_tokens") + number(usage, "cache_creation_input_tokens")
        return max(0, read - cached) + number(usage, "output_tokens")


class QwenStream(ClaudeStream):
    """Qwen Code. Its input includes cached tokens. A newer version tells of a failed command, with its exit code."""

    cached_is_input = True

    def _tool_result(self, block: Mapping[str, Any], agent: str) -> Observation:
        call, failed = text(block, "tool_use_id"), block.get("is_error") is True
        output, code = shell_result(_content(block))
        code = code if failed else None
        return self._result(call, self._tool_of(call), output, failed=failed, exit_code=code, agent=agent)

    def _end(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        yield from super()._end(data)
        # It ends well where the provider refused its request, and says so only in its last message.
        if (refused := _REFUSED.fullmatch(text(data, "result").strip())) is not None:
            self.error = refused[1]

    def _rest(self, data: Mapping[str, Any]) -> Iterator[Observation]:
        # Its last line sums the whole session, and its messages have reported all usage of this process.
        return iter(())


def _content(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    # A picture is no empty result.
    parts = ("[image]" if text(part, "type") == "image" else text(part, "text") for part in items(block, "content"))
    return "\n".join(part for part in parts if part)


def _texts(data: Mapping[str, Any], key: str) -> str:
    return "\n".join(part for part in items(data, key) if isinstance(part, str))
