"""JSON objects from the lines of an agent's output, however the bytes are split. No input or output of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unstuck.errors import UnstuckError
from unstuck.text import one_line

LINE_LIMIT = 16 * 2**20
"""Bytes of the longest line; a longer one ends the conversation."""
_SHOWN = 300


class ProtocolProblem(UnstuckError):
    """Violation of the protocol by an agent, which ends the conversation."""


class Lines:
    """Joins pieces into objects. Lines that do not begin as one are skipped: a program may print warnings.

    Unless ``strict``, broken objects are skipped, too.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """Yield the objects that end in ``piece``. Raises ProtocolProblem for a broken object or a line too long."""
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
    """Return the beginning of a line for an error message."""
    return one_line(line[:_SHOWN].decode(errors="replace"), _SHOWN)
