"""Can the record be trusted? ``unstuck verify`` and the views say so, of every kind of damage, and change nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.eventlog.conftest import Said

from unstuck.clock import SystemClock
from unstuck.errors import RecordDamaged
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.log_format import framed, read_lines
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.log.verify import check

RUN = "20270115-080000"


def flip(path: Path, place: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_good_record_is_called_good(folder: Path, said: Said) -> None:
    """Counts, bytes and the snapshot, in a line or as JSON, with exit code 0."""
    size = (folder / LOG_NAME).stat().st_size
    assert check(folder) == (4, size, 0, 0, 0, "good")
    assert said("verify") == (0, f"{RUN}: 4 records, {size} bytes, all intact\n", "")
    code, rows, _ = said("verify", "--json")
    assert code == 0
    assert json.loads(rows) == {
        "run": RUN,
        "ok": True,
        "records": 4,
        "bytes": size,
        "torn": 0,
        "later": 0,
        "unknown": 0,
        "snapshot": "good",
        "memory": "good",
    }


def test_damage_is_refused_by_place_and_what_stands_before_it_is_shown(folder: Path, said: Said) -> None:
    """One bit of the third record: verify, show and runs exit or say so with file, line and byte, and write nothing."""
    third = list(read_lines(folder / LOG_NAME))[2]
    flip(folder / LOG_NAME, third.offset + 40)
    before = files(folder)
    place = f"{folder / LOG_NAME}: line 3, byte {third.offset}: the checksum does not fit"
    code, out, errors = said("verify")
    assert code == 6
    assert out == ""
    assert errors == f"unstuck: {place}\n"
    code, out, errors = said("show")
    assert code == 6
    assert errors == f"unstuck: {place}; shown are the events before it\n"
    assert [line.split()[0] for line in out.splitlines()] == ["run", "used:", "a"]
    code, out, _ = said("show", "--json")
    assert code == 6
    assert [json.loads(row).get("task") for row in out.splitlines()] == [None, "a"]
    code, out, _ = said("runs")
    assert code == 0
    assert place in out
    code, _, errors = said("run", "--resume", RUN, "--headless")
    assert code == 6
    assert place in errors
    assert files(folder) == before
    state, damage = current_state(folder)
    assert list(state.tasks) == ["a"]
    assert (damage and damage.line) == 3


def test_a_torn_end_is_told_and_not_repaired_by_looking(folder: Path, said: Said) -> None:
    """It was never acknowledged: the record is good, and the next start will move it aside."""
    with (folder / LOG_NAME).open("ab") as log:
        log.write(b'{"v":1,"seq":5,')
    before = files(folder)
    assert check(folder).torn == 15
    code, out, _ = said("verify")
    assert code == 0
    assert "the last 15 bytes are incomplete" in out
    assert files(folder) == before


@pytest.mark.parametrize("version", [0, 2, 12])
def test_a_schema_that_is_not_known_is_shown_and_never_written_to(folder: Path, said: Said, version: int) -> None:
    """Verify and show work; resuming and answering are refused with the line, and not a byte changes."""
    last = list(read_lines(folder / LOG_NAME))[-1]
    body = json.loads(last.raw)
    for key in ("v", "seq", "crc"):
        del body[key]
    body |= {"task": "d", "data": {"work": {"id": "d", "prompt": "Do d."}}}
    line, _ = framed(5, json.dumps(body).encode(), last.crc)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unstuck.eventlog.log.log_format.SCHEMA", version)
        line, _ = framed(5, json.dumps(body).encode(), last.crc)
    with (folder / LOG_NAME).open("ab") as log:
        log.write(line)
    before = files(folder)
    assert check(folder).records == 5
    assert check(folder).later == 1
    assert "1 of a later version" in said("verify")[1]
    assert [row.split()[0] for row in said("show")[1].splitlines()] == ["run", "used:", "a", "b", "c", "d"]
    with pytest.raises(RecordDamaged, match=f"line 5.*schema {version}"):
        asyncio.run(Journal.open(folder, run=RUN, clock=SystemClock()))
    assert files(folder) == before


@pytest.mark.parametrize("how", ["stale", "foreign", "cut", "gone"])
def test_a_snapshot_is_never_believed_over_the_log(folder: Path, how: str) -> None:
    """One that does not fit is said to be of no use; the record itself is as good as before."""
    path = folder / SNAPSHOT_NAME
    kept = snapshot.load(path)
    assert kept is not None
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        crc = kept.crc if how == "stale" else kept.crc ^ 1
        seq = kept.seq - 1 if how == "stale" else kept.seq
        snapshot.save(path, seq=seq, offset=kept.offset, crc=crc, state=kept.state)
        path.with_name(f"{SNAPSHOT_NAME}.1").unlink()
    assert check(folder).snapshot == ("none" if how == "gone" else "ignored")
    assert list(replay(folder / LOG_NAME).tasks) == ["a", "b", "c"]


def test_a_snapshot_that_lies_is_found(folder: Path, said: Said) -> None:
    """It is whole and fits its place, but says something else than the log: that is damage, named by its file."""
    path = folder / SNAPSHOT_NAME
    kept = snapshot.load(path)
    assert kept is not None
    state = kept.state.replace(b"Do b.", b"Do x.")
    snapshot.save(path, seq=kept.seq, offset=kept.offset, crc=kept.crc, state=state)
    with pytest.raises(RecordDamaged, match=r"state\.json.*something else"):
        check(folder)
    assert said("verify")[0] == 6
