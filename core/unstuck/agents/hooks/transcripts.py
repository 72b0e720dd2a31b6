"""Transcripts of an agent's sessions: token usage, and the exit codes of Codex, which its hooks do not report.

A meter continues where it last stopped, so that a call costs the same however long the session is. Lines of another
format are skipped: the count can be too low, which does no harm.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstuck.agents.streams.stream import mapping, number, text
from unstuck.eventlog.storage.text_files import read_piece

_PIECE = 2**20
"""Most bytes read in one call; the next call reads the rest."""
_MOST_FILES = 1_024
_RECENT = 8
"""Number of newest sub-agents whose transcripts are read with every call of the session."""
_REPLIES_KEPT = 64
_TAIL = 2**20
_CODES = range(-255, 256)
_SUBAGENT = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class _Transcript:
    """Read offset of a transcript, and the tokens counted of its newest replies, which may be written in pieces."""

    offset: int
    counted: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def more(self, reply: str, tokens: int) -> int:
        """Return the uncounted part of the ``tokens`` of this reply."""
        before = self.counted.pop(reply, 0)
        self.counted[reply] = max(before, tokens)
        if len(self.counted) > _REPLIES_KEPT:
            self.counted.popitem(last=False)
        return max(0, tokens - before)


class Meter:
    """Token counter of one session of ``agent``, from its first call on."""

    def __init__(self, agent: str) -> None:
        self._read_line = _READERS.get(agent)
        self._apart = agent == "claude"
        self._transcripts: dict[str, _Transcript] = {}
        self._turn = asyncio.Lock()
        self._used = 0

    async def more(self, path: str, subagent: str = "", *, whole: bool = False) -> int:
        """Return the tokens used since the last call, from the transcripts of the session and ``subagent``.

        ``path`` is the session's. Its existing lines are earlier usage, unless it is read as a ``whole``. Calls at the
        same time take turns.
        """
        if self._read_line is None or not os.path.isabs(path):
            return 0
        async with self._turn:
            # Only a sub-agent may have begun since.
            begun = bool(self._transcripts)
            self._used += await self._more(path, from_end=not whole)
            # A sub-agent's last reply is written after its last call.
            for other in list(self._transcripts)[-_RECENT:]:
                self._used += await self._more(other, from_end=False) if other != path else 0
            if self._apart and _SUBAGENT.fullmatch(subagent):
                self._used += await self._more(
                    f"{path.removesuffix('.jsonl')}/subagents/agent-{subagent}.jsonl", from_end=not begun
                )
            # Kept until here: a call that is cancelled leaves its part to the next one.
            used, self._used = self._used, 0
            return used

    async def _more(self, path: str, *, from_end: bool) -> int:
        known = self._transcripts.get(path)
        try:
            # Of a transcript that is read from its end on, the first look is at its size only.
            limit = 0 if known is None and from_end else _PIECE
            piece, size = await read_piece(Path(path), known.offset if known else 0, limit)
        except FileNotFoundError:
            self._known(path, 0)
        except OSError:
            pass
        else:
            transcript = self._known(path, size if from_end else 0)
            return self._count(transcript, piece, size) if transcript is not None else 0
        return 0

    def _known(self, path: str, start: int) -> _Transcript | None:
        if path not in self._transcripts and len(self._transcripts) < _MOST_FILES:
            self._transcripts[path] = _Transcript(offset=start)
        return self._transcripts.get(path)

    def _count(self, transcript: _Transcript, piece: bytes, size: int) -> int:
        if size <= transcript.offset:
            transcript.offset = size  # rewritten: its earlier usage was counted
            return 0
        end = piece.rfind(b"\n") + 1
        if not end and len(piece) == _PIECE:
            end = len(piece)  # a line that is too long is skipped
        transcript.offset += end
        return sum(self._tokens(transcript, line) for line in piece[:end].splitlines())

    def _tokens(self, transcript: _Transcript, line: bytes) -> int:
        assert self._read_line is not None
        if b'"usage' not in line and b'"tokens"' not in line:
            return 0
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return 0
        reply, tokens = self._read_line(data)
        return transcript.more(reply, tokens) if reply else 0


def _claude(data: Any) -> tuple[str, int]:
    message = mapping(data, "message")
    usage = mapping(message, "usage")
    read = number(usage, "input_tokens") + number(usage, "cache_creation_input_tokens")
    return text(message, "id"), read + number(usage, "output_tokens")


def _codex(data: Any) -> tuple[str, int]:
    record = mapping(data, "payload")
    usage = mapping(record, "usage")
    read = max(0, number(usage, "input_tokens") - number(usage, "cached_input_tokens"))
    return text(record, "response_id"), read + number(usage, "output_tokens")


def _gemini(data: Any) -> tuple[str, int]:
    usage = mapping(data, "tokens")
    read = max(0, number(usage, "input") - number(usage, "cached"))
    return text(data, "id"), read + number(usage, "output") + number(usage, "thoughts")


def _gemini_cache(data: Any) -> tuple[str, int]:
    return text(data, "id"), number(mapping(data, "tokens"), "cached")


def _qwen(data: Any) -> tuple[str, int]:
    usage = mapping(data, "usageMetadata")
    read = max(0, number(usage, "promptTokenCount") - number(usage, "cachedContentTokenCount"))
    return text(data, "uuid"), read + number(usage, "candidatesTokenCount")


_READERS: Mapping[str, Callable[[Any], tuple[str, int]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "gemini cache": _gemini_cache,
    "qwen": _qwen,
}
"""Functions from a line to the id of the model's reply (empty for none) and its tokens without cached ones."""


async def exit_code(path: str, call: str) -> int | None:
    """Return the exit code of ``call`` in Codex's transcript at ``path``; None if it is not there."""
    if not call or not os.path.isabs(path):
        return None
    for line in reversed((await _tail(path)).split(b"\n")):
        if (
            call.encode("utf-8", "replace") in line
            and b'"exit_code"' in line
            and (code := _code(line, call)) is not None
        ):
            return code
    return None


async def _tail(path: str) -> bytes:
    try:
        return (await read_piece(Path(path), -_TAIL, _TAIL))[0]
    except OSError:
        return b""


def _code(line: bytes, call: str) -> int | None:
    try:
        record: Any = json.loads(line)
        item = record["payload"]["item"]
        found = item["exit_code"] if item["id"] == call else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if type(found) is int and found in _CODES else None
