"""Parsers of agents that print JSON lines: calls, results, messages, usage, session. Pure.

One module per format; ``STREAMS`` holds the parsers by agent. The stream and the check decide, not the exit code.
"""

from __future__ import annotations

from collections.abc import Mapping

from unstuck.agents.streams.claude import ClaudeStream, QwenStream
from unstuck.agents.streams.cline import ClineStream
from unstuck.agents.streams.codex import CodexStream
from unstuck.agents.streams.gemini import GeminiStream
from unstuck.agents.streams.opencode import OpencodeStream
from unstuck.agents.streams.pi import PiStream
from unstuck.agents.streams.stream import LINE_LIMIT, Stream

__all__ = ["LINE_LIMIT", "STREAMS", "Stream"]

STREAMS: Mapping[str, type[Stream]] = {
    "claude": ClaudeStream,
    "codex": CodexStream,
    "gemini": GeminiStream,
    "qwen": QwenStream,
    "opencode": OpencodeStream,
    "pi": PiStream,
    "cline": ClineStream,
}
