"""The log as its users see it: append, wait, read, reopen."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.eventlog.conftest import Disk

from unstuck.errors import RecordDamaged, RecordError, RecordWriteFailed
from unstuck.eventlog.log.log_format import LINE_LIMIT, START, Position, holds, read_lines, verify
from unstuck.eventlog.log.writer import LogWriter

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""


def body(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


async def write(path: Path, *bodies: bytes) -> None:
    log = LogWriter.open(path)
    for one in bodies:
        log.append(one)
    await log.close()


async def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    """Records come back whole, numbered from 1, each one JSON object with the agreed envelope."""
    path = tmp_path / "events.jsonl"
    await write(path, body(event="a"), body(event="b", data={"n": 1}), b"{}")
    said = [json.loads(line.raw) for line in read_lines(path)]
    assert [(one.pop("v"), one.pop("seq")) for one in said] == [(1, 1), (1, 2), (1, 3)]
    assert all(len(one.pop("crc")) == 8 for one in said)
    assert {one.pop("safe") for one in said} <= {0, 1, 2}
    assert said == [{"event": "a"}, {"event": "b", "data": {"n": 1}}, {}]


async def test_the_bytes_on_disk_are_the_agreed_ones(tmp_path: Path) -> None:
    """The format is fixed to the byte, so that other programs and later versions can check it."""
    path = tmp_path / "events.jsonl"
    log = LogWriter.open(path)
    await log.durable(log.append(b'{"event":"a"}'))
    await log.durable(log.append(b'{"event":"b"}'))
    await log.close()
    assert path.read_bytes() == (
        b'{"v":1,"seq":1,"event":"a","safe":0,"crc":"ce4e4409"}\n{"v":1,"seq":2,"event":"b","safe":1,"crc":"26282579"}\n'
    )


async def test_a_record_says_what_was_safe_before_it_was_written(tmp_path: Path, disk: Disk) -> None:
    """All of one batch say the same: what was synced before it; the next batch says that this one was."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(body(number=1)))
    disk.syncing = threading.Semaphore(0)
    disk.may_sync.clear()
    log.append(body(number=2))
    await asyncio.to_thread(disk.syncing.acquire)
    for number in (3, 4, 5):
        log.append(body(number=number))
    disk.may_sync.set()
    await log.close()
    assert [json.loads(line.raw)["safe"] for line in read_lines(log.path)] == [0, 1, 2, 2, 2]


async def test_waiting_ends_when_the_record_is_on_disk(tmp_path: Path) -> None:
    """After ``durable`` another reader finds the record in the file."""
    path = tmp_path / "events.jsonl"
    log = LogWriter.open(path)
    seq = log.append(body(event="a"))
    assert seq == 1
    assert log.end.seq == 0
    await log.durable(seq)
    assert log.end.seq == 1
    assert [line.seq for line in read_lines(path)] == [1]
    await log.durable(seq)
    await log.close()


async def test_nobody_waits_for_a_record_that_does_not_exist(tmp_path: Path) -> None:
    """A wrong number is an error at once instead of a wait for ever."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    with pytest.raises(ValueError, match="not appended"):
        await log.durable(1)
    await log.close()


async def test_a_hundred_producers_are_all_heard_in_order(tmp_path: Path) -> None:
    """Concurrent producers each find their own record, and durability is told in rising order before they go on."""
    told: list[int] = []
    log = LogWriter.open(tmp_path / "events.jsonl", on_durable=told.append)
    mine: dict[int, tuple[int, int]] = {}

    async def produce(who: int) -> None:
        for number in range(20):
            seq = log.append(body(who=who, number=number))
            mine[seq] = (who, number)
            await log.durable(seq)
            assert told[-1] >= seq
            assert log.end.seq >= seq

    await asyncio.gather(*(produce(who) for who in range(100)))
    await log.close()
    read = {line.seq: json.loads(line.raw) for line in read_lines(log.path)}
    assert sorted(read) == list(range(1, 2001))
    assert {seq: (one["who"], one["number"]) for seq, one in read.items()} == mine
    assert told == sorted(set(told))
    assert told[-1] == 2000


async def test_a_waiter_that_gives_up_disturbs_nobody(tmp_path: Path) -> None:
    """Cancelling one wait leaves the other waits on the same record alone."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    seq = log.append(body(event="a"))
    first, second = asyncio.create_task(log.durable(seq)), asyncio.create_task(log.durable(seq))
    await asyncio.sleep(0)
    first.cancel()
    await second
    await asyncio.wait([first])
    await log.close()


async def test_closing_writes_what_is_pending(tmp_path: Path) -> None:
    """Observations nobody waited for are on disk after ``close``, and a second close is harmless."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    for number in range(500):
        log.append(body(number=number))
    await log.close()
    await log.close()
    assert log.end.seq == 500
    assert verify(log.path).records == 500
    with pytest.raises(RecordWriteFailed, match="closed"):
        log.append(body(event="late"))


async def test_a_reopened_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Numbers and checksums continue over a restart."""
    path = tmp_path / "events.jsonl"
    await write(path, body(event="a"))
    log = LogWriter.open(path)
    assert log.end.seq == 1
    assert log.repaired is None
    assert log.append(body(event="b")) == 2
    await log.close()
    assert verify(path).records == 2


async def test_a_log_is_private_and_closed_to_children(tmp_path: Path) -> None:
    """Only its owner may read the log, and started programs do not inherit its descriptor."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    mode = stat.S_IMODE(log.path.stat().st_mode)
    assert mode == 0o600
    open_here = [fd for fd in os.listdir("/proc/self/fd") if _points_to(fd, log.path)]
    assert open_here
    assert not any(os.get_inheritable(int(fd)) for fd in open_here)
    await log.close()
    assert not any(_points_to(fd, log.path) for fd in os.listdir("/proc/self/fd"))


def _points_to(fd: str, path: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}") == str(path)
    except OSError:
        return False


@pytest.mark.parametrize(
    "wrong",
    [b"", b"{", b"[]", b'{"a":1', b'{"a":\n1}', '{"a":"é"}'.encode(), b'{"a":1}\n', b"{" + b" " * LINE_LIMIT + b"}"],
)
async def test_a_body_that_would_break_the_lines_is_refused(tmp_path: Path, wrong: bytes) -> None:
    """A caller's mistake is refused before it reaches the file, and the log stays usable."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    with pytest.raises(ValueError, match="record"):
        log.append(wrong)
    assert log.append(body(event="fine")) == 1
    await log.close()
    assert verify(log.path).records == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(st.text(CHARACTERS), st.text(CHARACTERS) | st.integers() | st.none(), max_size=4), max_size=8
    )
)
def test_any_text_survives(tmp_path: Path, records: list[dict[str, object]]) -> None:
    """Quotes, line separators, NULs and emoji inside a record neither break a line nor change."""
    path = tmp_path / "events.jsonl"
    path.unlink(missing_ok=True)
    wrapped = [{"data": record} for record in [*records, {"\u2028": '"\\\u2029\x00\x85\n😀,"crc":"00000000"}'}]]
    asyncio.run(write(path, *(body(**record) for record in wrapped)))
    lines = list(read_lines(path))
    assert b"".join(line.raw for line in lines) == path.read_bytes()
    assert path.read_bytes().isascii()
    assert len(path.read_bytes().splitlines()) == len(wrapped)
    assert [{"data": json.loads(line.raw)["data"]} for line in lines] == wrapped


async def test_reading_can_begin_later(tmp_path: Path) -> None:
    """``after`` leaves out what is known; ``start`` spares reading it, and both see the same records."""
    path = tmp_path / "events.jsonl"
    await write(path, *(body(number=number) for number in range(10)))
    lines = list(read_lines(path))
    assert list(read_lines(path, after=7)) == lines[7:]
    assert list(read_lines(path, start=lines[6].end)) == lines[7:]
    assert list(read_lines(path, start=lines[9].end)) == []
    assert list(read_lines(path, after=99)) == []
    assert verify(path, start=lines[4].end) == verify(path)
    assert verify(path).end == lines[9].end
    log = LogWriter.open(path, start=lines[4].end)
    assert log.append(body(event="next")) == 11
    await log.close()
    assert verify(path).records == 11


async def test_a_start_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A snapshot of another log cannot be used by accident."""
    path = tmp_path / "events.jsonl"
    await write(path, *(body(number=number) for number in range(3)))
    good = next(read_lines(path)).end
    assert holds(path, START)
    assert holds(path, good)
    wrong = [
        good._replace(crc=good.crc ^ 1),
        good._replace(offset=good.offset + 1),
        Position(9, 10**9, 0),
        Position(1, 5, 0),
    ]
    for position in wrong:
        assert not holds(path, position)
        with pytest.raises(RecordDamaged):
            list(read_lines(path, start=position))
    assert not holds(tmp_path / "none.jsonl", START)
    with pytest.raises(RecordDamaged, match="record 2 where record 6 belongs"):
        list(read_lines(path, start=good._replace(seq=5)))


async def test_a_line_of_a_newer_version_is_shown_not_refused(tmp_path: Path) -> None:
    """A log from a later version of the program can still be read; each line says its version."""
    path = tmp_path / "events.jsonl"
    await write(path, body(event="a"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unstuck.eventlog.log.log_format.SCHEMA", 12)
        await write(path, body(event="b"))
    assert [(line.seq, line.version) for line in read_lines(path)] == [(1, 1), (2, 12)]
    assert verify(path).records == 2


def test_a_log_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    """A missing file and a directory give one clear line of our own."""
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(RecordError, match="cannot be read"):
            list(read_lines(path))


async def test_a_log_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """A missing directory is told at the start, before anything runs."""
    with pytest.raises(RecordWriteFailed, match="cannot be opened"):
        LogWriter.open(tmp_path / "none" / "events.jsonl")


def test_the_log_is_light_to_import() -> None:
    """A process that only writes a log does not pay for models, screens or commands."""
    heavy = {"pydantic", "textual", "click", "yaml", "psutil"}
    code = f"import sys, unstuck.eventlog.log.writer; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
