"""Failures in a run's state: each once, its last level, and what solved it; also over several runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.eventlog.conftest import Said
from tests.manual_clock import ManualClock

from unstuck.contract import Actor, Capabilities, Guidance, Observation, Report, Task
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.memory.store import memory_file
from unstuck.eventlog.summary_rows import SignatureRow
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

FAILURE = diagnose("app.py:3: AssertionError\nE   AssertionError: assert 1 == 2", exit_code=1)
assert FAILURE is not None
IDENTITY = FAILURE.identity


class Story:
    """A run's journal, told event by event."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def tell(self, event: e.Event, task: str = "web", attempt: str = "", actor: Actor = "policy") -> None:
        self.journal.append(event, task=task, attempt=attempt, actor=actor)

    def add(self, task: str) -> None:
        self.tell(e.TaskAdded(work=Task(id=task, prompt=Clean("Do it."))), task)

    def attempt(self, number: int, level: Any = "first", task: str = "web", approach: str = "", **more: Any) -> None:
        """An attempt from its start to its end."""
        name = f"{task}.{number}"
        said = Clean(approach) if approach else None
        guidance = Guidance(
            attempt=name, number=number, level=level, text=Clean(""), workdir=Path("/"), approach=said, **more
        )
        self.tell(e.AttemptStarted(guidance=guidance), task, name)
        self.tell(e.AttemptEnded(report=Report(exit_code=0), seconds=2.0), task, name)

    def check(self, number: int, result: Any = "failed", task: str = "web") -> None:
        assert FAILURE is not None
        diagnosis = FAILURE.as_dict() if result == "failed" else None
        self.tell(e.CheckFinished(result=result, diagnosis=diagnosis), task, f"{task}.{number}")

    @property
    def row(self) -> SignatureRow:
        return self.journal.head.signatures[IDENTITY]


@pytest.fixture
async def story(tmp_path: Path) -> Any:
    journal = await Journal.open(tmp_path / "run", run="run", clock=ManualClock())
    told = Story(journal)
    told.tell(e.RunStarted(project="p"), "")
    told.add("web")
    yield told
    await journal.close()


async def test_a_failure_is_counted_with_how_far_it_got(story: Story) -> None:
    """Each occurrence counts; a retry, a pivot and a question are further each time, and nothing goes back."""
    assert story.journal.head.signatures == {}
    for number, level in enumerate(("first", "retry", "pivot"), 1):
        story.attempt(number, level)
        story.check(number)
        rung: Any = ("retry", "pivot", "retry")[number - 1]
        story.tell(e.DirectiveIssued(level=rung, line=10, climb=Climb()))
        assert story.row.count == number
        assert story.row.rung == ("retry", "pivot", "pivot")[number - 1]
    story.tell(e.GateOpened(gate="g1", type="stuck", context={"signature": IDENTITY}))
    assert story.row.rung == "asked"
    assert story.row.tasks == ("web",)
    assert story.row.location == "app.py:3"
    attempt = story.journal.head.attempts["web.1"]
    assert attempt.check == "failed"
    assert attempt.signature == IDENTITY
    assert attempt.seconds == 2.0


@pytest.mark.parametrize(
    ("level", "approach", "worked"),
    [
        ("first", "", "again"),
        ("retry", "", "retry"),
        ("pivot", "another parser", "pivot: another parser"),
        ("research", "", "research"),
        ("continue", "", "a new session"),
    ],
)
async def test_what_got_past_it_is_kept(story: Story, level: str, approach: str, worked: str) -> None:
    """The rung and the approach of the attempt that passed; a failure that nothing got past has none."""
    story.attempt(1)
    story.check(1)
    assert story.row.worked == ""
    story.tell(e.DirectiveIssued(level="retry", line=10, climb=Climb()))
    story.tell(e.DirectivePrepared(level="retry", text=Clean("")))
    story.attempt(2, level, approach=approach)
    story.check(2, "passed")
    assert story.row.worked == worked


@pytest.mark.parametrize(("said", "worked"), [("use a dict", "your answer: use a dict"), ("", "your answer: by hand")])
async def test_a_persons_answer_is_what_worked(story: Story, said: str, worked: str) -> None:
    """A person's words that solved a failure are kept with it; an answer without words hides nothing."""
    story.attempt(1)
    story.check(1)
    story.tell(e.GateOpened(gate="g1", type="stuck", context={"signature": IDENTITY}))
    answer = e.GateAnswered(gate="g1", choice="show_me", text=Clean(said), effect="prepare")
    story.tell(answer, actor="human")
    story.tell(e.DirectivePrepared(level="human", text=Clean(""), answers=("g1",)))
    story.attempt(2, "human", approach="by hand", answers=("g1",))
    story.check(2, "passed")
    assert story.row.worked == worked


async def test_a_failing_step_counts_too_and_tasks_are_named_within_bounds(story: Story) -> None:
    """A failing step inside an attempt has a row; of many tasks the first are named, and all occurrences counted."""
    failed = e.StepRecorded(kind="failure", text=Clean("npm ERR! one\nmore"), identity="abc-1")
    for number in range(250):
        story.add(f"t{number}")
        story.tell(failed, f"t{number}", actor="agent")
    row = story.journal.head.signatures["abc-1"]
    assert row.count == 250
    assert len(row.tasks) == 200
    assert row.headline == "npm ERR! one"


async def test_a_failing_step_says_what_went_wrong_and_where(tmp_path: Path, clock: ManualClock) -> None:
    """A traceback that an agent's command printed is listed by its error and its place, not by its first line."""
    traceback = (
        'Traceback (most recent call last):\n  File "shop/cart.py", line 18, in total\n    return sum(prices)\n'
        "TypeError: unsupported operand type(s)\n"
    )
    async with Supervisor.open(tmp_path, clock=clock, environ={}) as supervisor:
        session = supervisor.session(Task(id="cart", prompt=Clean("Work.")), Capabilities())
        await session.begin()
        failed = Observation(kind="failure", text=Clean(traceback), exit_code=1, at=1.0)
        await session.step(failed)
        (row,) = supervisor.core.head.signatures.values()
    assert row.headline == "TypeError: unsupported operand type(s)"
    assert row.error_type == "TYPE_ERROR"
    assert row.location == "shop/cart.py:18"


def test_failures_of_several_runs_come_together(tmp_path: Path, folder: Path, said: Said) -> None:
    """One row with both runs' counts; what worked is taken from the memory where no run says it."""

    async def write() -> None:
        journal = await Journal.open(tmp_path / "told", run="told", clock=ManualClock())
        story = Story(journal)
        story.tell(e.RunStarted(project="p"), "")
        story.add("web")
        story.attempt(1)
        story.check(1)
        await journal.close()

    asyncio.run(write())
    log = (tmp_path / "told" / "events.jsonl").read_bytes()
    for name, more in (("20260101-000000", b""), ("20260102-000000", b"damaged\n")):
        (folder.parent / name).mkdir()
        (folder.parent / name / "events.jsonl").write_bytes(log + more)
    told = {"signature": IDENTITY, "approach": "use a dict", "kind": "approach", "outcome": "worked"}
    memory_file(folder.parent.parent).write_text(json.dumps(told) + "\n", encoding="utf-8")
    code, out, errors = said("signatures", "--json")
    (row,) = map(json.loads, out.splitlines())
    assert code == 0
    assert row["count"] == 2
    assert row["worked"] == "use a dict"
    assert row["rung"] == "first"
    assert row["runs"] == ["20260101-000000", "20260102-000000"]
    assert "only the events before it are counted" in errors
