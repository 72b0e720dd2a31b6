"""Whatever the last record that reached the disk was, the run goes on from there to the same end, in this process."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.eventlog.log.records import read_records, replay
from unstuck.eventlog.state import State, copied, dump, load
from unstuck.supervision.context.next_step import next_step
from unstuck.supervision.run.supervisor import Supervisor

SHARDS = 4
"""The prefixes are shared out, so that several processes can work on them."""

PATIENCE = 30
KEPT = ("climber.txt", "asker.txt")


@dataclass
class Whole:
    """One unkilled run: its log line by line, and from the first record on its live state and the files after each."""

    project: Path
    outside: Path
    lines: list[bytes] = field(default_factory=list)
    live: list[State] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    @property
    def run(self) -> str:
        return next((self.project / ".unstuck" / "runs").iterdir()).name

    @property
    def log(self) -> Path:
        return self.project / ".unstuck" / "runs" / self.run / LOG_NAME

    def watch(self, supervisor: Supervisor) -> None:
        """Keep the live state and the files as they are after each record."""
        journal = supervisor.core.journal

        def note(record: Record | None = None) -> None:
            self.live.append(copied(journal.head))
            self.files.append({name: (self.project / name).read_text("utf-8") for name in KEPT})

        note()
        journal.on_append(note)


@pytest.fixture(scope="module")
def finished() -> list[Whole]:
    """Return the directory of the finished run, shared by all tests, none of which changes it."""
    return []


@pytest.fixture
async def whole(finished: list[Whole], tmp_path: Path, scripted: ModuleType) -> Whole:
    """A finished run in a project without git."""
    if not finished:
        run = Whole(tmp_path / "project", tmp_path / "outside")
        run.outside.mkdir()
        scripted.make_project(run.project)
        result = await asyncio.wait_for(scripted.work(run.project, run.outside, seen=run.watch), PATIENCE)
        assert result.exit_reason == "incomplete"
        run.lines = run.log.read_bytes().splitlines(keepends=True)
        finished.append(run)
    return finished[0]


def cut(whole: Whole, count: int, target: Path) -> tuple[Path, Path]:
    """A copy of the project as a kill after record ``count`` would have left it, and a fresh outside."""
    project, outside = target / "project", target / "outside"
    shutil.copytree(whole.project, project)
    outside.mkdir()
    for name, text in whole.files[max(0, count - 1)].items():
        (project / name).write_text(text, "utf-8")
    (project / ".unstuck" / "memory.jsonl").unlink()
    folder = project / ".unstuck" / "runs" / whole.run
    (folder / LOG_NAME).write_bytes(b"".join(whole.lines[:count]))
    for snapshot in folder.glob("state.json*"):
        snapshot.unlink()
    return project, outside


@pytest.mark.parametrize("shard", range(SHARDS))
async def test_every_prefix_of_a_log_goes_on_to_the_same_end(
    whole: Whole, scripted: ModuleType, tmp_path: Path, shard: int
) -> None:
    """Cut the log after each record in turn and resume: never a hang, always the same outcome."""
    for count in range(shard, len(whole.lines) + 1, SHARDS):
        project, outside = cut(whole, count, tmp_path / str(count))
        result = await asyncio.wait_for(scripted.work(project, outside, resume=whole.run), PATIENCE)
        log = project / ".unstuck" / "runs" / whole.run / LOG_NAME
        state = replay(log)
        assert result.exit_reason == "incomplete", f"after record {count}"
        assert result.exit_code == 1, f"after record {count}"
        assert {row.id: row.status for row in state.tasks.values()} == scripted.STATUSES, f"after record {count}"
        assert state.open_gates() == ()
        assert log.read_bytes().startswith(b"".join(whole.lines[:count]))
        attempts_are_recorded(outside, list(read_records(log)))


def attempts_are_recorded(outside: Path, records: list[Record]) -> None:
    ledger = outside / "ledger.jsonl"
    began = [json.loads(line)["attempt"] for line in ledger.read_text("utf-8").splitlines()] if ledger.exists() else []
    started = {r.attempt: r.event.guidance for r in records if isinstance(r.event, e.AttemptStarted)}
    assert set(began) <= set(started)
    ended = [r.attempt for r in records if isinstance(r.event, e.AttemptEnded)]
    used = [gate for attempt in ended for gate in started[attempt].answers]
    assert len(used) == len(set(used)) == 2


async def test_the_state_is_the_same_live_replayed_and_from_any_snapshot(whole: Whole) -> None:
    """At each record: what the run decided on is what its log tells, from the beginning or from a snapshot."""
    records = list(read_records(whole.log))
    live = {state.seq: state for state in whole.live}
    state = State()
    for record in records:
        fold(state, record)
        if record.seq in live:
            assert live[record.seq] == state, f"record {record.seq}: {record.name}"
        assert load(dump(state)) == state, f"record {record.seq}: {record.name}"
    for start in range(0, len(records), 7):
        early = State()
        for record in records[:start]:
            fold(early, record)
        late = load(dump(early))
        assert late is not None
        for record in records[start:]:
            fold(late, record)
        assert late == state


async def test_every_prefix_has_one_next_step_or_a_named_wait(whole: Whole) -> None:
    """Nowhere in a log is a task of which nobody could say what comes next; and the promises about gates hold."""
    state = State()
    for record in read_records(whole.log):
        fold(state, record)
        assert_sound(state)
        for row in state.tasks.values():
            step = next_step(state, row, max_parallel=2, tree=str(whole.project))
            if step.kind == "wait_gate":
                assert state.gates[step.about].status == "open"
            elif step.kind == "wait_attempt":
                assert state.attempts[step.about].is_live
            elif step.kind in ("wait_needs", "wait_tree"):
                assert step.about in state.tasks


def assert_sound(state: State) -> None:
    """The invariants of a state."""
    open_gates = [row.gate for row in state.open_gates()]
    assert len(open_gates) == len({(gate.task, gate.type, gate.key) for gate in open_gates})
    assert not [gate.id for gate in open_gates if gate.task and state.tasks[gate.task].state == "ended"]
    trees = [row.guidance.workdir for row in state.attempts.values() if row.is_live]
    assert len(trees) == len(set(trees))
