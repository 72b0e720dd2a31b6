"""The log on a disk that fails: short writes, full disks, failed syncs, kills."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from unstuck.errors import RecordWriteFailed
from unstuck.record import log as module
from unstuck.record.log import LogWriter, read_lines, verify

KILLS = int(os.environ.get("UNSTUCK_KILLS", "10"))


class Disk:
    """``os`` as the log sees it, with a disk that can be told to fail."""

    def __init__(self) -> None:
        self.most = 1 << 30
        self.room = 1 << 30
        self.sync_error = 0
        self.truncate_error = 0
        self.syncs = 0
        self.syncing = threading.Semaphore(0)
        self.may_sync = threading.Event()
        self.may_sync.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, fd: int, data: bytes) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = os.write(fd, data[: min(self.most, self.room)])
        self.room -= written
        return written

    def fdatasync(self, fd: int) -> None:
        self.syncs += 1
        self.syncing.release()
        self.may_sync.wait()
        if self.sync_error:
            raise OSError(self.sync_error, os.strerror(self.sync_error))
        os.fdatasync(fd)

    def ftruncate(self, fd: int, size: int) -> None:
        if self.truncate_error:
            raise OSError(self.truncate_error, os.strerror(self.truncate_error))
        os.ftruncate(fd, size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk under every log of this test."""
    disk = Disk()
    monkeypatch.setattr(module, "os", disk)
    return disk


async def test_short_writes_are_finished(tmp_path: Path, disk: Disk) -> None:
    """A kernel that takes seven bytes at a time still gets every record."""
    disk.most = 7
    log = LogWriter.open(tmp_path / "events.jsonl")
    for number in range(50):
        log.append(b'{"number":%d}' % number)
    await log.close()
    assert [json.loads(line.raw)["number"] for line in read_lines(log.path)] == list(range(50))


async def test_a_full_disk_acknowledges_nothing_and_leaves_no_half_record(tmp_path: Path, disk: Disk) -> None:
    """When space runs out inside a record, its waiters are told, the file ends with the last safe one, and the log
    can be opened again once there is space."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    size = log.path.stat().st_size
    disk.room = 20
    lost = log.append(b'{"event":"lost"}')
    with pytest.raises(RecordWriteFailed, match="No space left"):
        await log.durable(lost)
    assert log.path.stat().st_size == size
    assert (log.durable_seq, log.last_seq) == (1, 2)
    with pytest.raises(RecordWriteFailed, match="No space left"):
        log.append(b'{"event":"after"}')
    with pytest.raises(RecordWriteFailed, match="No space left"):
        await log.durable(lost)
    await log.durable(1)
    with pytest.raises(RecordWriteFailed):
        await log.close()
    disk.room = 1 << 30
    again = LogWriter.open(log.path)
    assert (again.repaired, again.append(b'{"event":"again"}')) == (None, 2)
    await again.close()
    assert verify(log.path).records == 2


async def test_a_failed_sync_ends_the_log_without_a_second_try(tmp_path: Path, disk: Disk) -> None:
    """After a sync error nothing is acknowledged, retried or kept, and every waiter hears of it."""
    told: list[int] = []
    log = LogWriter.open(tmp_path / "events.jsonl", on_durable=told.append)
    await log.durable(log.append(b'{"event":"safe"}'))
    size, syncs = log.path.stat().st_size, disk.syncs
    disk.sync_error = errno.EIO
    waits = [log.durable(log.append(b'{"event":"lost"}')) for _ in range(10)]
    heard = await asyncio.gather(*waits, return_exceptions=True)
    disk.sync_error = 0
    assert [type(one) for one in heard] == [RecordWriteFailed] * 10
    with pytest.raises(RecordWriteFailed, match="Input/output"):
        log.append(b'{"event":"after"}')
    with pytest.raises(RecordWriteFailed):
        await log.close()
    assert (disk.syncs, told) == (syncs + 1, [1])
    assert log.path.stat().st_size == size


async def test_a_rollback_that_fails_leaves_a_log_that_can_be_repaired(tmp_path: Path, disk: Disk) -> None:
    """Where even cutting off fails, the half record is a torn tail for the next start."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    disk.room, disk.truncate_error = 20, errno.EIO
    with pytest.raises(RecordWriteFailed):
        await log.durable(log.append(b'{"event":"lost"}'))
    with pytest.raises(RecordWriteFailed):
        await log.close()
    disk.room, disk.truncate_error = 1 << 30, 0
    again = LogWriter.open(log.path)
    assert again.repaired is not None
    assert again.repaired.bytes == 20
    await again.close()
    assert verify(log.path) == (1, again.repaired.offset, verify(log.path).last_crc, 0)


async def test_a_disk_that_cannot_sync_at_the_start_is_refused(tmp_path: Path, disk: Disk) -> None:
    """A log whose old records cannot be made safe is not opened, and its descriptor is given back."""
    disk.sync_error = errno.EIO
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(RecordWriteFailed, match="Input/output"):
        LogWriter.open(tmp_path / "events.jsonl")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_only_what_was_synced_is_called_durable(tmp_path: Path, disk: Disk) -> None:
    """A record appended while another is being synced is not acknowledged with it."""
    told: list[tuple[int, int, int]] = []
    log = LogWriter.open(
        tmp_path / "events.jsonl", on_durable=lambda seq: told.append((seq, log.durable_seq, log.last_seq))
    )
    disk.syncing.acquire()
    disk.may_sync.clear()
    first = log.append(b'{"event":"first"}')
    await asyncio.to_thread(disk.syncing.acquire)
    second = log.append(b'{"event":"second"}')
    assert (log.durable_seq, log.last_seq) == (0, 2)
    disk.may_sync.set()
    await log.durable(first)
    await log.durable(second)
    assert told == [(1, 1, 2), (2, 2, 2)]
    await log.close()


def test_a_loop_that_ends_early_loses_nothing_and_hurts_nobody(tmp_path: Path, disk: Disk) -> None:
    """Where the loop is gone before the sync, the thread still writes what is pending and ends quietly."""
    path = tmp_path / "events.jsonl"
    loop = asyncio.new_event_loop()
    known = set(threading.enumerate())

    async def leave() -> None:
        log = LogWriter.open(path)
        disk.may_sync.clear()
        disk.syncing.acquire()
        log.append(b'{"event":"first"}')
        disk.syncing.acquire()
        log.append(b'{"event":"second"}')

    loop.run_until_complete(leave())
    loop.close()
    (thread,) = set(threading.enumerate()) - known
    disk.may_sync.set()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert verify(path).records == 2


FILLER = """
import asyncio, resource, sys
from pathlib import Path
from unstuck.errors import RecordWriteFailed
from unstuck.record.log import LogWriter, verify

async def main(path):
    log = LogWriter.open(path)
    try:
        while True:
            await log.durable(log.append(b'{"data":"0123456789012345678901234567890123456789"}'))
    except RecordWriteFailed as failure:
        print(failure, verify(path).records == log.durable_seq, verify(path).torn)

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_real_limit_of_the_kernel_stops_the_log_cleanly(tmp_path: Path) -> None:
    """With a real size limit (a short write, then an error) the file holds exactly what was acknowledged."""
    path = tmp_path / "events.jsonl"
    said = subprocess.run([sys.executable, "-c", FILLER, str(path)], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"{path}: could not be written: File too large True 0"
    assert verify(path).records > 100


APPENDER = """
import asyncio, os, sys
from pathlib import Path
from unstuck.record.log import LogWriter

async def produce(log, who):
    while True:
        seq = log.append(b'{"who":%d,"data":"%b"}' % (who, b"x" * (who * 97)))
        await log.durable(seq)
        os.write(1, b"%d %d\\n" % (seq, who))

async def main(path):
    log = LogWriter.open(path)
    await asyncio.gather(*(produce(log, who) for who in range(20)))

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.kills
def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path) -> None:
    """A process that is killed in the middle of appending, again and again, loses nothing it had acknowledged."""
    path = tmp_path / "events.jsonl"
    draw = random.Random(9)
    acknowledged: dict[int, int] = {}
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", APPENDER, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(draw.randrange(1, 300)):
            seq, who = map(int, child.stdout.readline().split())
            acknowledged[seq] = who
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        for line in rest.splitlines(keepends=True):
            if line.endswith(b"\n"):
                seq, who = map(int, line.split())
                acknowledged[seq] = who
        kept = {line.seq: json.loads(line.raw)["who"] for line in read_lines(path)}
        assert acknowledged.items() <= kept.items()
    assert len(acknowledged) > KILLS
