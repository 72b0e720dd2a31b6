"""The envelope of a line without its data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.log.envelope_scan import Envelope, envelope_of

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


def told(record: Record) -> Envelope:
    """Return the expected head of ``record``."""
    return Envelope(record.seq, record.time, record.mono, record.actor, record.task, record.attempt, record.name)


@pytest.mark.parametrize("log", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.name)
def test_a_head_says_what_the_whole_record_says(log: Path) -> None:
    """A search by heads finds the same records as a search of whole records."""
    lines = log.read_bytes().splitlines(keepends=True)
    assert lines
    assert [envelope_of(line) for line in lines] == [told(decode(line)) for line in lines]


@pytest.mark.parametrize(
    "task",
    [
        "plain",
        'a "quoted" one',
        "back\\slash",
        "\x1b]0;title\x07",
        "\u202eright to left",
        "größer",
        '","event":"gate_opened',
    ],
)
def test_names_that_would_deceive_are_read_as_the_record_reads_them(task: str) -> None:
    """A task cannot pass for another, nor for another event, by what it is called."""
    row = {"v": 1, "seq": 7, "time": "t", "mono": 1.5, "run": "r", "actor": "agent", "task": task, "attempt": "a"}
    row |= {"cause": 0, "event": "task_unblocked", "data": {}}
    for ascii_only in (True, False):
        line = json.dumps(row, separators=(",", ":"), ensure_ascii=ascii_only).encode()
        assert envelope_of(line) == told(decode(line))


def test_another_order_of_the_fields_is_read_all_the_same() -> None:
    """A line that another program has written again is found, too."""
    row = {"event": "task_ended", "seq": 3, "v": 1, "time": "t", "mono": 2, "run": "r", "actor": "human", "data": {}}
    assert envelope_of(json.dumps(row).encode()) == Envelope(3, "t", 2.0, "human", "", "", "task_ended")


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"{}", b"null", b'{"seq":1}', b"\xff\xfe"])
def test_what_is_no_record_is_refused(line: bytes) -> None:
    """Nothing is made up about a line that is no record."""
    with pytest.raises(ValueError):
        envelope_of(line)
