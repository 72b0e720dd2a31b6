"""What an agent that prints JSON lines tells of its work: calls, results, messages, usage, its session. Pure.

One module per format; ``STREAMS`` are the readers by the agent's name. An exit code is not believed: what the stream
says, and the check, are.
"""

from __future__ import annotations

from collections.abc import Mapping

from unstuck.agents.streams.claude import ClaudeStream, QwenStream
from unstuck.agents.streams.codex import CodexStream
from unstuck.agents.streams.gemini import GeminiStream
from unstuck.agents.streams.opencode import OpencodeStream
from unstuck.agents.streams.stream import LINE_LIMIT, Stream

__all__ = ["LINE_LIMIT", "STREAMS", "Stream"]

STREAMS: Mapping[str, type[Stream]] = {
    "claude": ClaudeStream,
    "codex": CodexStream,
    "gemini": GeminiStream,
    "qwen": QwenStream,
    "opencode": OpencodeStream,
}
