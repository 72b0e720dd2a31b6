"""What a power cut leaves of an append that was not synced yet: any of its sectors may be there, zeros in place of the
others, so that whole records may stand behind a hole.

Such a hole may only be repaired where nobody can have been told that what stood there was safe. Records are written in
batches, one after the other, each synced before the next is written; each says in its line, as ``safe``, up to which
record everything was synced before it was written. A batch that was acknowledged was synced, and then a power cut takes
none of its sectors: so a hole in a batch after which no other was begun was never acknowledged. Whatever says
otherwise (a line of a later batch, a snapshot, anything but whole sectors of zeros) makes it damage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

__all__ = ["SECTOR", "was_never_synced"]

SECTOR = 512
_BLOCK = 256 * SECTOR
_MARK = re.compile(rb',"safe":(\d{1,18}),"crc":"[0-9a-f]{8}"\}\n\Z')
_MARK_SIZE = 64
"""More bytes than the longest mark has."""


def was_never_synced(file: IO[bytes], start: int, seq: int, safe: int) -> bool | None:
    """Whether what follows byte ``start``, where record ``seq`` should stand, is provably a batch without its sync.

    ``safe`` is the number of a record that is known to have been synced. None where the line ends that are left do not
    tell, as those of the first logs.
    """
    marks: set[int] = set()
    for mark in _marks(file, start):
        if mark is None:
            return None
        marks.add(mark)
        if len(marks) > 1 or mark >= seq or mark < safe:
            return False
    if not marks:
        return None
    # Where the hole is in the batch's first record, it may begin with the record instead of with a sector.
    return _is_made_of_sectors(file, start, begins_here=marks == {seq - 1})


def _marks(file: IO[bytes], start: int) -> Iterator[int | None]:
    """What the line ends from ``start`` on say to be safe: None for one that says nothing, though no zero is in it."""
    file.seek(start)
    tail = b""
    for piece in iter(lambda: file.readline(_BLOCK), b""):
        tail = (tail + piece)[-_MARK_SIZE:]
        if piece.endswith(b"\n"):
            found = _MARK.search(tail)
            if found or b"\0" not in tail:
                yield int(found[1]) if found else None
            tail = b""


def _is_made_of_sectors(file: IO[bytes], start: int, *, begins_here: bool) -> bool:
    """Whether every sector from ``start`` on is either free of zeros or nothing else."""
    into = start % SECTOR
    file.seek(start - into)
    first = file.read(SECTOR)
    if b"\0" in first and (first[into:].strip(b"\0") or not (begins_here or into == 0)):
        return False
    for block in iter(lambda: file.read(_BLOCK), b""):
        sectors = (block[at : at + SECTOR] for at in range(0, len(block), SECTOR)) if b"\0" in block else ()
        if any(b"\0" in sector and sector.strip(b"\0") for sector in sectors):
            return False
    return True
