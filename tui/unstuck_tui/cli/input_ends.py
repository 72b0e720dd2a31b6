"""The two ends of an input of any length, with bounded memory."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["MOST_READ", "Ends", "ends_of"]

# Of what has no end, as /dev/zero, this much is read: a second's work.
MOST_READ = 2**30


@dataclass(frozen=True, slots=True)
class Ends:
    """``data`` is everything, or the head and the tail with a line feed between them.

    ``total`` and ``left_out`` count bytes; ``ended`` is False where reading stopped before the end of the input.
    """

    data: bytes
    total: int
    left_out: int = 0
    ended: bool = True


def ends_of(stream: BinaryIO, head: int, tail: int, most: int = MOST_READ) -> Ends:
    """The first ``head`` and the last ``tail`` bytes of ``stream``. A file is not read in between, a pipe is.

    Waits for as long as the other end of a pipe does, and raises OSError as reading does.
    """
    # A read that goes on until it has all of it would not see a signal that comes in between, and then wait for ever.
    read = getattr(stream, "read1", stream.read)
    first, last = b"", bytearray()
    while len(first) < head and (chunk := read(head - len(first))):
        first += chunk
    total = len(first)
    skipped = max(0, _rest(stream) - tail)
    if skipped:
        stream.seek(skipped, os.SEEK_CUR)
        total, most = total + skipped, most + skipped
    while total < most and (chunk := read(tail)):
        total += len(chunk)
        last += chunk
        if len(last) > 2 * tail:
            del last[:-tail]
    del last[:-tail]
    left_out = total - len(first) - len(last)
    return Ends(b"\n".join((first, last)) if left_out else first + last, total, left_out, total < most)


def _rest(stream: BinaryIO) -> int:
    """The bytes of a plain file that are still to come; 0 where that is unknown."""
    try:
        status = os.fstat(stream.fileno())
        return max(0, status.st_size - stream.tell()) if stat.S_ISREG(status.st_mode) else 0
    except OSError:
        return 0
