"""A run that is killed at any record goes on to the same end: nothing acknowledged is lost, nothing is done twice.

``UNSTUCK_KILLS=500 pytest -n 2 -m kills tests/kills`` kills it five hundred times.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_NAME
from unstuck.eventlog.log.log_format import verify
from unstuck.eventlog.log.records import read_records, replay
from unstuck.eventlog.log.snapshot import load as load_snapshot
from unstuck.eventlog.state import load

Forked = Callable[..., tuple[int, str]]
KILLS = int(os.environ.get("UNSTUCK_KILLS", "20"))
RECORDS = 66
"""About how many a run has: which task gets ahead differs from run to run."""

DONE = "incomplete 1\n"


def moments(count: int) -> list[tuple[str, int]]:
    """``count`` moments to die at, spread over the run: each record when it is safe, and when it is only decided."""
    ways = ("--kill-durable", "--kill-appended")
    spread = max(1, RECORDS // count)
    return [(ways[number % 2], 1 + (number * spread + number // RECORDS) % RECORDS) for number in range(count)]


@dataclass
class Child:
    """The scripted run of one project, as a process of its own."""

    project: Path
    outside: Path
    forked: Forked
    acknowledged: list[bytes] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The run's own folder."""
        return next((self.project / ".git" / "unstuck" / "runs").iterdir())

    @property
    def log(self) -> Path:
        return self.folder / LOG_NAME

    def work(self, *arguments: str) -> tuple[int, str]:
        """Work on until it ends or dies: exit code and what it printed; keep the bytes of what was acknowledged."""
        if (self.project / ".git" / "unstuck" / "runs").is_dir():
            arguments = (*arguments, "--resume", self.folder.name)
        heard = self.outside / "acknowledged"
        code, said = self.forked(str(self.project), str(self.outside), "--acknowledged", str(heard), *arguments)
        self.check_acknowledged([int(line) for line in heard.read_text("ascii").split()])
        return code, said

    def resume(self, scripted: ModuleType) -> tuple[str, int]:
        """Go on to the end in this process, which spares a start; keep what was acknowledged as ``work`` does."""
        numbers: list[int] = []
        resumed = scripted.work(
            self.project,
            self.outside,
            resume=self.folder.name,
            listener=lambda record: numbers.append(record.seq),
        )
        result = asyncio.run(resumed)
        self.check_acknowledged(numbers)
        return result.exit_reason, result.exit_code

    def check_acknowledged(self, numbers: list[int]) -> None:
        """The records of these numbers, and those before, are in the log as they were; keep their bytes."""
        if numbers:
            lines = self.log.read_bytes().splitlines(keepends=True)
            assert len(lines) >= numbers[-1], "an acknowledged record is not in the log"
            assert lines[: len(self.acknowledged)] == self.acknowledged, "an acknowledged record has changed"
            self.acknowledged = lines[: numbers[-1]]


@pytest.fixture
def child(repo: Path, tmp_path: Path, scripted: ModuleType, forked: Forked) -> Child:
    """A repository with the scripted run's files."""
    scripted.make_project(repo)
    for arguments in (("add", "-A"), ("commit", "-q", "-m", "Files")):
        subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    return Child(repo, outside, forked)


def assert_ended_well(child: Child, scripted: ModuleType) -> None:
    """The promises, looked up in the log, in the agents' own ledger and in the repository."""
    assert b"".join(child.acknowledged) == child.log.read_bytes()
    assert verify(child.log).torn == 0
    records = list(read_records(child.log))
    state = replay(child.log)
    assert {row.id: row.status for row in state.tasks.values()} == scripted.STATUSES
    assert state.open_gates() == ()
    snapshot = load_snapshot(child.folder / SNAPSHOT_NAME)
    assert snapshot is not None
    live = json.dumps(json.loads(snapshot.state)["state"]).encode()
    assert load(live) == state, "the live state and the replayed one differ"
    answered = Counter(record.event.gate for record in records if isinstance(record.event, e.GateAnswered))
    assert set(answered) == set(state.gates)
    assert set(answered.values()) == {1}
    assert_attempts_are_recorded(child, records)
    branch = f"unstuck/{child.folder.name}/_run"
    for name in ("climber", "asker"):
        shown = subprocess.run(
            ["git", "show", f"{branch}:{name}.txt"], cwd=child.project, capture_output=True, text=True, check=True
        )
        assert shown.stdout == f"{name} is good\n"


def assert_attempts_are_recorded(child: Child, records: list[Record]) -> None:
    """Assert that the agents' work was recorded first, and that each answer was used once."""
    started = {r.attempt: r.event.guidance for r in records if isinstance(r.event, e.AttemptStarted)}
    ended = {r.attempt for r in records if isinstance(r.event, e.AttemptEnded)}
    ledger = [json.loads(line) for line in (child.outside / "ledger.jsonl").read_text("utf-8").splitlines()]
    began = Counter(line["attempt"] for line in ledger if line["what"] == "began")
    assert set(began.values()) == {1}, "an attempt was made twice under one id"
    for line in ledger:
        assert line["text"] == started[line["attempt"]].text
        assert tuple(line["answers"]) == started[line["attempt"]].answers
    assert ended <= {line["attempt"] for line in ledger if line["what"] == "ended"}
    used = Counter(gate for attempt, guidance in started.items() if attempt in ended for gate in guidance.answers)
    assert set(used.values()) == {1}, "an answer was used up by two attempts"
    assert len(used) == 2, "an answer did not reach an agent"


@pytest.mark.kills
@pytest.mark.parametrize(("how", "number"), moments(KILLS))
def test_a_killed_run_goes_on_to_the_same_end(child: Child, scripted: ModuleType, how: str, number: int) -> None:
    """Kill -9 at this record, resume: it ends as if nothing had happened."""
    code, said = child.work(how, str(number))
    assert code == -signal.SIGKILL, said
    assert child.resume(scripted) == ("incomplete", 1)
    assert_ended_well(child, scripted)


def test_an_unkilled_run_keeps_the_promises_too(child: Child, scripted: ModuleType) -> None:
    """A run without a kill keeps the same guarantees, and is the comparison for the kills."""
    assert child.work() == (0, DONE)
    assert_ended_well(child, scripted)
    names = {record.name for record in read_records(child.log)}
    assert {"restore_done", "research_done", "result_integrated", "transient_error_retry"} <= names


@pytest.mark.parametrize("first", [9, 43])
def test_a_run_that_is_killed_again_and_again_still_ends(child: Child, scripted: ModuleType, first: int) -> None:
    """Three kills in a row, two of them in the middle of picking up the pieces."""
    assert child.work("--kill-durable", str(first))[0] == -signal.SIGKILL
    assert child.work("--kill-appended", str(first + 2))[0] == -signal.SIGKILL
    assert child.work("--kill-durable", str(first + 5))[0] == -signal.SIGKILL
    assert child.resume(scripted) == ("incomplete", 1)
    assert_ended_well(child, scripted)


@pytest.mark.parametrize(
    ("how", "moment"),
    [("--kill-before", "given"), ("--kill-after", "given"), ("--kill-after", "sent"), ("--kill-after", "delivered")],
)
def test_an_answer_outlives_a_kill_at_every_point_of_its_life(
    child: Child, scripted: ModuleType, how: str, moment: str
) -> None:
    """Killed before the answer was safe, after it, on its way and after its delivery: told, and used up once."""
    code, said = child.work(how, moment)
    assert code == -signal.SIGKILL, said
    assert child.work() == (0, DONE)
    assert_ended_well(child, scripted)
