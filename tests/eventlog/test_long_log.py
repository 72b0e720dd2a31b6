"""A very long run: it starts from its snapshot, and however it is read, one record is held at a time.

``UNSTUCK_EVENTS=10000000 make test ARGS="tests/eventlog/test_long_log.py -s --timeout 0"`` does it with so many.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.eventlog.conftest import RUN
from tests.manual_clock import ManualClock

from unstuck.errors import RecordDamaged
from unstuck.eventlog import events as e
from unstuck.eventlog.log import journal as journals
from unstuck.eventlog.log import load_state, records
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.log_format import Line, framed, verify
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.log.writer import LogWriter
from unstuck.runs.run import RunOptions, resume_run
from unstuck.workspace.project import locate

EVENTS = int(os.environ.get("UNSTUCK_EVENTS", "0"))
BATCH = 10_000
BODY = json.dumps(
    {
        "time": "2026-11-21T20:14:09.565Z", "mono": 12.5, "run": "r", "actor": "agent", "task": "web",
        "attempt": "web.1", "cause": 3, "event": "step_recorded", "data": {"kind": "action", "text": "x" * 60},
    }
).encode()  # fmt: skip


async def write(folder: Path, count: int) -> None:
    """A run's log with so many records."""
    folder.mkdir(exist_ok=True)
    log = LogWriter.open(folder / LOG_NAME)
    for number in range(1, count + 1):
        seq = log.append(BODY)
        if number % BATCH == 0:
            await log.durable(seq)
    await log.close()


def peak(action: Callable[[Path], object], folder: Path) -> int:
    """The most bytes that ``action`` held at once."""
    tracemalloc.start()
    action(folder)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


async def test_a_start_reads_what_the_snapshot_does_not_stand_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three thousand records it looks at the seven that came after it was saved."""
    await write(tmp_path, 3_000)
    await (await Journal.open(tmp_path, run="r", clock=ManualClock())).close()
    await write(tmp_path, 7)
    read: list[int] = []

    def counted(path: Path, line: Line) -> object:
        read.append(line.seq)
        return decoded(path, line)

    decoded = journals.decoded
    monkeypatch.setattr(journals, "decoded", counted)
    journal = await Journal.open(tmp_path, run="r", clock=ManualClock())
    await journal.close()
    assert read == list(range(3_001, 3_008))


async def test_reading_holds_no_more_of_a_longer_log(tmp_path: Path) -> None:
    """Checking and replaying four times as many records takes no more memory."""
    for name, count in (("warm", 10), ("short", 500), ("long", 2_000)):
        await write(tmp_path / name, count)
    for read in (lambda folder: verify(folder / LOG_NAME), lambda folder: replay(folder / LOG_NAME), check):
        _, short, long = (peak(read, tmp_path / name) for name in ("warm", "short", "long"))
        assert long < short + 64 * 1024


async def test_a_resume_decodes_what_the_snapshot_does_not_cover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resuming a run of two thousand records that has ended decodes none of them and repeats its result."""
    place = await locate(tmp_path)
    folder = place.runs / RUN
    journal = await Journal.open(folder, run=RUN, clock=ManualClock())
    journal.append(e.RunStarted(project="p"))
    for number in range(2_000):
        journal.append(e.StopRequested(reason=str(number), attempt_id="none"))
    journal.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
    await journal.close()
    decoded: list[bytes] = []

    def counted(line: bytes) -> object:
        decoded.append(line)
        return decode(line)

    decode = records.decode
    monkeypatch.setattr(records, "decode", counted)
    result = await resume_run(RUN, place, RunOptions())
    assert (result.exit_reason, result.exit_code) == ("succeeded", 0)
    assert decoded == []


async def test_a_killed_run_is_decoded_once_when_it_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that is checked before anything starts is the one that the run goes on with."""
    place = await locate(tmp_path)
    folder = place.runs / RUN
    journal = await Journal.open(folder, run=RUN, clock=ManualClock())
    for number in range(20):
        journal.append(e.StopRequested(reason=str(number), attempt_id="none"))
    await journal.committed()
    await journal._writer.close()  # as a kill: no snapshot
    decoded: list[int] = []

    def counted(path: Path, line: Line) -> object:
        decoded.append(line.seq)
        return read(path, line)

    read = records.decoded
    monkeypatch.setattr(records, "decoded", counted)
    monkeypatch.setattr(journals, "decoded", counted)
    known = load_state.checked_state(folder)
    journal = await Journal.open(folder, run=RUN, clock=ManualClock(), known=known)
    assert decoded == list(range(1, 21))
    assert journal.head == journal.durable == known.state
    await journal.close()


async def test_a_state_that_was_read_from_another_log_is_not_used(tmp_path: Path) -> None:
    """A log that was replaced between the check and the start is read again."""
    for name in ("one", "two"):
        journal = await Journal.open(tmp_path / name, run=RUN, clock=ManualClock())
        journal.append(e.RunStarted(project=name))
        await journal.close()
    (tmp_path / "two" / SNAPSHOT_NAME).unlink()
    known = load_state.checked_state(tmp_path / "one")
    journal = await Journal.open(tmp_path / "two", run=RUN, clock=ManualClock(), known=known)
    assert journal.head == replay(tmp_path / "two" / LOG_NAME)
    await journal.close()


@pytest.mark.parametrize("checked", [0, load_state.FULL_CHECK_BYTES])
async def test_a_resume_refuses_damage_before_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: int
) -> None:
    """One changed byte in an early record stops the resume with its line, however long the log is."""
    monkeypatch.setattr(load_state, "FULL_CHECK_BYTES", checked)
    place = await locate(tmp_path)
    folder = place.runs / RUN
    journal = await Journal.open(folder, run=RUN, clock=ManualClock())
    journal.append(e.RunStarted(project="p"))
    for number in range(20):
        journal.append(e.StopRequested(reason=f"reason {number}", attempt_id="none"))
    journal.append(e.RunEnded(exit_reason="succeeded", exit_code=0))
    await journal.close()
    log = folder / LOG_NAME
    log.write_bytes(log.read_bytes().replace(b"reason 3", b"reason 4", 1))
    with pytest.raises(RecordDamaged, match="line 5"):
        await resume_run(RUN, place, RunOptions())


async def test_a_run_of_a_later_version_is_not_resumed(tmp_path: Path) -> None:
    """A record that this version may not understand stops the resume, and the log stays as it is."""
    place = await locate(tmp_path)
    folder = place.runs / RUN
    journal = await Journal.open(folder, run=RUN, clock=ManualClock())
    journal.append(e.RunStarted(project="p", plan={"tasks": []}))
    await journal.close()
    log = folder / LOG_NAME
    end = verify(log).end
    line, _ = framed(end.seq + 1, BODY, end.crc)
    later = line.replace(b'{"v":1,', b'{"v":2,', 1)
    seal = len(b',"crc":"00000000"}\n')
    crc = zlib.crc32(later[:-seal], end.crc)
    log.write_bytes(log.read_bytes() + later[:-seal] + b',"crc":"%08x"}\n' % crc)
    before = log.read_bytes()
    with pytest.raises(RecordDamaged, match="later version"):
        await resume_run(RUN, place, RunOptions())
    assert log.read_bytes() == before


FRESH = """
import asyncio, sys, time
from pathlib import Path
from unstuck.clock import SystemClock
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.log.journal import Journal

async def open_it(folder):
    journal = await Journal.open(folder, run="r", clock=SystemClock())
    return time.perf_counter(), journal

before = time.perf_counter()
if sys.argv[1] == "check":
    check(Path(sys.argv[2]))
    after = time.perf_counter()
else:
    loop = asyncio.new_event_loop()
    after, journal = loop.run_until_complete(open_it(Path(sys.argv[2])))
    loop.run_until_complete(journal.close())
# Not getrusage: its peak is also that of whoever started this process.
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(f"{after - before:.2f} s, {int(peak) // 1024} MB")
"""


@pytest.mark.skipif(not EVENTS, reason="set UNSTUCK_EVENTS to their number")
def test_a_run_of_millions_of_events(tmp_path: Path) -> None:
    """A fresh process opens it without and with its snapshot, and checks it; how long and how large is printed."""
    asyncio.run(write(tmp_path, EVENTS))
    size = (tmp_path / LOG_NAME).stat().st_size
    print(f"\n{EVENTS:,} events, {size / 2**20:,.0f} MB")
    for what in ("replayed", "started from its snapshot", "check"):
        command = [sys.executable, "-c", FRESH, what, str(tmp_path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"{what}: {said.strip()}")
    assert check(tmp_path).snapshot == "good"
