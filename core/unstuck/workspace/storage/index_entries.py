"""The entries of a git index file (gitformat-index): each file's content id, with its size and time on disk."""

from __future__ import annotations

import struct
from typing import NamedTuple

_FIXED = 40  # bytes before the id: times, place on disk, mode, owner, size
_EXTENDED = 0x4000
_OVERLOOKED = 0x8000
_STAGE = 0x3000
_MARKS = 0x6000  # of the second flags: left out of the tree, or only announced


class Entry(NamedTuple):
    """One file. ``size`` in bytes and ``changed_at`` (its ctime, in ns) are of when git last looked at it.

    ``is_plain`` is off for an entry that git was told to overlook, that is left out of the tree or not merged.
    """

    path: bytes
    mode: int
    id: str
    size: int
    changed_at: int
    is_plain: bool


def read_entries(index: bytes, id_size: int) -> list[Entry] | None:
    """Return the entries of an ``index`` file whose ids have ``id_size`` bytes; None where they are not all in it."""
    try:
        signature, version, count = struct.unpack_from(">4sLL", index)
        if signature != b"DIRC" or version not in (2, 3, 4):
            return None
        found, at = _entries(index, version, count, id_size)
        return None if _depends(index, at, len(index) - id_size) else found
    except (struct.error, ValueError, IndexError):
        return None


def _entries(index: bytes, version: int, count: int, id_size: int) -> tuple[list[Entry], int]:
    unpack = struct.Struct(f">LL16xL8xL{id_size}sH").unpack_from
    length = _FIXED + id_size + 2
    found: list[Entry] = []
    at, path = 12, b""
    add, find = found.append, index.index
    for _ in range(count):
        seconds, rest, mode, size, id, flags = unpack(index, at)
        name, marked = at + length, flags & (_OVERLOOKED | _STAGE)
        if flags & _EXTENDED:
            marked |= (index[name] << 8 | index[name + 1]) & _MARKS
            name += 2
        if version == 4:
            cut, name = _number(index, name)
            end = find(b"\0", name)
            path = path[: len(path) - cut] + index[name:end]
            at = end + 1
        else:
            end = find(b"\0", name)
            path = index[name:end]
            at += (end - at + 8) & ~7
        add(Entry(path, mode, id.hex(), size, seconds * 10**9 + rest, not marked))
    return found, at


def _depends(index: bytes, at: int, end: int) -> bool:
    """True where one of the parts behind the entries changes what they mean: its name begins with a small letter."""
    while at < end:
        if index[at : at + 1].islower():
            return True
        at += 8 + int.from_bytes(index[at + 4 : at + 8], "big")
    return False


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number of variable length at ``at``, as in a pack's offsets, and where it ends."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | index[at] & 0x7F
    return value, at + 1
