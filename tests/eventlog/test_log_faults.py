"""The log on a disk that fails: short writes, failed syncs, kills."""

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
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.eventlog.conftest import Disk

from unstuck.errors import RecordWriteFailed
from unstuck.eventlog.log.log_format import read_lines, verify
from unstuck.eventlog.log.writer import BURST, LogWriter

KILLS = int(os.environ.get("UNSTUCK_KILLS", "10"))


async def test_short_writes_are_finished(tmp_path: Path, disk: Disk) -> None:
    """A kernel that takes seven bytes at a time still gets every record."""
    disk.most = 7
    log = LogWriter.open(tmp_path / "events.jsonl")
    for number in range(50):
        log.append(b'{"number":%d}' % number)
    await log.close()
    assert [json.loads(line.raw)["number"] for line in read_lines(log.path)] == list(range(50))


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
    assert disk.syncs == syncs + 1
    assert told == [1]
    assert log.path.stat().st_size == size


async def test_a_rollback_that_fails_leaves_a_log_that_can_be_repaired(tmp_path: Path, disk: Disk) -> None:
    """A half record that cannot be cut off is a torn tail for the next start."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    disk.broken_after, disk.truncate_error = 20, errno.EIO
    with pytest.raises(RecordWriteFailed):
        await log.durable(log.append(b'{"event":"lost"}'))
    with pytest.raises(RecordWriteFailed):
        await log.close()
    disk.broken_after, disk.truncate_error = 1 << 30, 0
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
    told: list[tuple[int, int]] = []
    log = LogWriter.open(tmp_path / "events.jsonl", on_durable=lambda seq: told.append((seq, log.end.seq)))
    disk.syncing.acquire()
    disk.may_sync.clear()
    first = log.append(b'{"event":"first"}')
    await asyncio.to_thread(disk.syncing.acquire)
    second = log.append(b'{"event":"second"}')
    assert log.end.seq == 0
    assert second == 2
    disk.may_sync.set()
    await log.durable(first)
    await log.durable(second)
    assert told == [(1, 1), (2, 2)]
    await log.close()


def test_a_loop_that_ends_early_loses_nothing_and_hurts_nobody(tmp_path: Path, disk: Disk) -> None:
    """The thread writes what is pending and ends quietly, even if the loop ends before the sync."""
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


APPENDER = """
import asyncio, os, sys
from pathlib import Path
from unstuck.eventlog.log.writer import LogWriter

async def produce(log, who):
    while True:
        seq = log.append(b'{"who":%d,"data":"%b"}' % (who, b"x" * (who * 97)))
        await log.durable(seq)
        os.write(1, b"%d %d\\n" % (seq, who))

async def main(path):
    os.write(1, b"0 0\\n")
    log = LogWriter.open(path)
    await asyncio.gather(*(produce(log, who) for who in range(20)))

asyncio.run(main(Path(sys.argv[1])))
"""


def appender(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", APPENDER, str(path)], stdout=subprocess.PIPE)


@pytest.mark.kills
def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path) -> None:
    """A process killed while it opens, repairs or appends, again and again, loses nothing it had acknowledged."""
    draw = random.Random(9)
    count = 0
    acknowledged: dict[int, int] = {}
    for turn in range(KILLS):
        path = tmp_path / f"{turn // 20}.jsonl"
        if turn % 20 == 0:
            acknowledged = {}
        child = appender(path)
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(draw.choice((1, draw.randrange(1, 300))))]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.read().splitlines(keepends=True)
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        whole = [line.split() for line in said if line.endswith(b"\n")]
        acknowledged |= {int(seq): int(who) for seq, who in whole if int(seq)}
        count += len(whole) - 1
        kept = {line.seq: json.loads(line.raw)["who"] for line in read_lines(path)} if path.exists() else {}
        assert acknowledged.items() <= kept.items()
    print(f"{KILLS} kills, {count} acknowledged, 0 lost")
    assert count > KILLS


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 8))
async def test_a_repair_killed_at_any_step_is_done_by_the_next_start(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Stopped before any of its steps, a repair can be repeated: the same records, and the torn bytes kept aside."""
    path = tmp_path / "events.jsonl"
    log = LogWriter.open(path)
    for number in range(3):
        log.append(b'{"number":%d}' % number)
    await log.close()
    good = path.read_bytes()
    path.write_bytes(good + b'{"v":1,"seq":4,"ti')
    steps = 0

    def stop_before(call: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step:
                raise Killed
            return call(*arguments)

        return stepped

    with monkeypatch.context() as patch:
        for name in ("open", "fsync", "ftruncate", "fdatasync"):
            patch.setattr(disk, name, stop_before(getattr(disk, name)), raising=False)
        try:
            log = LogWriter.open(path)
        except Killed:
            pass
        else:
            await log.close()
            assert step > steps
    again = LogWriter.open(path)
    assert again.append(b'{"number":3}') == 4
    await again.close()
    assert path.read_bytes().startswith(good)
    assert verify(path).records == 4
    aside = [file.read_bytes() for file in tmp_path.glob("*.torn.*")]
    assert b'{"v":1,"seq":4,"ti' in aside


def test_a_writer_that_was_stopped_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    """SIGSTOP in the middle of its work, then SIGCONT: no record twice, none missing, and its lock was never free."""
    path = tmp_path / "events.jsonl"
    child = appender(path)
    assert child.stdout is not None
    seen = [child.stdout.readline() for _ in range(2)][1:]
    for _ in range(5):
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        before = path.read_bytes()
        assert verify(path).torn >= 0
        assert path.read_bytes() == before
        child.send_signal(signal.SIGCONT)
        seen += [child.stdout.readline() for _ in range(200)]
    child.kill()
    child.stdout.close()
    child.wait()
    kept = [line.seq for line in read_lines(path)]
    assert kept == list(range(1, len(kept) + 1))
    assert {int(line.split()[0]) for line in seen} <= set(kept)


def test_a_copy_made_while_the_run_goes_on_can_be_opened(tmp_path: Path) -> None:
    """Whenever a backup takes the file, the copy holds whole records and at most a torn tail."""
    path, copy = tmp_path / "events.jsonl", tmp_path / "copy.jsonl"
    child = appender(path)
    assert child.stdout is not None
    sizes = set()
    child.stdout.readline()
    for _ in range(8):
        seq = int(child.stdout.readline().split()[0])
        for _ in range(50):
            child.stdout.readline()
        copy.write_bytes(path.read_bytes())
        found = verify(copy)
        assert found.records >= seq
        sizes.add(found.records)
        for line, original in zip(read_lines(copy), read_lines(path), strict=False):
            assert line == original
    child.kill()
    child.stdout.close()
    child.wait()
    assert len(sizes) > 1


async def test_acknowledgements_come_in_slices_and_others_have_their_turn(tmp_path: Path, disk: Disk) -> None:
    """However many records became safe while the loop was busy, one turn of it takes at most so many of them."""
    told: list[tuple[int, int]] = []
    turn = 0
    log = LogWriter.open(tmp_path / "events.jsonl", on_durable=lambda seq: told.append((turn, seq)))
    disk.may_sync.clear()
    for number in range(10 * BURST):
        log.append(b'{"number":%d}' % number)
    disk.may_sync.set()
    while disk.syncs < 2 or log._written.seq < 10 * BURST:
        disk.syncing.acquire(timeout=1)  # the loop stands still while the thread works
    last = asyncio.ensure_future(log.durable(10 * BURST))
    while not last.done():
        turn += 1
        await asyncio.sleep(0)
    by_turn = {number: [seq for at, seq in told if at == number] for number, _ in told}
    assert all(len(seqs) == 1 for seqs in by_turn.values())
    seqs = [0, *(seq for _, seq in told)]
    assert max(later - earlier for earlier, later in pairwise(seqs)) <= BURST
    await log.close()
