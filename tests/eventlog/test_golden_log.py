"""A log that the first version of the schema wrote is read by every later one, and says what it said then."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unstuck.eventlog.envelope import SCHEMA
from unstuck.eventlog.events import EVENTS
from unstuck.eventlog.fold import fold, rows
from unstuck.eventlog.log.records import read_records, replay
from unstuck.eventlog.state import State, dump, load

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
LOGS = sorted(GOLDEN.glob("*.jsonl"))
every_log = pytest.mark.parametrize("log", LOGS, ids=[log.stem for log in LOGS])


def state_of(log: Path) -> Path:
    """The state that this log gave in its time."""
    return log.with_name(f"{log.stem}.state.json")


def changes_of(log: Path) -> list[Any]:
    """Return the changes of each record of this log; written again if the file is deleted."""
    file = log.with_name(f"{log.stem}.changes")
    if not file.exists():
        state, before, lines = State(), {}, []
        for record in read_records(log):
            fold(state, record)
            now = json.loads(dump(state))
            lines.append(json.dumps(change(before, now), separators=(",", ":")))
            before = now
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def change(before: Any, now: Any) -> Any:
    """Return the news in ``now``: of maps only the keys that differ. No row of a state is ever removed."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return now
    return {
        key: change(before.get(key), value) for key, value in now.items() if key not in before or before[key] != value
    }


def changed(before: Any, by: Any) -> Any:
    """``before`` after the change ``by``."""
    if not (isinstance(before, dict) and isinstance(by, dict)):
        return by
    return before | {key: changed(before.get(key), value) for key, value in by.items()}


def differences(expected: Any, found: Any, where: str = "") -> list[str]:
    """Return where ``found`` lacks or contradicts ``expected``; additions of a later version are no difference."""
    if isinstance(expected, dict) and isinstance(found, dict):
        missing = [f"{where}.{key} is gone" for key in expected.keys() - found.keys()]
        both = [key for key in expected if key in found]
        return missing + [line for key in both for line in differences(expected[key], found[key], f"{where}.{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (one, two) in pairs for line in differences(one, two, f"{where}[{number}]")]
    return [] if expected == found else [f"{where}: {expected!r} is now {found!r}"]


@every_log
def test_an_old_log_tells_the_same_story(log: Path) -> None:
    """Folding the log of an earlier version gives the state that it gave then."""
    assert differences(json.loads(state_of(log).read_text(encoding="utf-8")), json.loads(dump(replay(log)))) == []


@every_log
def test_an_old_log_tells_the_same_story_at_every_moment(log: Path) -> None:
    """Wherever a run was paused, killed or looked at: its state after each record is the one that it was then."""
    state, expected = State(), {}
    for record, by in zip(read_records(log), changes_of(log), strict=True):
        fold(state, record)
        expected = changed(expected, by)
        assert differences(expected, json.loads(dump(state))) == [], f"after record {record.seq}, {record.name}"


@every_log
def test_every_event_of_an_old_log_is_still_known(log: Path) -> None:
    """No event was renamed or lost a field without which it cannot be read."""
    records = list(read_records(log))
    assert {record.version for record in records} == {SCHEMA} == {1}
    assert [record.name for record in records if record.event.name == "unknown"] == []
    assert [record.seq for record in records] == list(range(1, len(records) + 1))


@every_log
def test_the_state_of_an_old_snapshot_is_read(log: Path) -> None:
    """A state that was saved then can be read, and still says all that it said."""
    state = load(state_of(log).read_bytes())
    assert state is not None
    assert differences(json.loads(state_of(log).read_text(encoding="utf-8")), json.loads(dump(state))) == []


def test_every_event_there_is_stands_in_an_old_log() -> None:
    """A new event is added to a log that every later version has to read."""
    assert {record.name for log in LOGS for record in read_records(log)} == set(EVENTS)


@every_log
def test_a_changed_row_is_the_one_that_its_constructor_makes(log: Path) -> None:
    state = State()
    for record in read_records(log):
        fold(state, record)
        assert rows.changed(record, task="other") == replace(record, task="other")
    for task in state.tasks.values():
        assert rows.changed(task, reason="other") == replace(task, reason="other") != task
    for attempt in state.attempts.values():
        assert rows.changed(attempt, turn=7) == replace(attempt, turn=7) != attempt
