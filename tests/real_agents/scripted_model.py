"""A model that says what a test has written, on 127.0.0.1, in the four protocols that coding agents speak.

It is told apart by nothing but the path: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's
content. Every conversation is answered by the same function of what is in the request; side requests without tools
(titles, summaries) get one word.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, groupby
from typing import Any

__all__ = ["Asked", "ScriptedModel", "Turn"]

_SHELLS = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "run_commands")
_USAGE = (100, 10)
Call = tuple[str, Mapping[str, Any]]
"""A tool's name and what it is given."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Turn of the model: words, then one command to run, and calls of other tools, all at once.

    With ``full`` it says nothing: its provider refuses the request, because it is longer than the model's context.
    With ``spent`` the provider refuses it in these words, because the quota is used up.
    """

    text: str = ""
    command: str = ""
    calls: tuple[Call, ...] = ()
    full: bool = False
    spent: str = ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request. ``turns`` are the conversation's, as (role, text); roles are user, assistant and tool."""

    path: str
    body: dict[str, Any]
    turns: tuple[tuple[str, str], ...]
    at: float = field(default_factory=time.monotonic)

    @property
    def text(self) -> str:
        """All that the model is told, as it stands in the body."""
        return "\n".join(text for _, text in self.turns)

    @property
    def last(self) -> str:
        """Return the messages since the model spoke."""
        said = []
        for role, text in reversed(self.turns):
            if role == "assistant":
                break
            said.append(text)
        return "\n".join(reversed(said))

    @property
    def answered(self) -> int:
        """Return the number of the model's turns since the last words of a person."""
        roles = [role for role, _ in self.turns]
        people = [place for place, role in enumerate(roles) if role == "user"]
        return roles[people[-1] if people else 0 :].count("assistant")


class ScriptedModel:
    """Listens while it is entered; ``url`` is where. ``asked`` are the requests with tools, in their order.

    ``cached`` of the tokens that it reads in each come from its cache, in the protocols that count them among the rest.
    With ``plain`` it speaks with an agent that has no tools.
    """

    cached = 0
    plain = False

    def __init__(self, answer: Callable[[Asked], Turn]) -> None:
        self._answer = answer
        self.asked: list[Asked] = []
        self.failures: list[str] = []
        self._moved = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, path: str, body: dict[str, Any]) -> Turn:
        """Return the reply to a request."""
        if not (body.get("tools") or self.plain):
            return Turn(text="ok")
        asked = Asked(path=path, body=body, turns=tuple(_joined(_turns(body))))
        with self._moved:
            self.asked.append(asked)
            self._moved.notify_all()
        try:
            return self._answer(asked)
        except Exception as error:  # the agent would only see a broken connection
            self.failures.append(repr(error))
            return Turn(text="The script is broken.")

    def wait(self, found: Callable[[Asked], object], *, after: int = 0, seconds: float = 120) -> Asked:
        """The first request from number ``after`` on for which ``found`` holds. Raises TimeoutError."""
        limit = time.monotonic() + seconds
        with self._moved:
            while True:
                hit = next((asked for asked in self.asked[after:] if found(asked)), None)
                if hit is not None:
                    return hit
                if not self._moved.wait(limit - time.monotonic()):
                    raise TimeoutError(f"no such request within {seconds} s; {len(self.asked)} came")


def _joined(turns: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The same with what one side says in several pieces as one."""
    for role, group in groupby(turns, key=lambda turn: turn[0]):
        yield role, "\n".join(text for _, text in group)


def _turns(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for place, message in enumerate(body.get("messages") or []):
        yield from _anthropic_or_chat(message, is_first=place == 0)
    for item in body.get("input") or [] if isinstance(body.get("input"), list) else []:
        yield from _response_item(item)
    for content in body.get("contents") or []:
        role = "assistant" if content.get("role") == "model" else "user"
        parts = content.get("parts") or []
        if any("functionResponse" in part for part in parts):
            role = "tool"
        yield role, "\n".join(_flat(part) for part in parts)


def _anthropic_or_chat(message: dict[str, Any], *, is_first: bool) -> Iterator[tuple[str, str]]:
    content, role = message.get("content"), message.get("role", "user")
    blocks = content if isinstance(content, list) else [content]
    if role == "user" and any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks):
        role = "tool"
    if role == "system" and not is_first:
        role = "tool"  # what the agent adds in between
    if role in ("user", "assistant", "tool"):
        yield role, "\n".join(_flat(block) for block in blocks)


def _response_item(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind, role = item.get("type", "message"), item.get("role")
    if kind == "message" and role in ("user", "assistant"):
        yield role, "\n".join(_flat(part) for part in item.get("content") or [])
    elif kind == "message":
        yield "tool", "\n".join(_flat(part) for part in item.get("content") or [])
    elif kind.endswith("_output"):
        yield "tool", _flat(item.get("output"))
    elif kind.endswith("_call"):
        yield "assistant", _flat(item)


def _flat(value: Any) -> str:
    """Every text inside."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_flat(one) for one in value)
    if isinstance(value, dict):
        return "\n".join(_flat(one) for key, one in value.items() if key not in ("type", "role", "id"))
    return ""


def _shell_tool(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of the tool that runs a command."""
    found: dict[str, dict[str, Any]] = {}
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or [tool]:
            about = one.get("function") or one
            schema = about.get("input_schema") or about.get("parameters") or about.get("parametersJsonSchema") or {}
            found[about.get("name") or about.get("type") or ""] = schema.get("properties") or {}
    name = next((name for name in _SHELLS if name in found), "")
    if not name:
        raise LookupError(f"no shell among {sorted(found)}")
    return name, found[name]


def _calls(body: dict[str, Any], turn: Turn) -> list[Call]:
    return [*([_shell_call(body, turn.command)] if turn.command else []), *turn.calls]


def _shell_call(body: dict[str, Any], command: str) -> Call:
    name, properties = _shell_tool(body)
    if name == "run_commands":
        return name, {"commands": [command]}
    key = "cmd" if "cmd" in properties else "command"
    as_list = properties.get(key, {}).get("type") == "array"
    given: dict[str, Any] = {key: ["bash", "-lc", command] if as_list else command}
    if "description" in properties:
        given["description"] = "as told"
    if "is_background" in properties:
        given["is_background"] = False
    return name, given


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel
    numbers = count(1)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Lists of models, and whatever else is looked at before work begins."""
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_HEAD(self) -> None:
        """Is anybody there?"""
        self._json({})

    def do_POST(self) -> None:
        """A turn of a conversation."""
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if "count" in path.lower():
            self._json({"input_tokens": _USAGE[0], "totalTokens": _USAGE[0]})
            return
        turn = self.model.reply(path, body)
        if turn.full:
            self._full(path)
            return
        if turn.spent:
            error = {"type": "rate_limit_error", "message": turn.spent}
            self._send("application/json", json.dumps({"type": "error", "error": error}).encode(), 429)
            return
        try:
            calls = _calls(body, turn)
            if path.endswith("/messages"):
                self._messages(body, turn.text, calls)
            elif path.endswith("/responses"):
                self._responses(turn.text, calls)
            elif path.endswith("/chat/completions"):
                self._chat(body, turn.text, calls)
            elif "enerateContent" in path:
                self._gemini(path, turn.text, calls)
            else:
                self.send_error(404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _json(self, value: Any, status: int = 200) -> None:
        self._send("application/json", b"" if self.command == "HEAD" else json.dumps(value).encode(), status)

    def _send(self, kind: str, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: list[tuple[str, Any]]) -> None:
        lines = []
        for name, value in events:
            data = value if isinstance(value, str) else json.dumps(value)
            lines.append((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
        self._send("text/event-stream", "".join(lines).encode())

    def _full(self, path: str) -> None:
        """Refuse a request in the words of the protocol's own provider."""
        if path.endswith("/responses"):
            words = "Your input exceeds the context window of this model. Please adjust your input and try again."
            error = {"code": "context_length_exceeded", "message": words}
            response = {"id": self._id("resp"), "object": "response", "status": "failed", "error": error, "output": []}
            self._events([("response.failed", {"type": "response.failed", "sequence_number": 0, "response": response})])
        elif path.endswith("/messages"):
            words = "prompt is too long: 210012 tokens > 200000 maximum"
            self._json({"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400)
        elif path.endswith("/chat/completions"):
            words = (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130412 "
                "tokens. Please reduce the length of the messages."
            )
            error = {"message": words, "type": "invalid_request_error", "param": "messages"}
            self._json({"error": error | {"code": "context_length_exceeded"}}, 400)
        else:
            words = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
            self._json({"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}, 400)

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers):08d}"

    def _messages(self, body: dict[str, Any], text: str, calls: list[Call]) -> None:
        usage = {"input_tokens": _USAGE[0], "output_tokens": _USAGE[1]}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for name, given in calls:
            blocks.append({"type": "tool_use", "id": self._id("toolu"), "name": name, "input": given})
        reason = "tool_use" if calls else "end_turn"
        message = {"id": self._id("msg"), "type": "message", "role": "assistant", "model": body.get("model")}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            self._json({**message, "content": blocks, "stop_reason": reason})
            return
        events: list[tuple[str, Any]] = [("message_start", {"message": message})]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append(("content_block_start", {"index": index, "content_block": start}))
            events.append(("content_block_delta", {"index": index, "delta": delta}))
            events.append(("content_block_stop", {"index": index}))
        ended = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": _USAGE[1]}}
        events += [("message_delta", ended), ("message_stop", {})]
        self._events([(name, {"type": name, **value}) for name, value in events])

    def _responses(self, text: str, calls: list[Call]) -> None:
        output: list[dict[str, Any]] = []
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            output.append({"type": "message", "id": self._id("msg"), "role": "assistant", "content": content})
        for name, given in calls:
            # The tools of a server are named within it in this protocol alone.
            server, _, tool = name.rpartition("__")
            call = {"name": tool, "arguments": json.dumps(given), "call_id": self._id("call")}
            call |= {"namespace": server} if server else {}
            output.append({"type": "function_call", "id": self._id("fc"), **call})
        usage: dict[str, Any] = {"input_tokens": _USAGE[0], "output_tokens": _USAGE[1], "total_tokens": sum(_USAGE)}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": self._id("resp"), "object": "response", "model": "scripted", "output": []}
        events: list[tuple[str, Any]] = [("response.created", {"response": {**response, "status": "in_progress"}})]
        for index, item in enumerate(output):
            events.append(("response.output_item.added", {"output_index": index, "item": item}))
            events.append(("response.output_item.done", {"output_index": index, "item": item}))
        done = {**response, "status": "completed", "output": output, "usage": usage}
        events.append(("response.completed", {"response": done}))
        self._events([(name, {"type": name, "sequence_number": n, **value}) for n, (name, value) in enumerate(events)])

    def _chat(self, body: dict[str, Any], text: str, calls: list[Call]) -> None:
        tools = []
        for name, given in calls:
            function = {"name": name, "arguments": json.dumps(given)}
            tools.append({"index": len(tools), "id": self._id("call"), "type": "function", "function": function})
        usage: dict[str, Any] = {
            "prompt_tokens": _USAGE[0],
            "completion_tokens": _USAGE[1],
            "total_tokens": sum(_USAGE),
            "prompt_tokens_details": {"cached_tokens": self.model.cached},
        }
        base = {"id": self._id("chatcmpl"), "created": int(time.time()), "model": body.get("model")}
        reason = "tool_calls" if tools else "stop"
        said: dict[str, Any] = {"role": "assistant", "content": text or None}
        if tools:
            said["tool_calls"] = tools
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": reason}
            self._json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**base, "object": "chat.completion.chunk"}
        parts: list[Any] = [
            {**chunk, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**chunk, "choices": [], "usage": usage},
            "[DONE]",
        ]
        self._events([("", part) for part in parts])

    def _gemini(self, path: str, text: str, calls: list[Call]) -> None:
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": name, "args": given}} for name, given in calls]
        usage = {"promptTokenCount": _USAGE[0], "candidatesTokenCount": _USAGE[1], "totalTokenCount": sum(_USAGE)}
        usage["cachedContentTokenCount"] = self.model.cached
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        said = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        if re.search("stream", path, re.IGNORECASE):
            self._events([("", said)])
        else:
            self._json(said)
