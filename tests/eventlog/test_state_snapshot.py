"""A snapshot saves reading, and is never believed against its log."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock

from unstuck.contract import Task
from unstuck.errors import RecordDamaged
from unstuck.eventlog import events as e
from unstuck.eventlog.log import journal as journals
from unstuck.eventlog.log import snapshot
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME, Journal
from unstuck.eventlog.log.records import replay
from unstuck.eventlog.state import State, dump, load
from unstuck.text import Clean


def task(name: str) -> e.TaskAdded:
    return e.TaskAdded(work=Task(id=name, prompt=Clean(f"Do {name}.")))


async def opened(folder: Path, *names: str) -> Journal:
    """The log in ``folder``, open, with the tasks ``names`` appended."""
    journal = await Journal.open(folder, run="r", clock=ManualClock())
    for name in names:
        journal.append(task(name), task=name)
    await journal.committed()
    return journal


async def tasks(folder: Path) -> list[str]:
    """The tasks that a run which is opened again knows of."""
    journal = await opened(folder)
    found = list(journal.head.tasks)
    assert journal.head == journal.durable == replay(folder / LOG_NAME)
    await journal.close()
    return found


async def test_a_run_starts_from_its_snapshot_and_the_rest_of_its_log(tmp_path: Path) -> None:
    """Records after the snapshot, which it has not seen because of a kill, are there."""
    await (await opened(tmp_path, "a", "b")).close()
    saved = (tmp_path / SNAPSHOT_NAME).read_bytes()
    await (await opened(tmp_path, "c")).close()
    (tmp_path / SNAPSHOT_NAME).write_bytes(saved)
    assert await tasks(tmp_path) == ["a", "b", "c"]


async def test_the_snapshot_is_what_is_read(tmp_path: Path) -> None:
    """A start does not fold again what the snapshot stands for: one that tells more is believed where it fits."""
    await (await opened(tmp_path, "a")).close()
    kept = snapshot.load(tmp_path / SNAPSHOT_NAME)
    assert kept is not None
    told = kept.state.replace(b'"unknown":0', b'"unknown":7')
    snapshot.save(tmp_path / SNAPSHOT_NAME, seq=kept.seq, offset=kept.offset, crc=kept.crc, state=told)
    journal = await opened(tmp_path)
    assert journal.head.unknown == 7
    await journal.close()


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "garbage"])
async def test_a_damaged_snapshot_is_passed_over(tmp_path: Path, damage: str) -> None:
    """The log alone tells the same."""
    await (await opened(tmp_path, "a", "b")).close()
    file = tmp_path / SNAPSHOT_NAME
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(
        {
            "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "cut": whole[:middle],
            "empty": b"",
            "garbage": b"\x00\xff" * 100,
        }[damage]
    )
    assert await tasks(tmp_path) == ["a", "b"]


async def test_a_log_that_has_lost_its_end_is_not_gone_on_with(tmp_path: Path) -> None:
    """The snapshot proves that records are missing: the log stays as it is until a person decides."""
    await (await opened(tmp_path, "a")).close()
    early = (tmp_path / LOG_NAME).read_bytes()
    await (await opened(tmp_path, "b")).close()
    (tmp_path / LOG_NAME).write_bytes(early)
    with pytest.raises(RecordDamaged, match=r"record 2 is missing: state\.json beside it covers them"):
        await opened(tmp_path, "c")
    assert (tmp_path / LOG_NAME).read_bytes() == early
    for snapshot_file in tmp_path.glob("state.json*"):
        snapshot_file.unlink()
    assert await tasks(tmp_path) == ["a"]


async def test_a_snapshot_of_another_log_is_passed_over(tmp_path: Path) -> None:
    """Same length, other content."""
    await (await opened(tmp_path / "one", "a")).close()
    await (await opened(tmp_path / "two", "b")).close()
    (tmp_path / "two" / SNAPSHOT_NAME).write_bytes((tmp_path / "one" / SNAPSHOT_NAME).read_bytes())
    assert await tasks(tmp_path / "two") == ["b"]


async def test_a_snapshot_without_its_log_is_no_run(tmp_path: Path) -> None:
    """The log is gone: nothing is made up from the snapshot."""
    await (await opened(tmp_path, "a")).close()
    (tmp_path / LOG_NAME).unlink()
    assert await tasks(tmp_path) == []


@pytest.mark.parametrize("state", [b"{}", b'{"version":"0.0.1","state":{"seq":1}}', b"[]", b'{"seq":1}'])
async def test_a_snapshot_of_another_version_is_passed_over(tmp_path: Path, state: bytes) -> None:
    """It is whole and fits the log, but another version may have made another state of the same records."""
    await (await opened(tmp_path, "a")).close()
    kept = snapshot.load(tmp_path / SNAPSHOT_NAME)
    assert kept is not None
    snapshot.save(tmp_path / SNAPSHOT_NAME, seq=kept.seq, offset=kept.offset, crc=kept.crc, state=state)
    assert await tasks(tmp_path) == ["a"]


async def test_closing_does_not_read_the_log_again(tmp_path: Path) -> None:
    """However long a run was, its snapshot costs no look at the file: it need not even be in its place."""
    journal = await opened(tmp_path, "a", "b")
    (tmp_path / LOG_NAME).rename(tmp_path / "elsewhere")
    await journal.close()
    (tmp_path / "elsewhere").rename(tmp_path / LOG_NAME)
    kept = snapshot.load(tmp_path / SNAPSHOT_NAME)
    assert kept is not None
    assert kept.seq == 2
    assert kept.offset == (tmp_path / LOG_NAME).stat().st_size
    assert await tasks(tmp_path) == ["a", "b"]


async def test_a_long_run_is_saved_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that is killed after many hours does not have to read all of them again, and none of it blocks."""
    saved = threading.Event()
    threads: list[threading.Thread] = []

    def noted(*arguments: object, **named: object) -> None:
        threads.append(threading.current_thread())
        snapshot.save(*arguments, **named)  # type: ignore[arg-type]
        saved.set()

    monkeypatch.setattr(journals, "save_snapshot", noted)
    monkeypatch.setattr(journals, "SNAPSHOT_BYTES", 50 * 1024)
    journal = await opened(tmp_path, *(f"t{number}" for number in range(49)))
    assert not (tmp_path / SNAPSHOT_NAME).exists()
    for _ in range(4):
        journal.append(e.StopRequested(reason="x" * 16 * 1024, attempt_id="none"))
    await journal.committed()
    assert await asyncio.to_thread(saved.wait, 60)
    kept = snapshot.load(tmp_path / SNAPSHOT_NAME)
    assert kept is not None
    assert json.loads(kept.state)["state"]["seq"] == kept.seq > 49
    assert threading.main_thread() not in threads
    await journal.close()


def test_an_empty_state_comes_back() -> None:
    """The very first snapshot there can be."""
    assert load(dump(State())) == State()
