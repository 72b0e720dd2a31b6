"""Parsers of what agents keep of their sessions, one module per format, and which of them reads an object. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from unstuck.agents.streams import STREAMS, Stream
from unstuck.agents.streams.stream import mapping, text
from unstuck.history.parsers.acp import AcpOutput
from unstuck.history.parsers.appserver import AppServerOutput
from unstuck.history.parsers.claude import ClaudeTranscript
from unstuck.history.parsers.codex import CodexTranscript
from unstuck.history.parsers.gemini import GeminiTranscript
from unstuck.history.parsers.opencode import OpencodeTranscript
from unstuck.history.parsers.qwen import QwenTranscript

__all__ = ["TRANSCRIPTS", "AcpOutput", "Format", "format_of", "is_known_version", "parser_of"]

TRANSCRIPTS: Mapping[str, type[Stream]] = {
    "claude": ClaudeTranscript,
    "codex": CodexTranscript,
    "gemini": GeminiTranscript,
    "qwen": QwenTranscript,
    "opencode": OpencodeTranscript,
}
_PROTOCOLS: Mapping[str, type[AcpOutput | AppServerOutput]] = {"acp": AcpOutput, "codex": AppServerOutput}
_KNOWN_VERSIONS = {"claude": ("2.1",), "codex": ("0.169",), "qwen": ("0.15", "0.24"), "opencode": ("1.18",)}
"""Versions whose transcripts are recorded in the tests, up to the second number. Gemini writes none."""
_CODEX_RECORDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_CLAUDE_LINES = frozenset({"system", "assistant", "user", "result"})


class Format(NamedTuple):
    """The agent that wrote a file: its own transcript, its stream, or its side of a protocol."""

    agent: str
    form: Literal["transcript", "stream", "protocol"]


def parser_of(format: Format) -> Stream:
    if format.form == "protocol":
        return _PROTOCOLS[format.agent]()
    return (TRANSCRIPTS if format.form == "transcript" else STREAMS)[format.agent]()


def is_known_version(agent: str, version: str) -> bool:
    """Return whether transcripts of this version were tried; True for an agent that names none."""
    known = _KNOWN_VERSIONS.get(agent)
    return not version or known is None or any(version == one or version.startswith(f"{one}.") for one in known)


def format_of(data: Mapping[str, Any]) -> Format | None:
    """Return the format that ``data`` is an object of; None if it belongs to none, or to several."""
    kind, method, params = text(data, "type"), text(data, "method"), mapping(data, "params")
    if method == "session/update" and text(mapping(params, "update"), "sessionUpdate"):
        return Format("acp", "protocol")
    if "jsonrpc" in data and "agentCapabilities" in mapping(data, "result"):
        return Format("acp", "protocol")
    if method.partition("/")[0] in ("thread", "turn", "item") and (text(params, "threadId") or "thread" in params):
        return Format("codex", "protocol")
    if isinstance(data.get("payload"), Mapping) and kind in _CODEX_RECORDS:
        return Format("codex", "transcript")
    if kind.partition(".")[0] in ("thread", "turn", "item") and "." in kind:
        return Format("codex", "stream")
    if "projectHash" in data or "$set" in data or kind == "gemini":
        return Format("gemini", "transcript")
    if text(data, "sessionID"):
        is_known = isinstance(data.get("part"), Mapping) or kind == "error"
        return Format("opencode", "stream") if is_known else None
    if text(data, "sessionId"):
        is_qwen = "parts" in mapping(data, "message") or "systemPayload" in data
        return Format("qwen" if is_qwen else "claude", "transcript") if text(data, "uuid") else None
    if kind == "session" and text(data, "cwd") and text(data, "id"):
        return Format("pi", "stream")
    if kind in ("agent_event", "run_result") and (isinstance(data.get("event"), Mapping) or "finishReason" in data):
        return Format("cline", "stream")
    if kind == "init" and text(data, "session_id"):
        return Format("gemini", "stream")
    if kind in _CLAUDE_LINES and (text(data, "session_id") or "content" in mapping(data, "message")):
        return Format("qwen" if "qwen_code_version" in data else "claude", "stream")
    return None
