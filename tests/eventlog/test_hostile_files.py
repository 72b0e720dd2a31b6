"""A run's folder as bad intentions or a broken tool leave it: one clear line, and not a byte is written."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.eventlog.conftest import Said
from tests.manual_clock import ManualClock

from unstuck.errors import ProjectError, RecordDamaged, RecordError, RecordWriteFailed
from unstuck.eventlog.log import log_format as logs
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.log_format import framed, read_lines, verify
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.log.writer import LogWriter
from unstuck.eventlog.memory.entry import learnt
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.storage.lock import ProjectLock, read_holder

RUN = "20270115-080000"


def contents(folder: Path) -> dict[str, object]:
    """Everything below ``folder``: what it is, and the bytes of plain files."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        known = os.lstat(path)
        plain = path.is_file() and not path.is_symlink() and known.st_size < 1 << 20
        found[str(path)] = (known.st_mode, known.st_size, path.read_bytes() if plain else b"")
    return found


def is_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, is_device], ids=["pipe", "folder", "endless"])
def test_a_log_that_is_no_plain_file_is_refused_at_once(folder: Path, said: Said, make: Callable[[Path], None]) -> None:
    """It is neither waited for nor read for ever nor passed over in silence: every command names it and ends."""
    log = folder / LOG_NAME
    log.unlink()
    make(log)
    before = contents(folder)
    problem = f"unstuck: {log}: cannot be read: it is no plain file\n"
    for command in (("verify",), ("show",), ("run", "--resume", "last", "--headless")):
        assert said(*command) == (6, "", problem)
    code, out, _ = said("runs")
    assert code == 0
    (row,) = out.splitlines()[1:]
    assert row.startswith(f"{RUN}  damaged  ")
    assert row.endswith(f"  {log}: cannot be read: it is no plain file")
    assert said("answer", "g1", "skip")[0] == 2
    with pytest.raises(RecordError, match="plain file"):
        asyncio.run(Journal.open(folder, run=RUN, clock=ManualClock()))
    assert contents(folder) == before


def test_nothing_is_written_through_a_link(folder: Path, said: Said) -> None:
    """A log that is a link to a file elsewhere can be looked at, and is not added to; nor is one that leads nowhere."""
    log, elsewhere = folder / LOG_NAME, folder.parents[2] / "elsewhere"
    shutil.move(log, elsewhere)
    log.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert said("verify")[0] == said("show")[0] == 0
    code, _, errors = said("run", "--resume", "last", "--headless")
    assert code == 6
    assert errors.count("\n") == 1
    assert "symbolic link" in errors
    assert elsewhere.read_bytes() == before
    elsewhere.unlink()
    with pytest.raises(RecordWriteFailed, match="symbolic link"):
        asyncio.run(Journal.open(folder, run=RUN, clock=ManualClock()))
    assert not elsewhere.exists()


@pytest.mark.parametrize("name", [SNAPSHOT_NAME, f"{SNAPSHOT_NAME}.tmp", f"{SNAPSHOT_NAME}.1"])
async def test_a_snapshot_is_not_saved_through_a_link(folder: Path, name: str) -> None:
    """Whatever a link in its place leads to keeps its content."""
    victim = folder / "victim"
    victim.write_text("precious")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    await (await Journal.open(folder, run=RUN, clock=ManualClock())).close()
    assert victim.read_text() == "precious"
    assert not (folder / SNAPSHOT_NAME).is_symlink()
    assert check(folder).snapshot == "good"


def huge(path: Path) -> None:
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, is_device, huge], ids=["pipe", "folder", "endless", "huge"])
def test_a_snapshot_that_is_no_plain_file_is_passed_over(
    folder: Path, said: Said, make: Callable[[Path], None]
) -> None:
    """It is neither waited for nor read as a whole: the log alone tells all."""
    state = folder / SNAPSHOT_NAME
    if make is not huge:
        state.unlink()
    make(state)
    code, out, _ = said("verify")
    assert code == 0
    assert "its snapshot cannot be used" in out
    assert said("show")[0] == 0


def test_runs_that_cannot_be_listed_are_not_said_to_be_none(folder: Path, said: Said) -> None:
    """A file in the place of their folder, as with a folder that may not be read."""
    runs = folder.parent
    shutil.rmtree(runs)
    runs.write_text("hello")
    for command in ("verify", "show", "runs"):
        assert said(command) == (6, "", f"unstuck: {runs}: cannot be read: Not a directory\n")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, is_device], ids=["pipe", "folder", "endless"])
def test_a_memory_or_a_lock_that_is_no_plain_file_is_said(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """One line each, instead of a wait for ever."""
    make(tmp_path / "memory.jsonl")
    make(tmp_path / "lock")
    with pytest.raises(RecordError, match="cannot be read: it is no plain file"):
        Memory(tmp_path / "memory.jsonl").load()
    with pytest.raises(RecordError, match="cannot be written"):
        Memory(tmp_path / "memory.jsonl").remember(learnt("insight", signature="s"))
    with pytest.raises(ProjectError, match="cannot be locked"):
        ProjectLock(tmp_path / "lock").acquire()
    assert read_holder(tmp_path / "lock") is None


def test_no_lock_is_written_through_a_link(tmp_path: Path) -> None:
    """The file that it leads to keeps its content, and nobody holds the lock."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to("victim")
    with pytest.raises(ProjectError, match="symbolic link"):
        ProjectLock(tmp_path / "lock").acquire()
    assert (tmp_path / "victim").read_text() == "precious"


async def test_one_file_has_one_writer_by_whatever_name(tmp_path: Path) -> None:
    """By another link to it, as by another mount, it is the same file: the second writer is refused."""
    first = LogWriter.open(tmp_path / "events.jsonl")
    await first.durable(first.append(b'{"event":"first"}'))
    os.link(first.path, tmp_path / "other.jsonl")
    with pytest.raises(RecordWriteFailed, match="another process writes to it"):
        LogWriter.open(tmp_path / "other.jsonl")
    await first.durable(first.append(b'{"event":"second"}'))
    await first.close()
    second = LogWriter.open(tmp_path / "other.jsonl")
    assert second.append(b'{"event":"third"}') == 3
    await second.close()
    assert verify(first.path).records == 3


async def test_a_log_that_is_replaced_while_it_is_written_is_noticed(tmp_path: Path) -> None:
    """Another file has its name now: what goes to the old one is lost, so it is not acknowledged."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    copy = tmp_path / "copy"
    shutil.copy(log.path, copy)
    copy.replace(log.path)
    with pytest.raises(RecordWriteFailed, match="deleted or replaced"):
        await log.durable(log.append(b'{"event":"lost"}'))
    with pytest.raises(RecordWriteFailed):
        await log.close()
    assert verify(log.path) == (1, log.path.stat().st_size, verify(log.path).last_crc, 0)


@pytest.mark.parametrize("left", [0, 30])
async def test_a_log_that_is_cut_while_it_is_written_is_noticed(tmp_path: Path, left: int) -> None:
    """Somebody took records away that were safe: nothing more is acknowledged as if they were still there."""
    log = LogWriter.open(tmp_path / "events.jsonl")
    await log.durable(log.append(b'{"event":"safe"}'))
    os.truncate(log.path, left)
    with pytest.raises(RecordWriteFailed, match="its length was changed"):
        await log.durable(log.append(b'{"event":"next"}'))
    with pytest.raises(RecordWriteFailed):
        await log.close()
    assert log.end.seq == 1


def test_an_endless_torn_tail_is_moved_aside_without_filling_the_disk(tmp_path: Path) -> None:
    """Zeros without end that take no room take none where they are kept either."""
    path = tmp_path / LOG_NAME

    async def opened() -> None:
        log = LogWriter.open(path)
        await log.durable(log.append(b'{"event":"a"}'))
        await log.close()

    asyncio.run(opened())
    good = path.stat().st_size
    os.truncate(path, 1 << 26)
    asyncio.run(opened())
    aside = path.with_name(f"{LOG_NAME}.torn.1")
    assert aside.stat().st_size == (1 << 26) - good
    assert aside.stat().st_blocks * 512 < 1 << 20
    assert verify(path).records == 2


def test_a_name_for_what_is_torn_may_be_taken(tmp_path: Path) -> None:
    """By a folder, or by a link that leads nowhere: the next free one is used and nothing is made elsewhere."""
    path = tmp_path / LOG_NAME
    path.write_bytes(b'{"v":1,"se')
    path.with_name(f"{LOG_NAME}.torn.1").mkdir()
    path.with_name(f"{LOG_NAME}.torn.2").symlink_to(tmp_path / "nowhere")

    async def opened() -> str:
        log = LogWriter.open(path)
        await log.close()
        assert log.repaired is not None
        return log.repaired.file.name

    assert asyncio.run(opened()) == f"{LOG_NAME}.torn.3"
    assert not (tmp_path / "nowhere").exists()


def add(folder: Path, **fields: Any) -> None:
    """One more record, chained to the others as if we had written it; its snapshots are gone."""
    last = list(read_lines(folder / LOG_NAME))[-1]
    known = {key: value for key, value in json.loads(last.raw).items() if key not in ("v", "seq", "safe", "crc")}
    raw = fields.pop("raw", b"")
    body = raw or json.dumps(known | fields).encode()
    line, _ = framed(fields.pop("seq", last.seq + 1), body, last.crc)
    with (folder / LOG_NAME).open("ab") as log:
        log.write(line)
    for name in (SNAPSHOT_NAME, f"{SNAPSHOT_NAME}.1"):
        (folder / name).unlink(missing_ok=True)


GHOST = {"gate": "g9", "type": "stuck", "key": "k", "choices": ["skip"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"event": "gate_opened", "task": "ghost", "data": GHOST},
        {"event": "attempt_ended", "task": "ghost", "attempt": "ghost.1", "data": {"report": {"how": "ended"}}},
        {"event": "check_finished", "task": "a", "attempt": "a.77", "data": {"result": "passed"}},
        {"event": "gate_answered", "data": {"gate": "none", "choice": "skip", "effect": "skipped"}},
        {"event": "recovery_decided", "task": "\ud800", "data": {"choice": "done"}},
        {"event": "run_parked", "mono": 1e308, "time": "+99999-01-01T00:00:00Z", "data": {"gates": ["x"] * 99}},
        {"event": "run_parked", "mono": float("inf"), "time": "", "data": {}},
        {"event": "run_parked", "mono": float("nan"), "time": "yesterday", "data": {}},
        {"event": "budget_set", "mono": -1e300, "data": {"tokens": 1e300, "time": -1.0}},
        {"event": "step_recorded", "task": "a", "cause": 2**63, "data": {"kind": "action", "repeats": 2**53}},
        {"event": "task_added", "task": "\x1b]0;x\x07", "data": {"work": {"id": "\x1b[2J\u202e", "prompt": "\x9b2J"}}},
        {"event": "no_such_event", "data": {"a": [{}]}},
        {"event": "task_added", "data": {"work": "nothing of the kind"}},
    ],
    ids=lambda fields: fields["event"],
)
def test_a_record_that_makes_no_sense_hurts_nobody(folder: Path, said: Said, fields: dict[str, Any]) -> None:
    """Its place in the chain is right, so it is kept, shown without acting on the terminal, or changes nothing."""
    add(folder, **fields)
    before = contents(folder)
    assert check(folder).records == 5
    for command in (("verify",), ("show",), ("show", "--json"), ("runs",)):
        code, out, errors = said(*command)
        assert code == 0
        assert errors == ""
        assert not any(character in out for character in "\x1b\x07\x9b\u202e")
    assert contents(folder) == before


DEEP = b'{"time":"","mono":1,"run":"r","actor":"human","event":"x","data":{"deep":%b%b,"e":"\\u001b"}}'


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seq": 2**53}, f"record {2**53} where record 5 belongs"),
        ({"actor": "robot"}, "not an event: actor: Input should be"),
        ({"data": [], "event": "x"}, "not an event: data: Input should be"),
        ({"mono": "soon"}, "not an event: mono: Input should be"),
        ({"raw": b'{"event":"x"}'}, "not an event: time: Field required"),
        ({"raw": DEEP % (b"[" * 100_000, b"]" * 100_000)}, "not an event: "),
        ({"raw": DEEP % (b"9" * 5_000, b"")}, "not an event: "),
    ],
    ids=["seq", "actor", "data", "mono", "fields", "depth", "digits"],
)
def test_a_line_that_is_no_record_is_named_by_what_is_wrong(
    folder: Path, said: Said, fields: dict[str, Any], problem: str
) -> None:
    """With file, line and byte, in one line and in words, by each command; nothing of it is written to."""
    place = f"{folder / LOG_NAME}: line 5, byte {(folder / LOG_NAME).stat().st_size}: {problem}"
    add(folder, **fields)
    before = contents(folder)
    for command in (("verify",), ("show",), ("run", "--resume", "last", "--headless")):
        code, _, errors = said(*command)
        assert code == 6
        assert errors.count("\n") == 1
        assert errors.startswith(f"unstuck: {place}")
    assert place in said("runs")[1]
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"event": "run_started", "data": {"project": "p", "plan": {"agents": 5}}},
            "its plan makes no sense to this version",
        ),
        (
            {"event": "task_added", "task": "d", "data": {"work": {"id": "d", "prompt": "x", "agent": "gone"}}},
            "d is for an agent 'gone', which its plan does not have",
        ),
    ],
)
def test_a_run_whose_plan_does_not_fit_is_not_gone_on_with(
    folder: Path, said: Said, fields: dict[str, Any], problem: str
) -> None:
    """It is refused before anything starts or is written, in one line."""
    add(folder, **fields)
    before = contents(folder)
    code, out, errors = said("run", "--resume", "last", "--headless")
    assert code == 6
    assert out == ""
    assert errors.count("\n") == 1
    assert f"{folder / LOG_NAME}: {problem}" in errors
    assert contents(folder) == before


def test_a_question_in_a_damaged_record_is_not_said_to_be_unknown(folder: Path, said: Said) -> None:
    """`unstuck show` lists it, so `unstuck answer` says why it cannot be answered."""
    add(folder, event="gate_opened", task="a", data=GHOST)
    with (folder / LOG_NAME).open("ab") as log:
        log.write(b"damage\n")
    before = contents(folder)
    assert "? g9" in said("show")[1]
    code, _, errors = said("answer", "g9", "skip")
    assert code == 6
    assert "line 6" in errors
    assert errors.count("\n") == 1
    assert contents(folder) == before


def test_a_snapshot_of_another_run_is_passed_over(folder: Path, tmp_path: Path, said: Said) -> None:
    """It fits no place of this log; were it put there by force, checking would find that it tells something else."""
    kept = snapshot.load(folder / SNAPSHOT_NAME)
    assert kept is not None
    other = tmp_path / ".unstuck" / "runs" / "20270115-080001"
    shutil.copytree(folder, other)
    add(other, event="run_parked", data={})
    snapshot.save(other / SNAPSHOT_NAME, seq=5, offset=1, crc=kept.crc, state=kept.state)
    assert "its snapshot cannot be used" in said("verify")[1]
    last = list(read_lines(other / LOG_NAME))[-1]
    snapshot.save(
        other / SNAPSHOT_NAME,
        seq=last.seq,
        offset=last.end.offset,
        crc=last.crc,
        state=kept.state.replace(b'"seq":4', b'"seq":5', 1),
    )
    code, _, errors = said("verify")
    assert code == 6
    assert "something else" in errors


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_log_that_has_lost_its_end_is_not_trusted(folder: Path, said: Said, kept: int) -> None:
    """Whole lines are missing and the snapshot proves it: exit 6 from the check and from a resume, with what to do."""
    log = folder / LOG_NAME
    cut = b"".join(log.read_bytes().splitlines(keepends=True)[:kept])
    log.write_bytes(cut)
    for words in (("verify",), ("run", "--resume", "last", "--headless")):
        code, _, errors = said(*words)
        assert code == 6
        assert errors.count("\n") == 1
        assert "missing: state.json beside it covers them. Put back the whole log, or delete state.json" in errors
    assert log.read_bytes() == cut
    for snapshot_file in folder.glob("state.json*"):
        snapshot_file.unlink()
    assert said("verify")[0] == 0


@pytest.mark.parametrize("version", [2, 999_999_999])
def test_a_later_schema_is_read_and_never_written_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """However high its number is."""
    monkeypatch.setattr(logs, "SCHEMA", version)
    add(folder, event="no_such_event", data={})
    monkeypatch.undo()
    before = contents(folder)
    assert check(folder).later == 1
    with pytest.raises(RecordDamaged, match=f"schema {version}"):
        asyncio.run(Journal.open(folder, run=RUN, clock=ManualClock()))
    assert contents(folder) == before
