"""The runs of a project: in their order whatever the clock says, and old ones go only where the settings say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.manual_clock import ManualClock

from unstuck.clock import SystemClock
from unstuck.contract import Guidance, Task
from unstuck.errors import SettingsError
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.storage.run_store import KEPT_ALWAYS, Ended, ended, new_run, outdated, remove, run_names
from unstuck.settings.loading import load_settings
from unstuck.settings.models import Settings
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

YEAR, DAY = 365 * 86_400.0, 86_400.0
NOW = 1_800_000_000.0


def make(folder: Path, run: str) -> str:
    (folder / run).mkdir(parents=True)
    (folder / run / "events.jsonl").write_text("")
    return run


def test_a_run_of_another_work_tree_has_another_name(tmp_path: Path) -> None:
    """Branches are named after runs, so two work trees of a repository never give the same one."""
    first = new_run(tmp_path / "one", NOW)
    assert new_run(tmp_path / "two", NOW, [first, "notes"]) == f"{first}-2"


def test_a_run_is_named_after_its_second(tmp_path: Path) -> None:
    """The first of a second has no number, the others count."""
    names = [make(tmp_path, new_run(tmp_path, NOW)) for _ in range(12)]
    assert names == ["20270115-080000", *(f"20270115-080000-{number}" for number in range(2, 13))]
    assert run_names(tmp_path) == names
    assert new_run(tmp_path, NOW + 1) == "20270115-080001"


def test_the_order_of_runs_does_not_depend_on_the_clock(tmp_path: Path) -> None:
    """Set back or forward by a year between two runs: what began later comes later."""
    names = [
        make(tmp_path, new_run(tmp_path, at)) for at in (NOW, NOW - YEAR, NOW + YEAR, NOW + 5, NOW, NOW + YEAR + 9)
    ]
    assert run_names(tmp_path) == names
    assert len(set(names)) == len(names)


def test_only_runs_are_runs(tmp_path: Path) -> None:
    """Strange names, hidden ones and folders without a log are none, and neither is a folder that is not there."""
    for name in ("r1", "20270115-080000", ".removing-20270115-080001", "\x1b[2J", "two\nlines", "\udcff"):
        make(tmp_path, name)
    (tmp_path / "empty").mkdir()
    assert run_names(tmp_path) == ["20270115-080000", "r1"]
    assert run_names(tmp_path / "none") == []


def runs(*ages: float, size: int = 100) -> list[Ended]:
    """Ended runs of these ages in days, oldest first."""
    return [Ended(f"r{age}", NOW - age * DAY, size) for age in sorted(ages, reverse=True)]


def gone(found: list[Ended], *, count: int = 1_000, days: int = 1_000, size: int = 10**9, now: float = NOW) -> set[str]:
    return {run.run for run in outdated(found, count=count, days=days, size=size, now=now)}


def test_too_many_too_old_and_too_large() -> None:
    """Each bound by itself takes the oldest ones, and nothing else."""
    found = runs(*range(30))
    assert gone(found) == set()
    assert gone(found, count=27) == {"r29", "r28", "r27"}
    assert gone(found, days=25) == {"r29", "r28", "r27", "r26"}
    assert gone(found, size=2_850) == {"r29", "r28"}


def test_a_clock_that_is_wrong_makes_nothing_old() -> None:
    """A year forward nothing is older than before, because age counts from the newest run; the last ten stay anyway."""
    found = runs(*range(30))
    assert gone(found, days=40, now=NOW + YEAR) == set()
    assert gone(found, days=40, now=NOW - YEAR) == set()
    future = [*found, Ended("future", NOW + YEAR, 100)]
    assert gone(future, days=40) == set()
    assert len(gone(future, days=40, now=NOW + YEAR)) == len(future) - KEPT_ALWAYS


async def run_one(project: Path, settings: Settings, clock: ManualClock) -> Supervisor:
    """A whole small run."""

    async def attempt(guidance: Guidance) -> None:
        return None

    async with Supervisor.open(project, settings, clock=clock) as supervisor:
        await supervisor.supervise(Task(id="t", prompt=Clean("Work."), verify="true"), attempt)
    await clock.advance(1)
    return supervisor


async def test_old_runs_go_and_it_is_said(tmp_path: Path, clock: ManualClock) -> None:
    """Ended runs above the limit are deleted with all their files; resumable and damaged ones stay."""
    few = Settings(keep_runs=2)
    first, second, third = [(await run_one(tmp_path, Settings(), clock)).run for _ in range(3)]
    async with Supervisor.open(tmp_path, few, clock=clock) as parked:
        parked.add(Task(id="t", prompt=Clean("Work."), verify="true"))
        await parked.core.journal.committed()
    folder = parked.project.runs
    assert run_names(folder) == [second, third, parked.run]
    damaged = folder / second / "events.jsonl"
    damaged.write_bytes(damaged.read_bytes() + b"?")
    assert ended(folder, second) is None
    for _ in range(3):
        await clock.advance(1)
        last = await run_one(tmp_path, few, clock)
    assert run_names(folder)[:2] == [second, parked.run]
    assert len(run_names(folder)) == 5
    (removed,) = [record.event for record in read_records(last.core.journal.path) if record.name == "runs_removed"]
    assert removed.runs == (third,)
    assert removed.bytes > 1_000
    assert not any(folder.glob(".removing-*"))
    assert first not in run_names(folder)


def test_a_removal_that_was_interrupted_is_finished_by_the_next(tmp_path: Path) -> None:
    """Killed after its rename, a removed run is no run any more, and its files go with the next one."""
    for run in ("20270115-080000", "20270115-080001"):
        make(tmp_path, run)
    (tmp_path / "20270115-080000").rename(tmp_path / ".removing-20270115-080000")
    assert run_names(tmp_path) == ["20270115-080001"]
    assert remove(tmp_path, "20270115-080001")
    assert list(tmp_path.iterdir()) == []
    assert not remove(tmp_path, "20270115-080001")


@pytest.mark.parametrize("key", ["keep_runs", "keep-days", "keep_bytes"])
def test_an_agent_cannot_shorten_the_record(tmp_path: Path, key: str) -> None:
    """The project's own file may not say how little is kept; the user's may."""
    value = {"keep_runs": 1, "keep-days": 1, "keep_bytes": 2**20}[key]
    (tmp_path / "unstuck.yaml").write_text(f"{key}: {value}\n")
    with pytest.raises(SettingsError, match="cannot be set by a file of the project"):
        load_settings(tmp_path, user_file=None, environ={}, overrides={})
    (tmp_path / "unstuck.yaml").rename(tmp_path / "user.yaml")
    settings = load_settings(tmp_path, user_file=tmp_path / "user.yaml", environ={}, overrides={})
    assert getattr(settings, key.replace("-", "_")) == value


class Jumping(SystemClock):
    """The machine's clock, set anew by whoever likes to; back-offs are not waited out."""

    jumped = 0.0

    def now(self) -> float:
        return super().now() + self.jumped

    async def sleep(self, seconds: float) -> None:
        await super().sleep(0.0 if seconds <= 5 else seconds)


async def story(place: Path, jumps: list[float]) -> list[str]:
    """Record a run whose wall clock jumps at each attempt; its first two meet transient errors."""
    place.mkdir()
    clock, met = Jumping(), 0

    async def attempt(guidance: Guidance) -> None:
        nonlocal met
        met += 1
        clock.jumped += jumps[met % len(jumps)]
        if met < 3:
            raise ConnectionError("HTTP 429 Too Many Requests")
        (guidance.workdir / "done").touch()

    async with Supervisor.open(place, clock=clock) as supervisor:
        task = Task(id="t", prompt=Clean("Work."), verify="test -e done", timeout_s=100.0)
        outcome = await supervisor.supervise(task, attempt)
    records = list(read_records(supervisor.core.journal.path))
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [record.mono for record in records] == sorted(record.mono for record in records)
    waits = [str(record.event.delay_seconds) for record in records if record.name == "transient_error_retry"]
    return [outcome.status, *waits, *(record.name for record in records)]


async def test_a_wall_clock_that_jumps_changes_nothing_but_what_is_shown(tmp_path: Path) -> None:
    """Set back and forward by a year in the middle of a run: same records in the same order, same waits, same end."""
    steady = await story(tmp_path / "steady", [0.0])
    assert steady[:3] == ["succeeded", "1.0", "2.0"]
    assert "agent_timeout" not in steady
    assert await story(tmp_path / "jumping", [YEAR, -2 * YEAR, YEAR]) == steady
