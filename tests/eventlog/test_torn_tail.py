"""A hole of zeros with whole records behind it is repaired where nobody can have been told that it was safe."""

from __future__ import annotations

import asyncio
import json
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.eventlog.conftest import Disk
from tests.manual_clock import ManualClock

from unstuck.contract import Task
from unstuck.errors import RecordDamaged
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.log_format import framed, verify
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.log.writer import LogWriter
from unstuck.text import Clean

SECTOR = 512
FIRST, LAST = 7, 30
"""The batch that a power cut met: these records, after the ones that were synced."""


def batches(*ends: int, size: int = 300) -> bytes:
    """A log written in batches that end with these records."""
    log, crc, safe = b"", 0, 0
    for end in ends:
        for seq in range(safe + 1, end + 1):
            line, crc = framed(seq, json.dumps({"data": "x" * (size + seq)}).encode(), crc, safe)
            log += line
        safe = end
    return log


def offset(log: bytes, seq: int) -> int:
    """Return the offset of record ``seq``."""
    return sum(len(line) for line in log.splitlines(keepends=True)[: seq - 1])


def holed(log: bytes, first: int, last: int) -> bytes:
    """``log`` with zeros from byte ``first`` to byte ``last``."""
    return log[:first] + bytes(last - first) + log[last:]


def sectors(log: bytes, seq: int, count: int = 1) -> tuple[int, int]:
    """The first whole sectors in or behind record ``seq``."""
    first = -(-offset(log, seq) // SECTOR) * SECTOR
    return first, first + count * SECTOR


async def repaired(path: Path, log: bytes, *, safe: int = 0) -> int:
    """Return the number of records left when the next run begins on this log, which keeps the rest aside."""
    path.write_bytes(log)
    writer = LogWriter.open(path, safe=safe)
    left = writer.end.seq
    await writer.durable(writer.append(b'{"event":"next"}'))
    await writer.close()
    assert verify(path).records == left + 1
    assert writer.repaired is not None
    assert writer.repaired.file.read_bytes() == log[writer.repaired.offset :]
    return left


def refused(path: Path, log: bytes, *, safe: int = 0) -> RecordDamaged:
    """Return the refusal of this log, which does not change it."""
    path.write_bytes(log)
    with pytest.raises(RecordDamaged) as damage:
        asyncio.run(open_only(path, safe))
    assert path.read_bytes() == log
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return damage.value


async def open_only(path: Path, safe: int) -> None:
    LogWriter.open(path, safe=safe)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / LOG_NAME


@pytest.fixture
def log() -> bytes:
    """Six safe records, and a batch of which nobody was told yet."""
    return batches(FIRST - 1, LAST)


async def test_a_hole_in_the_last_batch_is_torn_though_records_follow(path: Path, log: bytes) -> None:
    """Wherever in it the sectors are missing, the records before the hole stay and the rest is kept aside."""
    for seq in range(FIRST, LAST - 3):
        first, last = sectors(log, seq)
        left = await repaired(path, holed(log, first, last))
        assert FIRST - 1 <= left < LAST
        assert offset(log, left + 1) <= first < offset(log, left + 2)


async def test_a_hole_that_begins_with_the_batch(path: Path, log: bytes) -> None:
    """The sector in which the last safe record ends keeps that record and loses what was added to it."""
    start = offset(log, FIRST)
    assert start % SECTOR
    assert await repaired(path, holed(log, start, start + SECTOR - start % SECTOR)) == FIRST - 1
    assert await repaired(path, holed(log, start, start + 4 * SECTOR - start % SECTOR)) == FIRST - 1


async def test_many_holes_and_a_file_that_ends_early(path: Path, log: bytes) -> None:
    """Several sectors are missing, and the end of the batch is, too."""
    for size in range(sectors(log, LAST - 5)[0], len(log), 97):
        bad = log[:size]
        for seq in (FIRST + 2, FIRST + 9, LAST - 8):
            bad = holed(bad, *sectors(log, seq))
        assert await repaired(path, bad) < FIRST + 4


def test_a_hole_in_a_batch_that_another_one_followed_is_damage(path: Path) -> None:
    """The next batch was only begun once this one was safe, and says so: nothing is cut off."""
    log = batches(FIRST - 1, LAST, LAST + 1)
    for seq in range(FIRST, LAST - 1):
        assert refused(path, holed(log, *sectors(log, seq))).line in (seq, seq + 1, seq + 2)


def test_a_hole_over_the_border_of_two_batches_is_damage(path: Path) -> None:
    """Of the earlier batch a part is missing, so it is not a power cut in the later one."""
    log = batches(FIRST - 1, 20, LAST)
    refused(path, holed(log, *sectors(log, 19, 4)))


@pytest.mark.parametrize("safe", [FIRST, 20, LAST, 1_000])
def test_what_a_snapshot_stands_for_was_safe(path: Path, log: bytes, safe: int) -> None:
    """One record of the batch is known to have been synced, and a batch is synced as a whole."""
    refused(path, holed(log, *sectors(log, 22)), safe=safe)


async def test_what_was_safe_before_the_batch_says_nothing_about_it(path: Path, log: bytes) -> None:
    """A snapshot of the records before it does not keep the batch from being repaired."""
    assert await repaired(path, holed(log, *sectors(log, 22)), safe=FIRST - 1) < LAST


@pytest.mark.parametrize(
    "shift", [(1, 0), (0, -1), (0, 1), (-1, 0), (8, 8)], ids=["late", "short", "long", "early", "moved"]
)
def test_zeros_that_are_no_sectors_are_damage(path: Path, log: bytes, shift: tuple[int, int]) -> None:
    """A disk loses whole sectors; whatever wrote these zeros was something else."""
    first, last = sectors(log, 20)
    refused(path, holed(log, first + shift[0], last + shift[1]))


@pytest.mark.parametrize(
    "change",
    [
        lambda log, at: log[:at] + bytes([log[at] ^ 1]) + log[at + 1 :],
        lambda log, at: log[:at] + b"\xff" * SECTOR + log[at + SECTOR :],
        lambda log, at: log[:at] + log[at + SECTOR :],
    ],
    ids=["flipped", "garbage", "taken out"],
)
def test_what_is_no_hole_is_damage_also_in_the_last_batch(
    path: Path, log: bytes, change: Callable[[bytes, int], bytes]
) -> None:
    """A power cut flips no bit, and brings no other text."""
    refused(path, change(log, sectors(log, 20)[0]))


def test_a_log_that_says_nothing_about_its_batches_is_refused_as_ever(path: Path, log: bytes) -> None:
    """Its lines are whole and chained, as those of the first logs were, but prove nothing."""
    lines, crc = [], 0
    for seq in range(1, LAST + 1):
        body = b'{"v":1,"seq":%d,"data":"%b"' % (seq, b"x" * 300)
        crc = zlib.crc32(body, crc)
        lines.append(body + b',"crc":"%08x"}\n' % crc)
    old = b"".join(lines)
    path.write_bytes(old)
    assert verify(path).records == LAST
    refused(path, holed(old, *sectors(old, 20)))


async def run_of(folder: Path, disk: Disk) -> bytes:
    """The log of a run that has ended: its start, and then forty tasks in one batch, with a snapshot of all that."""
    journal = await Journal.open(folder, run="r", clock=ManualClock())
    disk.syncing = threading.Semaphore(0)
    disk.may_sync.clear()
    journal.append(e.RunStarted(project="p"))
    await asyncio.to_thread(disk.syncing.acquire)
    for number in range(40):
        name = f"t{number}"
        journal.append(e.TaskAdded(work=Task(id=name, prompt=Clean("Work. " * 60))), task=name)
    disk.may_sync.set()
    await journal.close()
    return (folder / LOG_NAME).read_bytes()


async def test_a_run_goes_on_after_a_power_cut_and_says_what_it_repaired(tmp_path: Path, disk: Disk) -> None:
    """Looking calls it torn, and the next start records the repair; nobody had heard that any of it was safe."""
    log = await run_of(tmp_path, disk)
    (tmp_path / SNAPSHOT_NAME).unlink()
    path = tmp_path / LOG_NAME
    path.write_bytes(holed(log, *sectors(log, 5, 2))[:-50])
    assert check(tmp_path).torn > 10_000
    assert current_state(tmp_path)[1] is None
    journal = await Journal.open(tmp_path, run="r", clock=ManualClock())
    await journal.close()
    assert [record.name for record in read_records(path)][-2:] == ["task_added", "log_repaired"]


async def test_a_run_with_a_later_snapshot_is_refused(tmp_path: Path, disk: Disk) -> None:
    """The snapshot shows that the records in the hole were safe: they were lost in another way, and that is said."""
    log = await run_of(tmp_path, disk)
    path = tmp_path / LOG_NAME
    path.write_bytes(holed(log, *sectors(log, 5, 2))[:-50])
    before = path.read_bytes()
    assert current_state(tmp_path)[1] is not None
    with pytest.raises(RecordDamaged, match=r"line \d+, byte \d+: zeros in the place"):
        check(tmp_path)
    with pytest.raises(RecordDamaged, match="zeros in the place"):
        await Journal.open(tmp_path, run="r", clock=ManualClock())
    assert path.read_bytes() == before
