"""Snapshot: the state saved beside its log, so that a start reads only the records after it.

The log is the truth, and a snapshot may be deleted at any time. A bad one is therefore skipped, not repaired.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from unstuck.errors import RecordError
from unstuck.eventlog.log.log_format import Position
from unstuck.eventlog.storage.durable_files import open_for_reading, open_fresh, sync_directory, write_all

_HEAD = re.compile(
    rb'\{"v":1,"seq":(\d{1,18}),"offset":(\d{1,18}),"crc":"([0-9a-f]{8})","sha256":"([0-9a-f]{64})","state":'
)
_HEAD_LIMIT = 256
_END = b"}\n"


class Snapshot(NamedTuple):
    """The ``state`` after record ``seq``, which ends at byte ``offset`` with the checksum ``crc``."""

    seq: int
    offset: int
    crc: int
    state: bytes

    @property
    def position(self) -> Position:
        """Position at which reading the log continues."""
        return Position(self.seq, self.offset, self.crc)


def save(path: Path, *, seq: int, offset: int, crc: int, state: bytes, synced: bool = True) -> None:
    """Replace the snapshot atomically and keep the one before as ``<name>.1``. Blocks for two syncs.

    ``state`` is JSON. ``load`` finds a whole snapshot after a kill at any point. Without ``synced`` nothing is synced
    or kept, and a power cut may lose the snapshot. Raises RecordError.
    """
    half = path.with_name(path.name + ".tmp")
    try:
        _write(half, _encode(Snapshot(seq, offset, crc, state)), synced)
        if synced:
            with suppress(FileNotFoundError):
                path.replace(_previous(path))
        half.replace(path)
        if synced:
            sync_directory(path.parent)
    except OSError as problem:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        raise RecordError(f"{path}: snapshot not saved: {problem.strerror or problem}") from problem


def load(path: Path) -> Snapshot | None:
    """Return the newest whole snapshot, or None. ``log_format.holds`` checks whether it fits a log."""
    for candidate in (path, _previous(path)):
        with suppress(OSError):
            if snapshot := _read(candidate):
                return snapshot
    return None


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".1")


def _read(path: Path) -> Snapshot | None:
    with open_for_reading(path) as file:
        # Both ends are checked first, because the file may be of any size.
        if _HEAD.match(file.read(_HEAD_LIMIT)) is None:
            return None
        file.seek(-len(_END), os.SEEK_END)
        if file.read() != _END:
            return None
        file.seek(0)
        return _decode(file.read())


def _write(path: Path, data: bytes, synced: bool) -> None:
    fd = open_fresh(path)
    try:
        write_all(fd, data)
        if synced:
            os.fsync(fd)
    finally:
        os.close(fd)


def _encode(snapshot: Snapshot) -> bytes:
    head = b'{"v":1,"seq":%d,"offset":%d,"crc":"%08x","sha256":"%b","state":'
    seq, offset, crc, state = snapshot
    return head % (seq, offset, crc, _digest(snapshot)) + state + _END


def _decode(data: bytes) -> Snapshot | None:
    head = _HEAD.match(data)
    if head is None or not data.endswith(_END):
        return None
    snapshot = Snapshot(int(head[1]), int(head[2]), int(head[3], 16), data[head.end() : -len(_END)])
    return snapshot if _digest(snapshot) == head[4] else None


def _digest(snapshot: Snapshot) -> bytes:
    digest = hashlib.sha256(b"%d %d %08x " % snapshot[:3])
    digest.update(snapshot.state)
    return digest.hexdigest().encode()
