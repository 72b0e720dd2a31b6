"""Entries of a file to which an agent is still writing: the output of an attempt, or a transcript.

Each look reads on from the last one. A damaged or huge line costs only itself, and memory is bounded.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from unstuck.agents.streams import Stream
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck.history.entries import Entries, Entry
from unstuck.history.parsers import AcpOutput, format_of, parser_of
from unstuck.history.session_reader import time_of
from unstuck.text import admit
from unstuck.words.amounts import sized

LINE_LIMIT = 2**20
"""Bytes of the longest line; a longer one is left out."""
WINDOW = 8 * 2**20
"""Bytes of the end of a file that are read; of a longer one its head is looked at for what it is."""
_HEAD = 2**18
_PIECE = 2**18
_MOST_EARLY, _EARLY_LIMIT = 400, 2_000


class OutputReader:
    """Entries of the file at ``path``. Paths below ``root`` are shown without it. Any thread may call it."""

    def __init__(self, path: Path, *, root: str = "", window: int = WINDOW) -> None:
        self.path, self._root, self._window = path, root, window
        self._turn = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._offset = 0
        self._rest = b""
        self._is_huge = False
        self._parser: Stream | None = None
        self._early: list[str | dict[str, Any]] = []
        self._entries = Entries(root=self._root)

    @property
    def kept(self) -> int:
        """Return the number of entries that :meth:`read` returns, without a message whose end has not come."""
        return len(self._entries.kept)

    @property
    def total(self) -> int:
        """Return the number of entries so far, also of those that are no longer kept."""
        return self._entries.total

    def read(self, *, is_ended: bool = False) -> tuple[Entry, ...] | None:
        """Return the entries so far; None for plain text. Raises OSError.

        A last line without its end counts once the agent ``is_ended``.
        """
        with self._turn, open_for_reading(self.path, _PIECE) as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:
                self._restart()
            while self._offset < size:
                if size - self._offset > self._window and self._offset >= _HEAD:
                    self._skip(size)
                file.seek(self._offset)
                piece = file.read(min(_PIECE, size - self._offset))
                if not piece:
                    break
                self._offset += len(piece)
                self._take(piece)
            if is_ended and self._rest:
                rest, self._rest = self._rest, b""
                self._line(rest)
            if self._parser is None:
                return None
            unfinished = admit(self._parser.unfinished)
            return (*self._entries.kept, *([Entry("said", unfinished)] if unfinished.strip() else []))

    def _skip(self, size: int) -> None:
        """Leave out what is more than the window, up to the begin of a line."""
        left_out = size - self._window - self._offset
        self._offset = size - self._window
        self._rest, self._is_huge = b"", True
        if isinstance(self._parser, AcpOutput):
            self._parser.begin()
        self._entries.note(f"… {sized(left_out)} left out …")

    def _take(self, piece: bytes) -> None:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole, self._rest = self._rest + line, b""
            if self._is_huge or len(whole) > LINE_LIMIT:
                self._is_huge = False
            else:
                self._line(whole)
        self._rest += rest
        if len(self._rest) > LINE_LIMIT:
            self._rest, self._is_huge = b"", True

    def _line(self, line: bytes) -> None:
        words = line.decode("utf-8", "replace").strip("\r")
        found: str | dict[str, Any] | None = _object(words) if words.startswith("{") else words
        if found is None:
            return  # a damaged message
        if self._parser is not None:
            self._add(self._parser, found)
            return
        format = format_of(found) if isinstance(found, dict) else None
        if len(self._early) < _MOST_EARLY:
            self._early.append(found if isinstance(found, dict) else found[:_EARLY_LIMIT])
        if format is not None:
            self._parser = parser_of(format)
            # A protocol begins with replies that do not show which one it is.
            for early in self._early:
                self._add(self._parser, early)
            self._early.clear()

    def _add(self, parser: Stream, found: str | dict[str, Any]) -> None:
        if isinstance(found, str):
            if found.strip():
                self._entries.note(found)
            return
        at, before = time_of(found), parser.error
        for seen in parser.take(found):
            self._entries.add(seen, at=at)
        # Some agents say as a message, too, which error ended them.
        if parser.error not in ("", before) and parser.error not in parser.last_message:
            self._entries.note(parser.error, apart=True)


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
