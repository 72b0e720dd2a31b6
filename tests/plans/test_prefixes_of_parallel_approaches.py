"""A run of several approaches at the same time, cut off after any record: one next step, and no work done twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench
from tests.plans.test_parallel_approaches import CHECK, SETTINGS, WAYS, left

from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State
from unstuck.supervision.context.next_step import next_step

BEGIN = (
    'me=first; for way in one two three; do grep -q "Approach: way $way" "$UNSTUCK_PROMPT_FILE" && me=$way; done\n'
    'echo "way $me" >> "$OUT/began"; echo $me > mine.txt\n'
)
ONE_PASSES = (
    "[ $me = three ] && exec sleep 600\n"
    '[ $me = two ] && { until [ -e "$OUT/checked-one" ]; do sleep 0.02; done; touch done.txt; }; true'
)
"""The first fails its check, then the second one passes; the third never ends by itself."""


class Snapshots:
    """The project, its worktrees and its state as they are at each record, and their return."""

    def __init__(self, kept: Path, *places: Path) -> None:
        self._kept, self._places = kept, places

    def take(self, number: int) -> None:
        for index, place in enumerate(self._places):
            if place.exists():
                shutil.copytree(place, self._kept / str(number) / str(index), symlinks=True, ignore=_sockets)

    def bring_back(self, number: int) -> None:
        for index, place in enumerate(self._places):
            shutil.rmtree(place, ignore_errors=True)
            if (saved := self._kept / str(number) / str(index)).exists():
                shutil.copytree(saved, place, symlinks=True)


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


@pytest.mark.parametrize(
    ("script", "start", "code", "ended"),
    [(ONE_PASSES, "attempt_ended", 0, "succeeded"), ("true", "approach_ended", 3, None)],
    ids=["one passes", "all fail"],
)
def test_every_prefix_has_one_next_step(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, start: str, code: int, ended: str | None
) -> None:
    """From any record on the run ends as it did, and no approach that was judged, or works already, is begun again."""
    places = Snapshots(tmp_path / "kept", bench.root, Path(os.environ["UNSTUCK_STATE_DIR"]))
    append, done = Journal.append, []

    def watched(self: Journal, *arguments: Any, **named: Any) -> Record:
        record = append(self, *arguments, **named)
        seen.add(record.name)
        if not done and start in seen:
            places.take(record.seq)
            taken.append(record.seq)
        return record

    taken: list[int] = []
    seen: set[str] = set()
    monkeypatch.setattr(Journal, "append", watched)
    check = f'touch "{bench.outside}/checked-$(cat mine.txt)"; {CHECK}'
    task = {"id": "web", "prompt": "Build it.", "check": check, "isolation": "worktree"}
    agents = {"worker": bench.agent("worker", BEGIN + script)}
    assert bench.run(bench.plan(agents=agents, tasks=[task], settings=SETTINGS)).code == code
    done.append(True)
    lines = (bench.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    _has_one_next_step(bench)
    began = bench.outside / "began"
    for number in taken:
        places.bring_back(number)
        for snapshot in bench.folder.glob("state.json*"):
            snapshot.unlink()
        (bench.folder / "events.jsonl").write_bytes(b"".join(lines[:number]))
        judged = {one["data"]["approach"]: one["data"]["result"] for one in bench.events("approach_ended")}
        began.write_text("")
        again = bench.resume()
        assert again.code == code, f"after {number}: {again.out}{again.err}"
        assert (bench.folder / "events.jsonl").read_bytes().startswith(b"".join(lines[:number])), f"after {number}"
        worked = [way for way in began.read_text().splitlines() if way != "way first"]
        assert len(worked) == len(set(worked)), f"after {number}: {worked}"
        assert not {way for way, result in judged.items() if result == "failed"} & set(worked), f"after {number}"
        if "passed" in judged.values():
            assert set(worked) <= {way for way, result in judged.items() if result == "passed"}, f"after {number}"
        (pivot,) = (one for one in bench.events("directive_issued") if one["data"]["level"] == "pivot")
        assert pivot["data"]["approaches"] == list(WAYS)
        assert list(bench.statuses().values()) == [ended], f"after {number}"
        assert len(bench.gates()) == (code == 3), f"after {number}"
        assert left(bench) == [], f"after {number}"
        if ended:
            assert bench.result("mine.txt") == "two\n"
        _has_one_next_step(bench)


def _has_one_next_step(bench: Bench) -> None:
    state = State()
    for record in read_records(bench.folder / "events.jsonl"):
        fold(state, record)
        for row in state.tasks.values():
            step = next_step(state, row, max_parallel=4, tree="web")
            if step.kind == "wait_gate":
                assert state.gates[step.about].status == "open"
            elif step.kind == "wait_attempt":
                assert state.attempts[step.about].is_live
