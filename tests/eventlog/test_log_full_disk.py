"""A full disk holds the log back: nothing is acknowledged, nothing is lost, and it goes on once there is room."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.eventlog.conftest import Disk

from unstuck.errors import RecordWriteFailed
from unstuck.eventlog.log.log_format import read_lines, verify
from unstuck.eventlog.log.writer import LogWriter

ROOM = 1 << 30


class Heard:
    """Trouble that a log reports, and a way to wait for the next report."""

    def __init__(self) -> None:
        self.log: LogWriter
        self.said: list[str] = []
        self._news = asyncio.Event()

    def note(self) -> None:
        self.said.append(self.log.failure or self.log.held)
        self._news.set()

    async def next(self) -> str:
        await self._news.wait()
        self._news.clear()
        return self.said[-1]


def opened(path: Path) -> tuple[LogWriter, Heard]:
    heard = Heard()
    heard.log = LogWriter.open(path, on_trouble=heard.note)
    return heard.log, heard


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
async def test_what_is_pending_waits_for_room_and_is_then_recorded(tmp_path: Path, disk: Disk, error: int) -> None:
    """When space runs out inside a record nothing is acknowledged and no half record stays; with room, all goes on."""
    log, heard = opened(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    size = log.path.stat().st_size
    disk.room, disk.full = 20, error
    first = asyncio.ensure_future(log.durable(log.append(b'{"event":"first"}')))
    assert await heard.next() == log.held == f"{log.path}: {os.strerror(error)}"
    assert log.path.stat().st_size == size
    assert log.end.seq == 1
    assert not first.done()
    second = asyncio.ensure_future(log.durable(log.append(b'{"event":"second"}')))
    disk.room = ROOM
    log.retry()
    await asyncio.gather(first, second)
    assert log.held == ""
    assert log.failure == ""
    assert heard.said[-1] == ""
    await log.close()
    assert [json.loads(line.raw)["event"] for line in read_lines(log.path)] == ["safe", "first", "second"]


async def test_a_disk_that_stays_full_is_tried_again_and_again(tmp_path: Path, disk: Disk) -> None:
    """However often it is tried in vain, no part of a record is left in the file and nobody is told twice."""
    log, heard = opened(tmp_path / "events.jsonl")
    disk.room = 0
    waiting = asyncio.ensure_future(log.durable(log.append(b'{"event":"first"}')))
    await heard.next()
    for room in (1, 7, 30, 0):
        disk.room = room
        before = disk.cuts
        log.retry()
        await asyncio.to_thread(disk.wait_for_cut, before)
        assert log.path.stat().st_size == 0
    disk.room = ROOM
    log.retry()
    await waiting
    assert len(heard.said) == 2
    await log.close()


async def test_whoever_gives_up_waiting_for_room_ends_the_log(tmp_path: Path, disk: Disk) -> None:
    """Nothing more can be appended, every waiter is told, and the file opens again with what was safe."""
    log, heard = opened(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    log.discard_pending()  # there is room: no effect
    disk.room = 20
    waiting = asyncio.ensure_future(log.durable(log.append(b'{"event":"lost"}')))
    await heard.next()
    log.discard_pending()
    with pytest.raises(RecordWriteFailed, match="No space left"):
        await waiting
    assert "No space left" in log.failure
    with pytest.raises(RecordWriteFailed, match="No space left"):
        log.append(b'{"event":"after"}')
    with pytest.raises(RecordWriteFailed):
        await log.close()
    disk.room = ROOM
    again = LogWriter.open(log.path)
    assert again.repaired is None
    assert again.append(b'{"event":"again"}') == 2
    await again.close()
    assert verify(log.path).records == 2


@pytest.mark.parametrize("room", [ROOM, 20])
async def test_closing_tries_a_last_time(tmp_path: Path, disk: Disk, room: int) -> None:
    """Closing a log on a full disk reports at once whether what was pending is durable."""
    log, heard = opened(tmp_path / "events.jsonl")
    disk.room = 20
    log.append(b'{"event":"pending"}')
    await heard.next()
    disk.room = room
    if room == ROOM:
        await log.close()
    else:
        with pytest.raises(RecordWriteFailed, match="No space left"):
            await log.close()
    assert verify(log.path) == (room == ROOM, log.path.stat().st_size, verify(log.path).last_crc, 0)


async def test_a_full_disk_at_the_sync_is_no_second_chance(tmp_path: Path, disk: Disk) -> None:
    """A full disk that the kernel reports only at the sync is fatal: the pages may be gone."""
    log, _ = opened(tmp_path / "events.jsonl")
    disk.sync_error = errno.ENOSPC
    with pytest.raises(RecordWriteFailed, match="No space left"):
        await log.durable(log.append(b'{"event":"lost"}'))
    assert log.held == ""
    with pytest.raises(RecordWriteFailed):
        await log.close()


FILLER = """
import asyncio, resource, sys
from pathlib import Path
from unstuck.eventlog.log.log_format import verify
from unstuck.eventlog.log.writer import LogWriter

async def main(path):
    full = asyncio.Event()
    log = LogWriter.open(path, on_trouble=full.set)
    acknowledged = 0
    while not full.is_set():
        waiting = asyncio.ensure_future(log.durable(log.append(b'{"data":"0123456789012345678901234567890123456789"}')))
        heard = asyncio.ensure_future(full.wait())
        await asyncio.wait((waiting, heard), return_when=asyncio.FIRST_COMPLETED)
        acknowledged += waiting.done()
    print(log.held, verify(path).records == acknowledged, verify(path).torn, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    log.retry()
    await waiting
    await log.close()
    print(verify(path).records == acknowledged + 1)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_real_limit_of_the_kernel_is_waited_out(tmp_path: Path) -> None:
    """A real size limit (a short write, then an error) holds the log back, and raising it sets it free."""
    path = tmp_path / "events.jsonl"
    with filling(path, lambda pid: resource.prlimit(pid, resource.RLIMIT_FSIZE, (10_000, 100_000))) as (said, child):
        assert said == f"{path}: File too large True 0"
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
    assert verify(path).records > 100


def test_a_full_file_system_is_waited_out(tmp_path: Path) -> None:
    """A real file system without a free block holds the log back, and a deleted file sets it free."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not possible here")
    try:
        (small / "ballast").write_bytes(bytes(40_000))
        path = small / "events.jsonl"
        with filling(path, lambda pid: None) as (said, _):
            assert said == f"{path}: No space left on device True 0"
            (small / "ballast").unlink()
        assert verify(path).torn == 0
    finally:
        subprocess.run(["umount", small], check=True)


@contextmanager
def filling(path: Path, limit) -> Iterator[tuple[str, subprocess.Popen[str]]]:  # type: ignore[no-untyped-def]
    """A process that appends until it is held back, with what it says then; in the end it has to go on by itself."""
    child = subprocess.Popen([sys.executable, "-c", FILLER, str(path)], stdin=-1, stdout=-1, text=True)
    assert child.stdout is not None
    limit(child.pid)
    yield child.stdout.readline().strip(), child
    said, _ = child.communicate("\n", timeout=60)
    assert said == "True\n"
    assert child.returncode == 0
