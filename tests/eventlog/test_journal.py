"""The journal: what was decided, what is safe, who follows it, and logs that somebody else wrote in."""

from __future__ import annotations

import asyncio
import json
import threading
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck.contract import Task
from unstuck.errors import LaggedBehind, RecordDamaged, RecordWriteFailed
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log import journal as journals
from unstuck.eventlog.log import log_format
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.log_format import verify
from unstuck.eventlog.log.records import read_records, replay
from unstuck.text import Clean

ENVELOPE = {"time": "2026-11-21T20:14:09.565Z", "mono": 1.0, "run": "r", "actor": "policy", "task": "", "attempt": ""}


def write(folder: Path, *bodies: dict[str, Any], version: int = 1, ascii_only: bool = True) -> Path:
    """A log as another program may have written it, with right checksums."""
    crc, lines = 0, []
    for seq, body in enumerate(bodies, start=1):
        whole = {"v": body.get("v", version), "seq": seq, **ENVELOPE, "cause": 0, **body}
        head = json.dumps(whole, separators=(",", ":"), ensure_ascii=ascii_only)[:-1].encode()
        crc = zlib.crc32(head, crc)
        lines.append(head + b',"crc":"%08x"}\n' % crc)
    path = folder / LOG_NAME
    path.write_bytes(b"".join(lines))
    return path


def added(name: str, **more: object) -> dict[str, Any]:
    """The event by which a task is known."""
    return {"event": "task_added", "task": name, "data": {"work": {"id": name, "prompt": "Work."}, **more}}


async def journal_in(folder: Path) -> Journal:
    return await Journal.open(folder, run="r", clock=ManualClock())


def warned(number: int) -> e.Event:
    return e.StopRequested(reason=str(number), attempt_id="none")


async def test_old_records_are_read_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a long log from its start holds up no agent: its records are read in other threads."""
    journal = await journal_in(tmp_path)
    for number in range(2 * journals.READ_SLICE):
        journal.append(warned(number))
    await journal.committed()
    threads = set[int]()
    for module, name in ((log_format, "open_for_reading"), (journals, "decoded")):
        called = getattr(module, name)

        def noted(*arguments: Any, called: Any = called) -> Any:
            threads.add(threading.get_ident())
            return called(*arguments)

        monkeypatch.setattr(module, name, noted)
    follower = journal.follow()
    for number in range(2 * journals.READ_SLICE):
        assert (await anext(follower)).seq == number + 1
    await follower.aclose()  # type: ignore[attr-defined]
    await journal.close()
    assert threads
    assert threading.get_ident() not in threads


async def test_decided_at_once_and_safe_later(tmp_path: Path) -> None:
    """Head knows an event when ``append`` returns; the durable state only when the disk has it."""
    journal = await journal_in(tmp_path)
    record = journal.append(e.TaskAdded(work=Task(id="a", prompt=Clean("Work."))), task="a")
    assert list(journal.head.tasks) == ["a"]
    assert list(journal.durable.tasks) == []
    await journal.committed()
    assert journal.durable == journal.head == replay(journal.path)
    assert [read.as_dict() for read in read_records(journal.path)] == [record.as_dict()]
    await journal.close()


async def test_what_is_told_as_safe_is_in_the_file(tmp_path: Path) -> None:
    """A record announced as durable is already in the log."""
    journal = await journal_in(tmp_path)
    found: list[bool] = []
    journal.on_durable(lambda record: found.append(verify(journal.path).records >= record.seq))
    for number in range(50):
        journal.append(warned(number))
        await journal.committed()
    assert found == [True] * 50
    await journal.close()


async def test_each_event_names_what_led_to_it(tmp_path: Path) -> None:
    """The cause of an event is the one that last changed its task."""
    journal = await journal_in(tmp_path)
    first = journal.append(e.TaskAdded(work=Task(id="a", prompt=Clean("Work."))), task="a")
    journal.append(warned(1))
    assert journal.append(e.TaskUnblocked(task_id="a"), task="a").cause == first.seq
    await journal.close()


# --- logs that somebody else wrote in --------------------------------------------------------------------------------


async def test_an_event_of_a_later_version_is_kept_and_counted(tmp_path: Path) -> None:
    """It changes nothing, its number is not given again, and its text is still there to be shown."""
    path = write(tmp_path, added("a"), {"event": "moon_observed", "data": {"phase": "full"}}, added("b"))
    journal = await journal_in(tmp_path)
    assert journal.head.seq == 3
    assert journal.head.unknown == 1
    assert list(journal.head.tasks) == ["a", "b"]
    assert journal.append(warned(1)).seq == 4
    await journal.close()
    assert verify(path).records == 4
    unknown = list(read_records(path))[1]
    assert unknown.name == "moon_observed"
    assert unknown.event.model_dump() == {"phase": "full"}


async def test_fields_of_a_later_version_do_not_hide_an_event(tmp_path: Path) -> None:
    """An event that has grown is read for what is known of it."""
    write(tmp_path, {**added("a", colour="blue"), "shard": 7})
    journal = await journal_in(tmp_path)
    assert list(journal.head.tasks) == ["a"]
    assert journal.head.unknown == 0
    await journal.close()


@pytest.mark.parametrize("tail", [b"", b'{"v":2,"seq":3,"ti'])
async def test_a_log_of_a_newer_schema_is_shown_but_never_written_to(tmp_path: Path, tail: bytes) -> None:
    """Opening it is refused with the line; not a byte changes, not even a torn end; it can still be looked at."""
    path = write(tmp_path, added("a"), {**added("b"), "v": 2})
    with path.open("ab") as file:
        file.write(tail)
    before = path.read_bytes()
    with pytest.raises(RecordDamaged, match=r"line 2.*later version.*schema 2"):
        await journal_in(tmp_path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [LOG_NAME]
    assert list(replay(path).tasks) == ["a", "b"]


@pytest.mark.parametrize("ascii_only", [True, False])
async def test_a_log_that_was_edited_by_hand_cannot_act_on_the_terminal(tmp_path: Path, ascii_only: bool) -> None:
    """Escape sequences, a delete character and reversed writing are gone from whatever is read back."""
    nasty = "\x1b]0;title\x07red\x9b31m\x7f\u202egreen\u200b\r"
    if not ascii_only:
        nasty = "red\x9b31m\x7f\u202egreen\u200b"
    write(
        tmp_path,
        {**added(f"a{nasty}"), "run": f"r{nasty}"},
        {"event": "gate_opened", "data": {"gate": "g1", "type": "stuck", "context": {f"k{nasty}": [f"v{nasty}"]}}},
        {"event": f"later{nasty}", "data": {"text": nasty}},
        ascii_only=ascii_only,
    )
    shown = repr([record.as_dict() for record in read_records(tmp_path / LOG_NAME)]) + repr(replay(tmp_path / LOG_NAME))
    assert "green" in shown
    for character in "\x1b\x9b\x7f\u202e\u200b\x07":
        assert character not in shown
        assert repr(character)[1:-1] not in shown


async def test_reading_a_log_changes_no_command_in_it(tmp_path: Path) -> None:
    """A run that goes on runs the very check it was started with, also one that looks like it holds a secret."""
    check = "API_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 pytest -q --title 'č'"
    path = write(tmp_path, {"event": "task_added", "data": {"work": {"id": "a", "prompt": "", "verify": check}}})
    assert replay(path).tasks["a"].task.verify == check


async def test_a_record_that_is_none_is_refused_by_line(tmp_path: Path) -> None:
    """The checksum fits, but what stands there is no record of ours."""
    write(tmp_path, added("a"), {"event": "task_added", "data": {}, "mono": "soon"})
    with pytest.raises(RecordDamaged, match="line 2, byte "):
        await journal_in(tmp_path)


async def test_a_torn_end_is_put_aside_and_said(tmp_path: Path) -> None:
    """The repair is itself an event of the run."""
    path = write(tmp_path, added("a"))
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"v":1,"seq":2,')
    journal = await journal_in(tmp_path)
    await journal.committed()
    (repaired,) = [r.event for r in read_records(path) if isinstance(r.event, e.LogRepaired)]
    assert repaired.offset == size
    assert repaired.bytes == 15
    assert Path(repaired.file).read_bytes() == b'{"v":1,"seq":2,'
    await journal.close()


async def test_a_folder_that_cannot_be_made_is_a_clear_refusal(tmp_path: Path) -> None:
    """A file stands in the way."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(RecordWriteFailed, match="runs"):
        await journal_in(tmp_path / "runs" / "r")


# --- readers ---------------------------------------------------------------------------------------------------------


async def collected(records: AsyncIterator[Record]) -> list[int]:
    return [record.seq async for record in records]


async def test_every_reader_gets_every_record_once_and_in_order(tmp_path: Path) -> None:
    """Readers that come early, late or in the middle see no gap and no double, and an end when the run is closed."""
    journal = await journal_in(tmp_path)
    readers = [asyncio.ensure_future(collected(journal.follow()))]
    for number in range(1, 301):
        journal.append(warned(number))
        if number % 3 == 0:
            await asyncio.sleep(0)
        if number == 150:
            readers.append(asyncio.ensure_future(collected(journal.follow())))
            readers.append(asyncio.ensure_future(collected(journal.follow(after=100))))
            readers.append(asyncio.ensure_future(collected(journal.follow(after=299))))
    await journal.close()
    early, late, middle, last = await asyncio.wait_for(asyncio.gather(*readers), 60)
    assert early == late == list(range(1, 301))
    assert middle == list(range(101, 301))
    assert last == [300]


async def test_a_reader_of_an_old_log_leaves_the_loop_to_others(tmp_path: Path) -> None:
    """Timers of the program around it run while a thousand old records are read."""
    journal = await journal_in(tmp_path)
    for number in range(1_000):
        journal.append(warned(number))
    await journal.committed()
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    ticking = asyncio.ensure_future(tick())
    seen = []
    async for record in journal.follow():
        seen.append(record.seq)
        if record.seq == 1_000:
            break
    ticking.cancel()
    assert seen == list(range(1, 1_001))
    assert turns >= 3
    await journal.close()


async def test_only_what_is_safe_is_given_out(tmp_path: Path) -> None:
    """A reader never sees a record that a power cut could still take back."""
    journal = await journal_in(tmp_path)
    follower = journal.follow()
    journal.append(warned(1))
    coming = asyncio.ensure_future(anext(follower))
    record = await coming
    assert verify(journal.path).records >= record.seq
    await follower.aclose()  # type: ignore[attr-defined]
    await journal.close()


async def test_a_reader_that_is_too_slow_is_told_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs no more memory than the others; from the number it was given it misses nothing."""
    monkeypatch.setattr(journals, "BACKLOG", 20)
    journal = await journal_in(tmp_path)
    journal.append(warned(0))
    await journal.committed()
    slow = journal.follow()
    assert (await anext(slow)).seq == 1
    for number in range(100):
        journal.append(warned(number))
    await journal.committed()
    assert max(len(reader.backlog) for reader in journal._readers) <= 20
    with pytest.raises(LaggedBehind) as lagged:
        await anext(slow)
    again = asyncio.ensure_future(collected(journal.follow(after=lagged.value.seq)))
    await asyncio.sleep(0)
    await journal.close()
    assert await again == list(range(2, 102))


async def test_readers_leave_nothing_behind(tmp_path: Path) -> None:
    """A reader that stops reading is forgotten."""
    journal = await journal_in(tmp_path)
    journal.append(warned(1))
    await journal.committed()
    for _ in range(3):
        follower = journal.follow()
        await anext(follower)
        await follower.aclose()  # type: ignore[attr-defined]
    assert journal._readers == []
    await journal.close()


async def test_a_long_run_keeps_nothing_but_its_state(tmp_path: Path) -> None:
    """Thousands of steps leave no rows and no queue behind in memory."""
    journal = await journal_in(tmp_path)
    for number in range(3_000):
        journal.append(e.StepRecorded(kind="action", text=Clean(f"step {number}")), task="a", attempt="a.1")
    await journal.committed()
    assert len(journal._pending) == 0
    assert len(journal.head.tasks) == 0
    assert len(journal.head.attempts) == 0
    assert len(journal.head.gates) == 0
    await journal.close()
    assert (tmp_path / SNAPSHOT_NAME).stat().st_size < 2_000
