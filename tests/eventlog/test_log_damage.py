"""Damaged event logs: an unfinished end is moved aside, other damage is refused."""

from __future__ import annotations

import asyncio
import json
import os
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from unstuck.errors import RecordDamaged
from unstuck.eventlog.log import log_format as module
from unstuck.eventlog.log.log_format import Line, read_lines, verify
from unstuck.eventlog.log.writer import LogWriter, Torn

RECORDS = 12


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good log of twelve records."""
    path = tmp_path / "events.jsonl"

    async def write() -> None:
        log = LogWriter.open(path)
        for number in range(RECORDS):
            log.append(json.dumps({"time": "2026-11-21T20:14:09.565Z", "data": {"text": "x y " * number}}).encode())
        await log.close()

    asyncio.run(write())
    return path


async def append(path: Path) -> Torn | None:
    """Open the log as a new run does, append one record, and say what was repaired."""
    log = LogWriter.open(path)
    await log.durable(log.append(b'{"event":"next"}'))
    await log.close()
    return log.repaired


async def test_the_last_record_cut_at_every_byte(path: Path) -> None:
    """Wherever a crash cut the last record, the others stay, the rest is kept aside, and the next record fits on."""
    good = path.read_bytes()
    start = list(read_lines(path))[-1].offset
    for cut in range(start, len(good)):
        path.write_bytes(good[:cut])
        assert [line.seq for line in read_lines(path)] == list(range(1, RECORDS))
        repaired = await append(path)
        if cut == start:
            assert repaired is None
        else:
            assert repaired is not None
            assert repaired[:2] == (start, cut - start)
            assert repaired.file.read_bytes() == good[start:cut]
        assert verify(path) == (RECORDS, path.stat().st_size, verify(path).last_crc, 0)


@pytest.mark.parametrize("size", [1, 511, 512, 4096])
@pytest.mark.parametrize("partial", [b"", b'{"v":1,"seq":13,"ti'])
async def test_a_tail_of_nuls_is_moved_aside(path: Path, size: int, partial: bytes) -> None:
    """Zeros that some file systems leave after a power cut are repaired like a torn line."""
    good = path.read_bytes()
    path.write_bytes(good + partial + bytes(size))
    assert verify(path).torn == size + len(partial)
    repaired = await append(path)
    assert repaired == (len(good), size + len(partial), path.with_name("events.jsonl.torn.1"))
    assert path.read_bytes().startswith(good)
    assert verify(path).records == RECORDS + 1


async def test_a_last_line_with_a_hole_is_torn(path: Path) -> None:
    """A last record whose middle sector never reached the disk is unfinished although its newline did."""
    good = path.read_bytes()
    path.write_bytes(good + b'{"v":1,"seq":13,"data":"' + bytes(512) + b'","crc":"00000000"}\n')
    assert [line.seq for line in read_lines(path)] == list(range(1, RECORDS + 1))
    assert await append(path) is not None
    assert path.read_bytes().startswith(good)


async def test_a_hole_before_other_records_is_damage(path: Path) -> None:
    """Zeros with records after them may stand for acknowledged ones, so nothing is cut off."""
    good = path.read_bytes()
    path.write_bytes(good + bytes(512) + b"\n" + good)
    with pytest.raises(RecordDamaged):
        LogWriter.open(path)
    assert path.stat().st_size == 2 * len(good) + 513


async def test_repairs_never_overwrite_each_other(path: Path) -> None:
    """The second torn tail gets a file of its own, readable by the owner only."""
    for number, rest in enumerate((b"first", b"second"), start=1):
        path.write_bytes(path.read_bytes() + rest)
        repaired = await append(path)
        assert repaired is not None
        assert repaired.file.name == f"events.jsonl.torn.{number}"
        assert repaired.file.stat().st_mode & 0o777 == 0o600
    assert path.with_name("events.jsonl.torn.1").read_bytes() == b"first"


def test_reading_repairs_nothing(path: Path) -> None:
    """Looking at a torn log, perhaps of a live run, leaves every byte where it is."""
    path.write_bytes(path.read_bytes() + b"torn")
    before = path.read_bytes()
    assert verify(path).torn == 4
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_flipped_bits_are_never_believed(path: Path) -> None:
    """Any single flipped bit is refused with its place; only a lost last newline counts as torn."""
    good = path.read_bytes()
    lines = list(read_lines(path))
    draw = random.Random(20261121)
    bits = draw.sample(range(len(good) * 8), 400) + [(len(good) - 1) * 8 + bit for bit in range(8)]
    for bit in bits:
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        seen, damage = read_until_damage(path)
        assert seen == lines[: len(seen)]
        if damage is None:
            assert bit // 8 == len(good) - 1
            assert len(seen) == RECORDS - 1
        else:
            assert damage.file == path
            assert damage.line == len(seen) + 1
            assert damage.offset == lines[len(seen)].offset <= bit // 8


@pytest.mark.parametrize(("last", "is_damage"), [(b"x", True), (b" ", True), (b"\0", False), (b"", False)])
def test_a_last_line_with_another_end_is_damage(path: Path, last: bytes, is_damage: bool) -> None:
    """A whole record may have been acknowledged, so only one whose end was never written is moved aside."""
    path.write_bytes(path.read_bytes()[:-1] + last)
    seen, damage = read_until_damage(path)
    assert len(seen) == RECORDS - 1
    assert (damage is not None) == is_damage


def read_until_damage(path: Path) -> tuple[list[Line], RecordDamaged | None]:
    """Return the records that were read before the log was refused."""
    seen = []
    try:
        for line in read_lines(path):
            seen.append(line)
    except RecordDamaged as damage:
        return seen, damage
    return seen, None


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (lambda lines: lines[:4] + lines[5:], 5, "record 6 where record 5"),
        (lambda lines: lines[:5] + lines[4:], 6, "record 5 where record 6"),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 5, "record 6 where record 5"),
        (lambda lines: lines[1:], 1, "record 2 where record 1"),
        (lambda lines: [*lines[:4], b"\n", *lines[4:]], 5, "not a record"),
        (lambda lines: [*lines[:4], b"hello\n", *lines[5:]], 5, "not a record"),
        (lambda lines: [*lines, lines[-1]], 13, "record 12 where record 13"),
        (lambda lines: [*lines[:4], lines[4].replace(b"20:14", b"20:15"), *lines[5:]], 5, "checksum"),
        (lambda lines: [*lines[:4], lines[4][:30], *lines[5:]], 5, "checksum"),
        (lambda lines: [*lines[:4], lines[4].replace(b"\n", b"\r\n"), *lines[5:]], 5, "checksum"),
    ],
    ids=["lost", "doubled", "swapped", "first-lost", "empty", "foreign", "last-doubled", "edited", "glued", "crlf"],
)
async def test_changed_lines_are_refused_by_place(path: Path, change: Any, line: int, said: str) -> None:  # type: ignore[no-untyped-def]
    """A lost, doubled, swapped, foreign or edited line is refused with its line and byte, and nothing is written."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))
    before = path.read_bytes()
    with pytest.raises(RecordDamaged, match=said) as refused:
        list(read_lines(path))
    assert refused.value.line == line
    assert refused.value.offset == sum(map(len, change(lines)[: line - 1]))
    with pytest.raises(RecordDamaged):
        LogWriter.open(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_line_spliced_in_from_another_log_is_refused(path: Path) -> None:
    """A record that is whole in itself does not fit where the ones before it differ."""
    lines = path.read_bytes().splitlines(keepends=True)
    edited = lines[0].replace(b"20:14", b"20:15")
    body = edited[: edited.index(b',"crc"')]
    other = body + b',"crc":"%08x"}\n' % module.zlib.crc32(body)
    path.write_bytes(b"".join([other, *lines[1:]]))
    with pytest.raises(RecordDamaged, match="checksum") as refused:
        list(read_lines(path))
    assert refused.value.line == 2


def test_a_giant_line_takes_no_giant_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless last line is torn and one in the middle is damage; neither is held in memory as a whole."""
    monkeypatch.setattr(module, "LINE_LIMIT", 1 << 16)
    good = path.read_bytes()
    path.write_bytes(good + b"x" * (1 << 25))
    tracemalloc.start()
    assert verify(path)[:2] == (RECORDS, len(good))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 23
    path.write_bytes(good + b"x" * (1 << 18) + b"\n")
    with pytest.raises(RecordDamaged, match="longer than"):
        verify(path)
