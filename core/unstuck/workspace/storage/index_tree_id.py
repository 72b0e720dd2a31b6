"""What git has noted in an index of the tree that it would become: most trees need no process to be named."""

from __future__ import annotations

import re

__all__ = ["noted_tree"]

# The first line of git's list of folders ("cache tree", gitformat-index), for the top one: the files below it.
_TOP = re.compile(rb"\0(\d+) \d+\n")
_IDS = (20, 32)  # bytes; how long an id, and the checksum at the end of an index, may be


def noted_tree(index: bytes) -> tuple[str, int]:
    """The id of the tree that an ``index`` file would become, and how many files that has; empty where it says none.

    It says so from when git writes the tree until something is put into the index or taken out of it.
    """
    at = index.find(b"TREE")
    while at >= 0:
        for size in _IDS:
            if at < len(index) - size and _ends(index, at, len(index) - size) and (noted := _TOP.match(index, at + 8)):
                return index[noted.end() : noted.end() + size].hex(), int(noted[1])
        at = index.find(b"TREE", at + 1)
    return "", 0


def _ends(index: bytes, at: int, end: int) -> bool:
    """Whether the parts of an index, each its name, its length and what is in it, follow each other from here on."""
    while at < end:
        at += 8 + int.from_bytes(index[at + 4 : at + 8], "big")
    return at == end
