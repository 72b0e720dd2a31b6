"""What an agent that is spoken with says, line by line, however it comes; no I/O of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unstuck.errors import UnstuckError
from unstuck.text import one_line

__all__ = ["LINE_LIMIT", "Lines", "ProtocolProblem"]

LINE_LIMIT = 16 * 2**20
"""Bytes of the longest line that is read; whoever says more is not understood any more."""
_SHOWN = 300


class ProtocolProblem(UnstuckError):
    """An agent does not speak as it should; nothing more is heard of it."""


class Lines:
    """Puts pieces together to objects. Lines that begin as none are passed over: a program may print warnings.

    Unless ``strict``, those that only begin as one are passed over, too.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The objects that end in this piece. Raises ProtocolProblem for half an object, or one without an end."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = b"".join((*self._parts, line))
            self._parts, self._size = [], 0
            self._require(len(whole))
            found = _object(whole) if whole.lstrip().startswith(b"{") else None
            if found is not None:
                yield found
            elif self._strict and whole.lstrip().startswith(b"{"):
                raise ProtocolProblem(f"it said a line that is no JSON: {shown(whole)}")
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            self._require(self._size)

    def _require(self, size: int) -> None:
        if size > LINE_LIMIT:
            self._parts = []
            raise ProtocolProblem(f"it said a line of more than {LINE_LIMIT // 2**20} MiB")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def shown(line: bytes) -> str:
    """The beginning of a line, to be shown."""
    return one_line(line[:_SHOWN].decode(errors="replace"), _SHOWN)
