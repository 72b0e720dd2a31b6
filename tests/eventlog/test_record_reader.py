"""Readers take a run's state from its snapshot, and its records as a stream that can be followed."""

from __future__ import annotations

import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck.contract import Actor, Task
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import RecordDamaged
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log import load_state
from unstuck.eventlog.log import record_reader as readers
from unstuck.eventlog.log.journal import LOG_NAME, Journal
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.log_format import START, framed, read_lines
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.log.writer import LogWriter
from unstuck.text import Clean

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
FAILURE = diagnose("app.py:3: AssertionError\nE   AssertionError: assert 1 == 2", exit_code=1)


def check(result: Any = "failed") -> e.CheckFinished:
    assert FAILURE is not None
    return e.CheckFinished(result=result, diagnosis=FAILURE.as_dict() if result == "failed" else None)


async def written(folder: Path, *events: tuple[e.Event, str, Actor]) -> Path:
    """The folder of a run with these events, each of a task and an actor."""
    journal = await Journal.open(folder, run="r", clock=ManualClock())
    for event, task, actor in events:
        journal.append(event, task=task, actor=actor)
    await journal.close()
    return folder


def task(name: str) -> tuple[e.Event, str, Actor]:
    return e.TaskAdded(work=Task(id=name, prompt=Clean("Do it."))), name, "policy"


def answered(by: Actor) -> tuple[e.Event, str, Actor]:
    return e.GateAnswered(gate="g1", choice="skip", effect="skipped"), "web", by


def append(folder: Path, *bodies: dict[str, Any]) -> list[bytes]:
    """The whole lines of these records, as they follow on what the log has; nothing is written."""
    end = max((line.end for line in read_lines(folder / LOG_NAME)), default=START)
    lines = []
    seq, crc = end.seq, end.crc
    for body in bodies:
        seq += 1
        line, crc = framed(seq, json.dumps(body, separators=(",", ":")).encode(), crc)
        lines.append(line)
    return lines


def body(event: str = "task_unblocked", task: str = "web", **fields: Any) -> dict[str, Any]:
    row = {"time": "2026-11-22T10:00:00.000Z", "mono": 1.0, "run": "r", "actor": "policy", "task": task}
    return row | {"attempt": "", "cause": 0, "event": event, "data": {"task_id": task}} | fields


# --- what is wanted ---------------------------------------------------------------------------------------------------


async def test_records_are_found_by_task_event_and_actor(tmp_path: Path) -> None:
    """Each condition leaves out what does not meet it, and a star stands for any letters."""
    events = (task("web"), task("web-shop"), task("api"), answered("human"), answered("timer"))
    reader = RunReader(await written(tmp_path, *events))

    def found(**wanted: Any) -> list[int]:
        return [record.seq for record in reader.records(Wanted(**wanted))]

    assert found() == [1, 2, 3, 4, 5]
    assert found(tasks=("web",)) == [1, 4, 5]
    assert found(tasks=("web*",)) == [1, 2, 4, 5]
    assert found(tasks=("api", "web-*")) == [2, 3]
    assert found(types=frozenset({"task_added"})) == [1, 2, 3]
    assert found(actors=frozenset({"human", "timer"})) == [4, 5]
    assert found(tasks=("web",), actors=frozenset({"timer"})) == [5]


async def test_what_was_decided_without_me(tmp_path: Path) -> None:
    """A timer's answer, a policy's recovery and a skip by rule are; my own answer, a success and a start are not."""
    events: tuple[tuple[e.Event, str, Actor], ...] = (
        task("web"),
        answered("human"),
        answered("timer"),
        (e.RecoveryDecided(choice="continue"), "web", "policy"),
        (e.TaskEnded(task_id="web", status="succeeded"), "web", "policy"),
        (e.TaskEnded(task_id="web", status="skipped"), "web", "policy"),
    )
    reader = RunReader(await written(tmp_path, *events))
    assert [record.seq for record in reader.records(Wanted(without_me=True))] == [3, 4, 6]


async def test_records_about_one_failure(tmp_path: Path) -> None:
    """A failure is found by its identity or the beginning of it, wherever a record names it."""
    assert FAILURE is not None
    identity = FAILURE.identity
    gate = e.GateOpened(gate="g1", type="stuck", context={"signature": identity})
    events: tuple[tuple[e.Event, str, Actor], ...] = (
        task("web"),
        (check(), "web", "policy"),
        (gate, "web", "policy"),
        (e.StepRecorded(kind="failure", identity="0123456789abcdef-00000000"), "web", "agent"),
    )
    reader = RunReader(await written(tmp_path, *events))
    for wanted in (identity, identity[:8], identity[:20]):
        assert [record.seq for record in reader.records(Wanted(signature=wanted))] == [2, 3]
    assert [record.seq for record in reader.records(Wanted(signature="0123"))] == [4]


async def test_records_since_a_moment(tmp_path: Path) -> None:
    """Only what is later counts, and a time that makes no sense is no time."""
    await written(tmp_path)
    times = ("2026-11-22T09:59:59.999Z", "2026-11-22T10:00:00.000Z", "2026-11-22T12:00:00.000+01:00", "later")
    (tmp_path / LOG_NAME).write_bytes(b"".join(append(tmp_path, *(body(time=time) for time in times))))
    since = 1_795_341_600.0  # ten o'clock
    assert [record.seq for record in RunReader(tmp_path).records(Wanted(since=since))] == [2, 3]


@pytest.mark.parametrize("log", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.name)
def test_looking_at_heads_finds_what_reading_all_would(log: Path, tmp_path: Path) -> None:
    """For each task, actor, event and failure of a real log, the quick way gives the same as the slow one."""
    (tmp_path / LOG_NAME).write_bytes(log.read_bytes())
    every, lines = list(read_records(tmp_path / LOG_NAME)), log.read_bytes().splitlines(keepends=True)
    looks = [Wanted(without_me=True)]
    looks += [Wanted(types=frozenset({name})) for name in {record.name for record in every}]
    looks += [Wanted(tasks=(name,)) for name in {record.task for record in every}]
    looks += [Wanted(actors=frozenset({actor})) for actor in {record.actor for record in every}]
    looks += [Wanted(signature=name) for record in every for name in readers.signatures_in(record) if name]
    for wanted in looks:
        assert list(RunReader(tmp_path).records(wanted)) == [record for record in every if wanted(record)]
        assert [number for number, line in enumerate(lines) if wanted.finds(line)] == [
            number for number, record in enumerate(every) if wanted(record)
        ]


def test_a_line_that_another_program_wrote_is_found_too(tmp_path: Path) -> None:
    """Blanks, another order, or letters written as escapes hide nothing."""
    envelope = b'"time":"t","mono":1,"run":"r","actor":"human"'
    spaced = b'{"v":1,"seq":1, "event": "task_unblocked", "task": "web", ' + envelope + b', "data": {"task_id": "web"}'
    named = b'{"v":1,"seq":2,' + envelope + rb',"task":"w\u0065b","attempt":"","cause":0,"event":"step_recorded",'
    rows = [spaced, named + rb'"data":{"kind":"failure","identity":"\u0061bcd"}']
    crc, lines = 0, []
    for row in rows:
        crc = zlib.crc32(row, crc)
        lines.append(row + b',"crc":"%08x"}\n' % crc)
    (tmp_path / LOG_NAME).write_bytes(b"".join(lines))
    reader = RunReader(tmp_path)
    wanted = Wanted(tasks=("web",), actors=frozenset({"human"}))
    assert [record.seq for record in reader.records(wanted)] == [1, 2]
    assert [record.seq for record in reader.records(Wanted(signature="abcd"))] == [2]


async def test_of_what_is_not_wanted_only_the_envelope_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five hundred records the one that is wanted is decoded, and no other."""
    await written(tmp_path, *(task(f"t{number}") for number in range(500)))
    decoded: list[int] = []

    def counted(path: Path, line: Any) -> Record:
        decoded.append(line.seq)
        return decode(line.raw)

    monkeypatch.setattr(readers, "decoded", counted)
    assert [record.task for record in RunReader(tmp_path).records(Wanted(tasks=("t250",)))] == ["t250"]
    assert decoded == [251]


async def test_a_stream_holds_no_more_of_a_longer_log(tmp_path: Path) -> None:
    """Looking through four times as many records takes no more memory."""

    async def long(name: str, count: int) -> Path:
        (tmp_path / name).mkdir()
        log = LogWriter.open(tmp_path / name / LOG_NAME)
        for _ in range(count):
            log.append(json.dumps(body()).encode())
        await log.close()
        return tmp_path / name

    def peak(folder: Path) -> int:
        tracemalloc.start()
        assert [record.seq for record in RunReader(folder).records(Wanted(tasks=("none",)))] == []
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(await long("warm", 10))
    assert peak(await long("long", 2_000)) < peak(await long("short", 500)) + 64 * 1024


# --- the state --------------------------------------------------------------------------------------------------------


async def test_the_state_comes_from_the_snapshot_and_what_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long log only what the snapshot does not stand for is folded."""
    await written(tmp_path, *(task(f"t{number}") for number in range(50)))
    with (tmp_path / LOG_NAME).open("ab") as log:
        log.writelines(append(tmp_path, body(task="t1"), body(task="t2")))
    folded: list[int] = []
    monkeypatch.setattr(
        "unstuck.eventlog.fold.fold", lambda state, record: (folded.append(record.seq), fold(state, record))
    )
    for checked in (0, load_state.FULL_CHECK_BYTES):
        monkeypatch.setattr(load_state, "FULL_CHECK_BYTES", checked)
        state, damage = current_state(tmp_path)
        assert len(state.tasks) == 50
        assert state.seq == 52
        assert damage is None
        assert folded == [51, 52]
        folded.clear()


async def test_damage_before_the_snapshot_is_seen(tmp_path: Path) -> None:
    """Records before a snapshot are checked, too: the state is the one before the damage, which is reported."""
    await written(tmp_path, *(task(f"t{number}") for number in range(5)))
    raw = bytearray((tmp_path / LOG_NAME).read_bytes())
    raw[raw.index(b'"t2"') + 1] ^= 1
    (tmp_path / LOG_NAME).write_bytes(raw)
    state, damage = current_state(tmp_path)
    assert damage is not None
    assert list(state.tasks) == ["t0", "t1"]
    assert damage.line == 3


# --- following --------------------------------------------------------------------------------------------------------


class Writer:
    """Somebody who writes while the log is followed: a step each time the reader waits."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter(steps)
        self.is_live = True

    def wait(self) -> None:
        step = next(self._steps, None)
        if step is None:
            self.is_live = False
        else:
            step()

    def read(self, folder: Path) -> Iterator[int]:
        reader = RunReader(folder)
        return (record.seq for record in reader.follow(is_live=lambda: self.is_live, wait=self.wait))


async def test_a_follower_reads_what_comes_until_the_writer_has_ended(tmp_path: Path) -> None:
    """Also the last words, which were written after the writer was asked after for the last time."""
    await written(tmp_path, task("web"))
    path = tmp_path / LOG_NAME
    lines = append(tmp_path, body(), body(), body())

    def add(raw: bytes) -> None:
        with path.open("ab") as log:
            log.write(raw)

    half = len(lines[1]) // 2
    writer = Writer(
        lambda: add(lines[0]),
        lambda: add(lines[1][:half]),  # half a line is no record yet
        lambda: None,
        lambda: add(lines[1][half:] + lines[2]),
    )
    assert list(writer.read(tmp_path)) == [1, 2, 3, 4]


async def test_a_follower_outlasts_a_repair(tmp_path: Path) -> None:
    """A torn end that the next supervisor moves aside is never shown, and what it writes instead is."""
    await written(tmp_path, task("web"))
    path = tmp_path / LOG_NAME
    whole = path.read_bytes()
    (line,) = append(tmp_path, body(task="new"))
    path.write_bytes(whole + b'{"v":1,"seq":2,"time":"2026')
    writer = Writer(lambda: path.write_bytes(whole), lambda: path.write_bytes(whole + line))
    assert list(writer.read(tmp_path)) == [1, 2]


async def test_a_follower_ends_with_a_run_that_is_deleted(tmp_path: Path) -> None:
    """A log that is gone is over, also while its writer lives."""
    await written(tmp_path / "run", task("web"))
    assert list(Writer((tmp_path / "run" / LOG_NAME).unlink).read(tmp_path / "run")) == [1]


async def test_a_follower_is_told_of_damage(tmp_path: Path) -> None:
    """A record that stays wrong is refused by line and byte, and not waited for."""
    await written(tmp_path, task("web"))
    path = tmp_path / LOG_NAME
    damaged = append(tmp_path, body())[0].replace(b"task_unblocked", b"task_unblockt") + b"{}\n"
    writer = Writer(lambda: path.write_bytes(path.read_bytes() + damaged), lambda: None, lambda: None)
    with pytest.raises(RecordDamaged, match="line 2"):
        list(writer.read(tmp_path))


async def test_a_follower_outlasts_a_moment_of_damage(tmp_path: Path) -> None:
    """Damage that a live supervisor repairs meanwhile is read again, and is no damage."""
    await written(tmp_path, task("web"))
    path = tmp_path / LOG_NAME
    whole = path.read_bytes()
    (line,) = append(tmp_path, body(task="new"))
    path.write_bytes(whole + line.replace(b"new", b"old") + b"{}\n")
    assert list(Writer(lambda: path.write_bytes(whole + line)).read(tmp_path)) == [1, 2]


async def test_damage_of_a_run_that_is_over_is_told_at_once(tmp_path: Path) -> None:
    """Nobody will put it right any more."""
    await written(tmp_path, task("web"))
    path = tmp_path / LOG_NAME
    path.write_bytes(path.read_bytes() + append(tmp_path, body())[0].replace(b"task_unblocked", b"task_unblockt"))
    writer = Writer()
    writer.is_live = False
    with pytest.raises(RecordDamaged, match="line 2"):
        list(writer.read(tmp_path))


async def test_another_log_in_its_place_is_no_continuation(tmp_path: Path) -> None:
    """A follower of a log that is replaced by another is told that it does not fit."""
    await written(tmp_path / "one", task("web"), task("api"))
    await written(tmp_path / "two", task("other"), task("another"), task("third"))
    path = tmp_path / "one" / LOG_NAME
    writer = Writer(lambda: (tmp_path / "two" / LOG_NAME).replace(path), lambda: None)
    with pytest.raises(RecordDamaged, match="record 2 does not end here"):
        list(writer.read(tmp_path / "one"))
