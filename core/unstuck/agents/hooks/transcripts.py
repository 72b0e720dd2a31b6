"""Transcripts of an agent's sessions: token usage, and the exit codes of Codex, which its hooks do not report.

A meter continues where it last stopped, so that a call costs the same however long the session is. Lines of another
format are skipped: the count can be too low, which does no harm.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from unstuck.agents.streams.stream import mapping, number, text

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
        self._turn = threading.Lock()

    def more(self, path: str, subagent: str = "") -> int:
        """Return the tokens used since the last call, from the transcripts of the session and ``subagent``.

        ``path`` is the session's. Blocks; several threads may call it.
        """
        if self._read_line is None or not os.path.isabs(path):
            return 0
        with self._turn:
            # Existing lines are earlier usage; only a sub-agent may have begun since.
            begun = bool(self._transcripts)
            used = self._more(path, from_end=True)
            # A sub-agent's last reply is written after its last call.
            used += sum(
                self._more(other, from_end=False) for other in list(self._transcripts)[-_RECENT:] if other != path
            )
            if self._apart and _SUBAGENT.fullmatch(subagent):
                used += self._more(
                    f"{path.removesuffix('.jsonl')}/subagents/agent-{subagent}.jsonl", from_end=not begun
                )
            return used

    def _more(self, path: str, *, from_end: bool) -> int:
        try:
            with opened_file(path) as (descriptor, size):
                transcript = self._known(path, size if from_end else 0)
                return self._read(transcript, descriptor, size) if transcript is not None else 0
        except FileNotFoundError:
            self._known(path, 0)
        except OSError:
            pass
        return 0

    def _known(self, path: str, start: int) -> _Transcript | None:
        if path not in self._transcripts and len(self._transcripts) < _MOST_FILES:
            self._transcripts[path] = _Transcript(offset=start)
        return self._transcripts.get(path)

    def _read(self, transcript: _Transcript, descriptor: int, size: int) -> int:
        if size <= transcript.offset:
            transcript.offset = size  # rewritten: its earlier usage was counted
            return 0
        piece = os.pread(descriptor, _PIECE, transcript.offset)
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


def _qwen(data: Any) -> tuple[str, int]:
    usage = mapping(data, "usageMetadata")
    read = max(0, number(usage, "promptTokenCount") - number(usage, "cachedContentTokenCount"))
    return text(data, "uuid"), read + number(usage, "candidatesTokenCount")


_READERS: Mapping[str, Callable[[Any], tuple[str, int]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
}
"""Functions from a line to the id of the model's reply (empty for none) and its tokens without cached ones."""


def exit_code(path: str, call: str) -> int | None:
    """Return the exit code of ``call`` in Codex's transcript at ``path``; None if it is not there."""
    if not call or not os.path.isabs(path):
        return None
    for line in reversed(_tail(path).split(b"\n")):
        if (
            call.encode("utf-8", "replace") in line
            and b'"exit_code"' in line
            and (code := _code(line, call)) is not None
        ):
            return code
    return None


def _tail(path: str) -> bytes:
    try:
        with opened_file(path) as (descriptor, size):
            return os.pread(descriptor, _TAIL, max(0, size - _TAIL))
    except OSError:
        return b""


@contextmanager
def opened_file(path: str) -> Iterator[tuple[int, int]]:
    """Yield a descriptor of the file at ``path`` and its size. Raises OSError for anything but a readable file."""
    try:
        # Without O_NONBLOCK a pipe in its place would block forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(str(error)) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no file")
        yield descriptor, found.st_size
    finally:
        os.close(descriptor)


def _code(line: bytes, call: str) -> int | None:
    try:
        record: Any = json.loads(line)
        item = record["payload"]["item"]
        found = item["exit_code"] if item["id"] == call else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if type(found) is int and found in _CODES else None
