"""A state saved beside its log, so that a start need not read the log from the beginning.

A snapshot may always be thrown away: the log is the truth. Hence a bad one is skipped, never repaired or reported.
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

__all__ = ["Snapshot", "load", "save"]

_HEAD = re.compile(
    rb'\{"v":1,"seq":(\d{1,18}),"offset":(\d{1,18}),"crc":"([0-9a-f]{8})","sha256":"([0-9a-f]{64})","state":'
)
_HEAD_LIMIT = 256
_END = b"}\n"


class Snapshot(NamedTuple):
    """``state`` is what the log's records up to ``seq`` come to; that record ends at byte ``offset`` with ``crc``."""

    seq: int
    offset: int
    crc: int
    state: bytes

    @property
    def position(self) -> Position:
        """Where reading the log goes on."""
        return Position(self.seq, self.offset, self.crc)


def save(path: Path, *, seq: int, offset: int, crc: int, state: bytes) -> None:
    """Replace the snapshot in one step, keeping the one before as ``<name>.1``. Blocks for two syncs.

    ``state`` is JSON. Whenever this is killed, ``load`` finds a whole snapshot. Raises RecordError.
    """
    half = path.with_name(path.name + ".tmp")
    try:
        _write(half, _encode(Snapshot(seq, offset, crc, state)))
        with suppress(FileNotFoundError):
            path.replace(_previous(path))
        half.replace(path)
        sync_directory(path.parent)
    except OSError as problem:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        raise RecordError(f"{path}: snapshot not saved: {problem.strerror or problem}") from problem


def load(path: Path) -> Snapshot | None:
    """The newest whole snapshot, or None where there is none. Whether it fits a log, ``log.holds`` can tell."""
    for candidate in (path, _previous(path)):
        with suppress(OSError):
            if snapshot := _read(candidate):
                return snapshot
    return None


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".1")


def _read(path: Path) -> Snapshot | None:
    with open_for_reading(path) as file:
        # Its two ends come first: a file of any size may lie here, and only a snapshot is worth reading as a whole.
        if _HEAD.match(file.read(_HEAD_LIMIT)) is None:
            return None
        file.seek(-len(_END), os.SEEK_END)
        if file.read() != _END:
            return None
        file.seek(0)
        return _decode(file.read())


def _write(path: Path, data: bytes) -> None:
    fd = open_fresh(path)
    try:
        write_all(fd, data)
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
