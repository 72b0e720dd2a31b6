"""Format of the log: one JSON object per line, numbered without gaps and chained by checksums.

A line is ``{"v":1,"seq":N,…,"safe":M,"crc":"xxxxxxxx"}`` in ASCII. The checksum is the CRC-32 of the line's bytes
before ``,"crc":``, continued from the line before. A changed, missing, repeated or moved line is therefore noticed. All
records up to M were synced before this line was written.

Bytes after the last whole line are either *torn* or damage. A crash or a power cut leaves torn bytes, which were never
acknowledged (see ``torn_tail``). Damage is refused, because a guess would rewrite history.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from unstuck.errors import RecordDamaged, RecordError
from unstuck.eventlog.log.torn_tail import SECTOR, was_never_synced
from unstuck.eventlog.storage.durable_files import open_for_reading, refuse_links

SCHEMA = 1
LINE_LIMIT = 16 * 1024 * 1024
"""Largest size of a line in bytes. Longer texts belong in files of their own."""

_HOLE = bytes(SECTOR)
_TOLD_BYTES = 1 << 20
_SEAL = b',"crc":"%08x"}\n'
_SEAL_SIZE = len(_SEAL % 0)
_THIS = b'{"v":%d,"seq":%%d,' % SCHEMA
_HEAD = re.compile(rb'\{"v":(\d{1,9}),"seq":(\d{1,18}),')


class Position(NamedTuple):
    """The end of record ``seq``: ``offset`` bytes into the file, with the checksum ``crc`` of all before it."""

    seq: int = 0
    offset: int = 0
    crc: int = 0


START = Position()


class Line(NamedTuple):
    """One record: ``offset`` is where it starts, ``raw`` its bytes with the newline, ``version`` its schema number."""

    seq: int
    offset: int
    raw: bytes
    version: int
    crc: int

    @property
    def end(self) -> Position:
        """Position at which the next record starts."""
        return Position(self.seq, self.offset + len(self.raw), self.crc)


class Inspection(NamedTuple):
    """Result for an undamaged log: ``bytes`` of whole records, then ``torn`` bytes."""

    records: int
    bytes: int
    last_crc: int
    torn: int

    @property
    def end(self) -> Position:
        """Position at which a writer appends the next record."""
        return Position(self.records, self.bytes, self.last_crc)


def read_lines(
    path: Path,
    *,
    after: int = 0,
    start: Position = START,
    safe: int = 0,
    report: Callable[[int], None] = lambda size: None,
) -> Iterator[Line]:
    """Yield the records after number ``after``, each checked from ``start`` on. Stops before a torn tail.

    Holds one line at a time. ``start`` skips the records that a snapshot covers. Records up to ``safe`` are known to
    have been synced, so zeros there are damage. A line of a newer schema is not damage and has another ``version``;
    it is yielded wherever it stands. ``report`` gets the bytes of each part that was read.
    Raises RecordDamaged, and RecordError where the file cannot be read.
    """
    seq, offset, crc = start
    told, tell_at = offset, offset + _TOLD_BYTES
    try:
        refuse_links(path.parent)
        with open_for_reading(path) as file:
            if not _seek(file, start):
                raise RecordDamaged(path, seq, offset, f"record {seq} does not end here")
            readline, crc32 = file.readline, zlib.crc32  # looked up once: every record of a long log passes here
            while raw := readline(LINE_LIMIT + 1):
                seq += 1
                crc = crc32(raw[:-_SEAL_SIZE], crc)
                version = SCHEMA if raw.startswith(_THIS % seq) else _version(raw, seq)
                if version is None or not raw.endswith(_SEAL % crc):
                    if not _is_relined(raw, crc) and _is_torn(raw, file, Position(seq, offset), safe):
                        break
                    raise RecordDamaged(path, seq, offset, _problem(raw, seq))
                if seq > after or version != SCHEMA:
                    yield tuple.__new__(
                        Line, (seq, offset, raw, version, crc)
                    )  # in half the time of its own constructor
                offset += len(raw)
                if offset > tell_at:
                    report(offset - told)
                    told, tell_at = offset, offset + _TOLD_BYTES
            report(offset - told)
    except OSError as problem:
        raise RecordError(f"{path}: cannot be read: {problem.strerror or problem}") from problem


def next_line(raw: bytes, end: Position) -> Line:
    """Return ``raw`` as the record after ``end``. Raises ValueError with the problem of a line that is not."""
    seq, crc = end.seq + 1, zlib.crc32(raw[:-_SEAL_SIZE], end.crc)
    version = _version(raw, seq)
    if version is None or raw[-_SEAL_SIZE:] != _SEAL % crc or len(raw) > LINE_LIMIT:
        raise ValueError(_problem(raw, seq))
    return Line(seq, end.offset, raw, version, crc)


def verify(path: Path, *, start: Position = START, safe: int = 0) -> Inspection:
    """Check every record from ``start`` on. Raises as ``read_lines`` does."""
    end = start
    for line in read_lines(path, start=start, safe=safe):
        end = line.end
    return Inspection(end.seq, end.offset, end.crc, path.stat().st_size - end.offset)


def holds(path: Path, position: Position) -> bool:
    """Return whether a record with this checksum ends at ``position``, False if the file cannot be read."""
    try:
        with open_for_reading(path) as file:
            return _seek(file, position)
    except OSError:
        return False


def _seek(file: IO[bytes], position: Position) -> bool:
    """Seek ``position`` and return whether a record ends there."""
    if position == START:
        return True
    file.seek(max(0, position.offset - _SEAL_SIZE))
    return file.read(_SEAL_SIZE) == _SEAL % position.crc


def _version(raw: bytes, seq: int) -> int | None:
    """Return the schema number of a line that has the number ``seq``, None for any other line."""
    head = _HEAD.match(raw)
    return int(head[1]) if head and head[2] == b"%d" % seq else None


def _is_relined(raw: bytes, crc: int) -> bool:
    """Return whether a whole record has another byte instead of its newline, which is damage and not torn.

    A zero does not count, because a lost sector may hold only that byte.
    """
    return raw[-_SEAL_SIZE:-1] == (_SEAL % crc)[:-1] and raw[-1:] not in b"\n\0"


def _is_torn(raw: bytes, file: IO[bytes], place: Position, safe: int) -> bool:
    """Return whether a line that does not fit its ``place`` is the rest of an interrupted write.

    That is a line without its newline, or one with zeros that was never synced: file systems may write the sectors of
    one append in any order. A whole line with a wrong checksum is damage, because it may have been acknowledged.
    """
    ended = raw.endswith(b"\n")
    if not ended and all(b"\n" not in block for block in iter(lambda: file.read(1 << 20), b"")):
        return True
    if b"\0" not in raw or safe >= place.seq:
        return False
    is_last = ended and not file.read(1)
    never = was_never_synced(file, place.offset, place.seq, safe)
    return is_last and _HOLE in raw if never is None else never


def _problem(raw: bytes, seq: int) -> str:
    """Return the problem of a line in the place of record ``seq``."""
    head = _HEAD.match(raw)
    if b"\0" in raw:
        return "zeros in the place of what may have been acknowledged"
    if not raw.endswith(b"\n"):
        return f"the line is longer than {LINE_LIMIT} bytes" if len(raw) > LINE_LIMIT else "its line end was changed"
    if head is None:
        return "not a record"
    if head[2] != b"%d" % seq:
        return f"record {int(head[2])} where record {seq} belongs"
    return "the checksum does not fit"


def check_body(body: bytes) -> None:
    """Raise ValueError for a body that cannot be a record."""
    if not (body.startswith(b"{") and body.endswith(b"}") and body.isascii() and b"\n" not in body):
        raise ValueError("a record is one JSON object in ASCII on one line")
    if len(body) > LINE_LIMIT - 128:
        raise ValueError(f"a record of {len(body)} bytes is too long")


def framed(seq: int, body: bytes, previous: int, safe: int | None = None) -> tuple[bytes, int]:
    """Return the line of record ``seq`` and its checksum, continued from ``previous``.

    ``safe`` is the last synced record, by default the one before.
    """
    fields = body[1:-1].strip()
    safe = seq - 1 if safe is None else safe
    head = b'{"v":%d,"seq":%d%b%b,"safe":%d' % (SCHEMA, seq, b"," if fields else b"", fields, safe)
    crc = zlib.crc32(head, previous)
    return head + _SEAL % crc, crc
