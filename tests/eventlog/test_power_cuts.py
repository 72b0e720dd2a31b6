"""A power cut: of what was written but not synced, any sector may be there or not."""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from pathlib import Path

import pytest
from tests.eventlog.conftest import Disk

from unstuck.errors import RecordDamaged, RecordWriteFailed
from unstuck.eventlog.log import writer
from unstuck.eventlog.log.log_format import read_lines, verify
from unstuck.eventlog.log.writer import LogWriter

SECTOR = 512
MARK = re.compile(rb'"safe":\d+,"crc":"\w{8}"}\n')


class Cut(Exception):
    """The power is gone in the middle of a sync."""


@pytest.mark.parametrize("seed", range(6))
async def test_a_power_cut_takes_only_what_was_not_acknowledged(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Cut at a sync, whichever sectors of the batch had reached the disk: every acknowledged record is there.

    The next start repairs what is left, also a hole before whole records; it refuses only where not one line end is
    left that could tell that nothing of it was acknowledged.
    """
    draw = random.Random(seed)
    path = tmp_path / "events.jsonl"
    safe: list[bytes] = [b""]
    cut_at = draw.randrange(2, 8)
    sync = disk.fdatasync

    def syncing(fd: int) -> None:
        sync(fd)
        if disk.syncs == cut_at:
            raise Cut
        safe[0] = path.read_bytes()

    monkeypatch.setattr(disk, "fdatasync", syncing, raising=False)
    monkeypatch.setattr(writer.LogWriter, "_fail_log", lambda self, problem: self._post(lambda: self._fail("cut")))
    log = LogWriter.open(path)
    acknowledged, appended = 0, []
    try:
        while True:
            for _ in range(draw.randrange(1, 40)):
                appended.append(log.append(b'{"data":"%b"}' % (b"x" * draw.randrange(1, 900))))
            await log.durable(appended[-1])
            acknowledged = appended[-1]
    except RecordWriteFailed:
        pass
    await log._finished
    whole, synced = path.read_bytes(), safe[0]
    assert whole.startswith(synced)
    assert len(whole) > len(synced)
    original = list(read_lines(path))
    monkeypatch.undo()
    for trial in range(40):
        left = survived(whole, len(synced), draw, trial)
        path.write_bytes(left)
        if not MARK.search(left, len(synced)):
            with suppress(RecordDamaged):
                await LogWriter.open(path, safe=acknowledged).close()
            continue
        await LogWriter.open(path, safe=acknowledged).close()
        kept = list(read_lines(path))
        assert len(kept) >= acknowledged
        assert kept == original[: len(kept)]
        assert verify(path).torn == 0


def survived(whole: bytes, synced: int, draw: random.Random, trial: int) -> bytes:
    """The file after the cut: what was synced, and of the rest any sectors, zeros in place of the others."""
    size = draw.randrange(synced, len(whole) + 1) if trial % 2 else len(whole)
    kept = bytearray(whole[:size])
    for start in range(synced - synced % SECTOR, size, SECTOR):
        first, last = max(start, synced), min(start + SECTOR, size)
        if first < last and draw.random() < 0.4:
            kept[first:last] = bytes(last - first)
    return bytes(kept)


async def test_a_directory_that_is_deleted_under_the_writer_is_noticed(tmp_path: Path) -> None:
    """A write to a file without a name is gone with it, so it is not acknowledged."""
    folder = tmp_path / "run"
    folder.mkdir()
    log = LogWriter.open(folder / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    os.unlink(log.path)
    folder.rmdir()
    with pytest.raises(Exception, match="deleted or replaced"):
        await log.durable(log.append(b'{"event":"lost"}'))
    with pytest.raises(Exception, match="deleted or replaced"):
        await log.close()
    assert not folder.exists()


async def test_a_directory_that_may_not_be_written_to_is_a_clear_refusal(tmp_path: Path, disk: Disk) -> None:
    """A read-only file system is told at the start with the file's name, and nothing was made."""
    disk.refuses = "/events.jsonl"
    with pytest.raises(Exception, match=r"events\.jsonl: cannot be opened for writing: Read-only file system"):
        LogWriter.open(tmp_path / "events.jsonl")
    assert list(tmp_path.iterdir()) == []
