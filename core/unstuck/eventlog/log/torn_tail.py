"""Torn tail: the rest of an append that a power cut interrupted before it was synced.

Any sector of such an append may be lost and read as zeros, so that whole records may follow a hole. A hole may be
repaired only if its records were never acknowledged.

Records are written in batches. Each batch is synced before the next one is written, and each line holds as ``safe`` the
last record synced before. A power cut takes no sector of a synced batch. A hole in the last batch was therefore never
acknowledged. A line of a later batch, a snapshot, or a sector that is partly zeros proves damage instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

SECTOR = 512
_BLOCK = 256 * SECTOR
_MARK = re.compile(rb',"safe":(\d{1,18}),"crc":"[0-9a-f]{8}"\}\n\Z')
_MARK_SIZE = 64
"""Bytes in which every mark fits."""


def was_never_synced(file: IO[bytes], start: int, seq: int, safe: int) -> bool | None:
    """Return whether the bytes from ``start`` on, the place of record ``seq``, are a batch that was never synced.

    ``safe`` is the number of a record that is known to have been synced. None if the remaining line ends do not prove
    it, as in logs of the first format.
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
    # A hole in the first record of a batch may start with the record instead of a sector.
    return _is_made_of_sectors(file, start, begins_here=marks == {seq - 1})


def _marks(file: IO[bytes], start: int) -> Iterator[int | None]:
    """Yield the ``safe`` number of each line end from ``start`` on, None for a line without one and without zeros."""
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
    """Return whether every sector from ``start`` on has no zeros or only zeros."""
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
