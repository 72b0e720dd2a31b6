"""A unified diff of which only the head of each file is kept, however long it is. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass

_HEADER = b"\ndiff --git "
_FILE_LIMIT = 100_000
_LIMIT = 900_000
_READ_LIMIT = 32 * 2**20


class DiffHeads:
    """``take`` gets a diff in pieces and keeps ``text``: of a file at most ``of_file`` bytes, in whole lines.

    It wants no more once ``most`` bytes are kept or ``read`` were looked at, and then ``is_full``; ``files`` have begun
    until then. A line below a file's head counts what is left out of it.
    """

    def __init__(self, *, of_file: int = _FILE_LIMIT, most: int = _LIMIT, read: int = _READ_LIMIT) -> None:
        self._of_file, self._most, self._left_to_read = of_file, most, read
        self._kept = bytearray()
        self._unread = b"\n"  # what may be the begin of a header; the first one stands at the begin
        self._room = self._left_out = self.files = 0
        self._is_cut = False

    @property
    def is_full(self) -> bool:
        """Return whether more may have come than was looked at."""
        return self._left_to_read <= 0 or len(self._kept) >= self._most

    def take(self, piece: bytes) -> bool:
        """The next piece; whether more is wanted."""
        self._left_to_read -= len(piece)
        data = self._unread + piece
        while (place := data.find(_HEADER)) >= 0:
            self._put(data[: place + 1])
            if self.is_full:
                return False
            self._begin()
            data = data[place + 1 :]
        looked_at = max(0, len(data) - len(_HEADER) + 1)
        self._put(data[:looked_at])
        self._unread = data[looked_at:]
        return not self.is_full

    def text(self) -> bytes:
        """Kept part of the diff."""
        if self.is_full:
            self._cut()
        else:
            self._put(self._unread)
        self._unread = b""
        return bytes(self._kept + self._said())

    def _begin(self) -> None:
        self._kept += self._said()
        self._room, self._left_out, self._is_cut = self._of_file, 0, False
        self.files += 1

    def _put(self, part: bytes) -> None:
        if not self.files:
            return
        if not self._is_cut:
            self._kept += part[: self._room]
            if len(part) <= self._room:
                self._room -= len(part)
                return
            part = part[self._room :]
            self._cut()
        self._left_out += part.count(b"\n")

    def _cut(self) -> None:
        """Keep whole lines: a part of one could hide half a secret, which nobody would know for one."""
        self._is_cut = True
        del self._kept[self._kept.rfind(b"\n") + 1 :]

    def _said(self) -> bytes:
        if not self._is_cut:
            return b""
        more = "more lines" if not self._left_out else f"{self._left_out} lines and more"
        return f" … {more if self.is_full else f'{self._left_out} lines'} left out … \n".encode()


@dataclass(frozen=True, slots=True)
class Counted:
    """Lines ``added`` and ``removed`` in ``path``; None for both where it is no text."""

    path: str
    added: int | None
    removed: int | None


def parse_counts(out: bytes) -> tuple[Counted, ...]:
    """Read ``git diff-tree --numstat --no-renames -z``, sorted by path."""
    found = []
    for row in out.split(b"\0")[:-1]:
        added, removed, path = row.split(b"\t", 2)
        is_text = added.isdigit() and removed.isdigit()
        lines = (int(added), int(removed)) if is_text else (None, None)
        found.append(Counted(os.fsdecode(path), *lines))
    return tuple(sorted(found, key=lambda one: one.path))
