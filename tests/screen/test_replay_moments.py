"""A run of the past: any moment of it, found again from its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstuck.contract import Answer
from unstuck.errors import RecordError, UnstuckError
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State, dump
from unstuck_tui.runs.history import History
from unstuck_tui.runs.log.index import LogIndex, indexed, last_of, next_of
from unstuck_tui.runs.replay.replayed_run import MomentCache, ReplayedRun
from unstuck_tui.screens.replay import AT_ONCE, PAUSE_S, Player


@pytest.fixture
def log(past_log: Path) -> Path:
    """The log of a busy hour."""
    return past_log


def as_it_was(log: Path, seq: int) -> State:
    """The state after record ``seq``, by reading everything up to it."""
    state = State()
    for record in read_records(log):
        if record.seq > seq:
            break
        fold(state, record)
    return state


def told(history: History, state: State) -> dict[str, object]:
    """Everything that a history tells of the tasks of ``state``."""
    told: dict[str, object] = {task: (history.of(task), history.spent(task)) for task in state.tasks}
    return told | {"failures": history.failures}


def test_every_moment_is_as_it_was(log: Path) -> None:
    """Forwards, backwards or from one end to the other: the moment shown is what the log tells up to there."""
    index = indexed(log)
    film = MomentCache(index, every=7, most=4)
    seen, history = State(), History()
    for record in read_records(log):
        fold(seen, record)
        history.see(record)
    last = film.moment(len(index))
    assert told(last.history, last.state) == told(history, seen)
    for seq in [*range(len(index), -1, -1), 3, len(index), 0, len(index) // 2]:
        assert dump(film.moment(seq).state) == dump(as_it_was(log, seq))


def test_a_moment_is_near_one_that_is_kept(log: Path) -> None:
    """However long a run is, few of its moments are kept, and none is far from one of them."""
    index = indexed(log)
    film = MomentCache(index, every=2, most=5)
    film.moment(len(index))
    kept = [moment.seq for moment in film._kept]
    assert len(kept) <= 5
    assert kept[0] == 0
    gaps = [after - before for before, after in zip(kept, [*kept[1:], len(index)], strict=True)]
    assert max(gaps) <= 2 * film._every


def test_trouble_is_found_where_it_is(log: Path) -> None:
    """The next failure and the next question are those that the log tells of."""
    index = indexed(log)
    records = list(read_records(log))
    failed = [r.seq for r in records if r.name == "check_finished" and getattr(r.event, "result", "") == "failed"]
    assert index.failures == failed != []
    assert index.gates == [record.seq for record in records if record.name == "gate_opened"] != []
    assert next_of(failed, 0) == failed[0]
    assert next_of(failed, failed[0]) == failed[1]
    assert next_of(failed, failed[-1]) == 0
    assert last_of(failed, failed[1]) == failed[0]
    assert last_of(failed, failed[0]) == 0


def test_the_strip_and_the_records_agree(log: Path) -> None:
    """A place of the strip gives a moment that stands there."""
    index = indexed(log)
    assert index.at(0.0) == 1
    for place in range(1, 51):
        share = place / 50
        seq = index.at(share)
        assert index.share(seq) >= share - 1e-9
        assert index.share(seq - 1) < share


def test_a_damaged_log_shows_what_stands_before(log: Path, tmp_path: Path) -> None:
    """Of a run whose record is damaged one sees all that can be trusted."""
    broken = tmp_path / "broken.jsonl"
    raw = log.read_bytes().splitlines(keepends=True)
    raw[20] = raw[20].replace(b'"event"', b'"evemt"')
    broken.write_bytes(b"".join(raw))
    index = indexed(broken)
    assert len(index) == 20
    assert index.damage is not None
    assert index.damage.line == 21


def test_an_empty_log_and_none(tmp_path: Path) -> None:
    """A run that never began is shown empty; one that is not there is an error that says so."""
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    run = ReplayedRun(indexed(empty))
    assert run.seq == 0
    assert run.state.tasks == {}
    with pytest.raises(RecordError):
        indexed(tmp_path / "none.jsonl")


async def test_what_comes_next_comes_record_by_record(log: Path) -> None:
    """A step on tells of each record as it came then; a leap back tells that everything is another."""
    index = indexed(log)
    run = ReplayedRun(index)
    seen: list[int] = []
    turns: list[int] = []
    run.follow(lambda record: seen.append(record.seq), lambda: None)
    run.turned = lambda: turns.append(run.seq)
    begun = run.seq
    assert begun == index.begun
    await run.go_to(begun + 5)
    assert seen == list(range(begun + 1, begun + 6))
    await run.go_to(begun)
    assert turns == [begun]
    await run.go_to(10**9)
    assert run.seq == len(index)
    await run.go_to(-5)
    assert run.seq == 0
    assert turns[-1] == 0


async def test_nothing_can_be_done_to_the_past(log: Path) -> None:
    """No answer, no stop and no other wish has an effect on a run that is over."""
    before = log.read_bytes()
    run = ReplayedRun(indexed(log))
    for wish in (run.answer("g1", Answer(choice="skip")), run.stop("now"), run.keep_open("g1")):
        with pytest.raises(UnstuckError, match="replay"):
            await wish
    assert log.read_bytes() == before


class Ticking:
    """A clock that says what it is told to."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


async def test_time_passes_as_it_did(log: Path, ticking: Ticking) -> None:
    """At its own speed a record comes when it came then, and no pause is longer than two seconds."""
    index = indexed(log)
    run = ReplayedRun(index)
    player = Player(run, ticking)
    player.begin()
    pause = next(seq for seq in range(1, len(index)) if index.time_of(seq + 1) - index.time_of(seq) > 60)
    await run.go_to(pause)
    ticking.time = PAUSE_S / 2
    assert await player.play(1)
    assert run.seq == pause
    assert run.clock.now() == index.time_of(pause) + PAUSE_S / 2
    ticking.time = PAUSE_S + 0.01
    await player.play(1)
    assert run.seq > pause


async def test_a_flood_is_shown_in_portions_and_the_end_is_the_end(
    tmp_path: Path, flood_log: Path, ticking: Ticking
) -> None:
    """Of many records in one moment no more come at once than a frame can show; after the last one it stands still."""
    index = indexed(flood_log)
    assert isinstance(index, LogIndex)
    run = ReplayedRun(index)
    player = Player(run, ticking)
    await run.go_to(0)
    ticking.time = 100.0
    assert await player.play(1_000)
    assert run.seq == AT_ONCE
    while await player.play(1_000):
        ticking.time += 100.0
    assert run.seq == len(index)
    assert run.clock.ahead == 0.0
