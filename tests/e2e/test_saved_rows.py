"""The rows that a run has saved beside its log are what its log says, or they are not used."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck
from tests.waiting import become

from unstuck.eventlog.log.load_state import current_state
from unstuck.rows import saved_rows as rows_module
from unstuck.rows.json_rows import show_rows
from unstuck.rows.saved_rows import saved_rows

LOOKS = (("runs", "--json"), ("show", "--json"), ("show",))


@pytest.fixture
def ended(unstuck: Unstuck, failing: str) -> Path:
    """The saved rows of a run that has ended."""
    agent = unstuck.script("agent.sh", "test -f tried && touch done; touch tried")
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "sh", agent).code == 0
    return unstuck.runs[-1] / "state.json.rows"


def test_saved_rows_are_those_of_the_log(unstuck: Unstuck, ended: Path) -> None:
    """Without the saved rows every look prints the same, and writes nothing."""
    assert _saved(ended.parent, 0.0) is not None
    saved = [unstuck.inside(*words).out for words in LOOKS]
    ended.unlink()
    assert [unstuck.inside(*words).out for words in LOOKS] == saved
    assert not ended.exists()


def _flipped(rows: Path) -> None:
    rows.write_bytes(rows.read_bytes().replace(b"succeeded", b"abandoned"))


def _of_another_version(rows: Path) -> None:
    rows.write_bytes(rows.read_bytes().replace(b"0.1.0", b"0.0.9"))


def _empty(rows: Path) -> None:
    rows.write_bytes(b"")


def _of_a_longer_log(rows: Path) -> None:
    log = rows.with_name("events.jsonl")
    log.write_bytes(log.read_bytes() + b"{")


@pytest.mark.parametrize("spoiled", [_flipped, _of_another_version, _empty, _of_a_longer_log])
def test_other_rows_are_not_used(unstuck: Unstuck, ended: Path, spoiled: Callable[[Path], None]) -> None:
    """Rows that were changed, are of another version or do not end where the log ends are passed over."""
    before = unstuck.inside("show", "--json").out
    spoiled(ended)
    assert unstuck.inside("show", "--json").out == before


def test_a_damaged_log_is_told_beside_its_rows(unstuck: Unstuck, ended: Path) -> None:
    """One changed byte of the log ends the use of its rows: `show` exits with 6, `runs` says damaged."""
    log = ended.with_name("events.jsonl")
    log.write_bytes(log.read_bytes().replace(b"attempt_started", b"attempt_starteD", 1))
    assert unstuck.inside("show").code == 6
    assert unstuck.inside("runs", "--json").rows[0]["state"] == "damaged"


def test_days_are_those_of_the_reader(unstuck: Unstuck, ended: Path) -> None:
    """In another time zone the days are counted anew."""
    done = unstuck("show", "--json", env={"TZ": "Pacific/Kiritimati"})
    ended.unlink()
    assert unstuck("show", "--json", env={"TZ": "Pacific/Kiritimati"}).out == done.out


@pytest.fixture
def paused(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> Path:
    """The saved rows of a run that waits for an answer."""
    assert unstuck.inside("run", "--headless", "--check", failing, "--", "true", env=no_climb).code == 3
    return unstuck.runs[-1] / "state.json.rows"


def _without_waits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for load in (rows[0]["load"], *rows[0].get("days", {}).values()):
        assert load.pop("waited_seconds") >= 0
    return rows


@pytest.mark.parametrize("words", [("runs", "--json"), ("show", "--json")])
def test_a_paused_run_is_shown_from_its_saved_rows(unstuck: Unstuck, paused: Path, words: tuple[str, ...]) -> None:
    """But for the time that its task waits, they are those of the log."""
    saved = _without_waits(unstuck.inside(*words).rows)
    paused.unlink()
    assert _without_waits(unstuck.inside(*words).rows) == saved
    assert not paused.exists()


def test_the_wait_of_a_paused_run_grows_over_days(paused: Path) -> None:
    """Ten days later its saved rows say the same wait, in all and by day, as its log."""
    later, folder = paused.stat().st_mtime + 10 * 86_400, paused.parent
    saved = _saved(folder, later)
    fresh = list(show_rows(folder.name, current_state(folder)[0], later))
    assert saved is not None
    assert list(saved[0]["days"]) == list(fresh[0]["days"])
    assert len(saved[0]["days"]) >= 10
    for name in ("load", "days"):
        saved_seconds, seconds = _waited(saved[0][name]), _waited(fresh[0][name])
        assert saved_seconds == pytest.approx(seconds, abs=0.2)
    assert _without_waits(saved) == _without_waits(fresh)


def _waited(load: dict[str, Any]) -> list[float]:
    return [one["waited_seconds"] for one in ([load] if "waited_seconds" in load else load.values())]


def _saved(folder: Path, now: float) -> list[dict[str, Any]] | None:
    return saved_rows(folder, now, is_live=lambda: False)


def test_a_resumed_run_is_not_shown_as_it_was(unstuck: Unstuck, paused: Path) -> None:
    """The rows of a paused run follow its next event, an answer, and then its end."""
    (saved, *_) = _saved(paused.parent, 0.0) or []
    assert saved["open_gates"] == 1
    unstuck.inside("answer", unstuck.only_gate()["gate"], "skip")
    (saved, *_) = _saved(paused.parent, 0.0) or []
    assert saved["open_gates"] == 0
    assert unstuck.inside("run", "--headless", "--resume", "last").code == 1
    assert unstuck.inside("runs", "--json").rows[0]["exit_reason"] == "incomplete"


def test_a_log_that_has_grown_is_not_read_for_its_old_rows(
    unstuck: Unstuck, ended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the log has become, one look at its size shows that they are old."""
    log = ended.with_name("events.jsonl")

    def read(*arguments: object, **named: object) -> None:
        raise AssertionError("the log was read")

    monkeypatch.setattr(rows_module, "verify", read)
    with pytest.raises(AssertionError):
        _saved(ended.parent, 0.0)
    with log.open("ab") as file:
        file.write(b"{")
    assert _saved(ended.parent, 0.0) is None


def _busy(unstuck: Unstuck) -> str:
    """An agent whose service refuses it, so that its task waits and counts down."""
    return unstuck.script("busy.sh", "echo 'API Error: 429 rate limit exceeded, please wait' >&2; exit 1")


async def test_a_countdown_goes_on_in_saved_rows(unstuck: Unstuck, failing: str) -> None:
    """Of a live run whose task waits, the saved rows say the same rest of the wait as its log."""
    run = unstuck.start("run", "--headless", "--check", failing, "--", "sh", _busy(unstuck), stdout=subprocess.DEVNULL)
    try:
        await become(lambda: bool(unstuck.runs) and (unstuck.runs[-1] / "state.json.rows").exists())
        folder = unstuck.runs[-1]
        await become(lambda: any(row.get("waits") for row in _saved(folder, 0.0) or ()))
    finally:
        run.kill()
        run.wait()
    began = (folder / "state.json.rows").stat().st_mtime
    for later in (began + 1.5, began + 3600.0):
        fresh = list(show_rows(folder.name, current_state(folder)[0], later, live=False))
        saved = _saved(folder, later)
        assert saved is not None
        for one, other in zip(saved, fresh, strict=True):
            rest, expected = one.pop("waits", None), other.pop("waits", None)
            assert (rest is None) == (expected is None)
            if rest is not None:
                assert rest.pop("left") == pytest.approx(expected.pop("left"), abs=0.2)
                assert rest == expected
        assert _without_waits(saved) == _without_waits(fresh)
        assert saved[0]["state"] == "interrupted"
