"""Takeover: a person edits files in a task's worktree, and the agent hears which. Real agents."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.manual_clock import ManualClock
from tests.waiting import become

from unstuck import Answer, Guidance, Outcome, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import ANSWER_LIMIT
from unstuck.errors import AnswerRefused, UsageError
from unstuck.escalation.prompts import IN_HANDS, by_hand
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records
from unstuck.settings.models import Settings
from unstuck.supervision.intervention.allowed import RUNGS

SCRIPT = """
import os, pathlib, sys, time
pathlib.Path(f"{os.environ['SEEN']}/told.txt").open("a").write(sys.argv[1] + "\\n--\\n")
pathlib.Path(f"{os.environ['SEEN']}/pid.txt").write_text(f"{os.getpid()} ")
while not os.path.exists(f"{os.environ['SEEN']}/go"): time.sleep(0.02)
pathlib.Path("out.txt").write_text("done")
"""
AT_ONCE = Settings.model_validate({"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}})


class Desk:
    """A run, and what its agent leaves beside the project."""

    def __init__(self, supervisor: Supervisor, root: Path, seen: Path) -> None:
        self.supervisor, self.root, self.seen = supervisor, root, seen

    def works(self, *, hold: bool = True) -> asyncio.Future[Outcome]:
        """A real program works at ``web`` until the file ``go`` is there."""
        core = self.supervisor.core
        spec = CommandSpec(command=(sys.executable, "-c", SCRIPT, "{prompt}"), freeze=hold)
        environ = {**core.environ, "SEEN": str(self.seen)}
        agent = CommandAgent(spec, folder=core.folder, environ=environ, limit=100_000, prompt_limit=30_000)
        task = Task(id="web", prompt=admit("Make it work"), verify="test -f out.txt", timeout_s=600.0)
        return asyncio.ensure_future(self.supervisor.supervise(task, agent))

    async def process(self) -> psutil.Process:
        file = self.seen / "pid.txt"
        await become(lambda: file.exists() and file.read_text().strip() != "")
        return psutil.Process(int(file.read_text()))

    def told(self) -> list[str]:
        return (self.seen / "told.txt").read_text().split("\n--\n")[:-1]

    def logged(self, kind: type[e.Event]) -> list[Any]:
        records = read_records(self.supervisor.core.journal.path)
        return [record.event for record in records if isinstance(record.event, kind)]


OpenDesk = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def desk(repo: Path, tmp_path: Path, clock: ManualClock) -> OpenDesk:
    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Desk]:
        (repo / "app.py").write_text("one\n", encoding="utf-8")
        seen = tmp_path / "seen"
        seen.mkdir()
        async with Supervisor.open(repo, AT_ONCE, clock=clock, person=True, **options) as supervisor:
            yield Desk(supervisor, repo, seen)

    return opened


async def test_the_agent_hears_which_files_a_person_changed(desk: OpenDesk) -> None:
    """Its process stands still while I edit; the diff is in the record, and its next attempt begins with it and why."""
    async with desk() as at:
        working = at.works()
        process = await at.process()
        taken = await at.supervisor.start_takeover("web")
        assert taken.folder == at.root
        assert taken.standing == "frozen"
        assert taken.others == ()
        await become(lambda: process.status() == psutil.STATUS_STOPPED)
        (at.root / "app.py").write_text("two\n", encoding="utf-8")
        (at.root / "new.py").write_text("new\n", encoding="utf-8")
        (at.root / "README.md").unlink()
        with pytest.raises(AnswerRefused, match="being edited by hand"):
            await at.supervisor.answer(taken.gate, Answer(choice="continue"))
        back = await at.supervisor.end_takeover(taken)
        assert back.changes == ("deleted README.md", "changed app.py", "added new.py")
        assert "-one\n+two" in back.diff
        await at.supervisor.core.journal.committed()
        (recorded,) = at.logged(e.HandedBack)
        assert recorded.files == 3
        assert recorded.diff == back.diff
        text = by_hand("Two, because one is taken.", back.changes, back.diff, files=back.files)
        await at.supervisor.answer(taken.gate, Answer(choice="show_me", text=text))
        (at.seen / "go").touch()
        assert (await working).status == "succeeded"
    first, second = at.told()
    assert "two" not in first
    assert "Two, because one is taken." in second
    assert "- changed app.py" in second
    assert "| -one\n| +two" in second


async def test_nothing_reaches_the_agent_by_another_way(desk: OpenDesk) -> None:
    """While I have its files nobody skips it, tells it something or sends it to another rung from elsewhere."""
    async with desk() as at:
        working = at.works()
        await at.process()
        taken = await at.supervisor.start_takeover("web")
        for choice in ("skip", "abandon", "continue", "show_me"):
            with pytest.raises(AnswerRefused, match="being edited by hand"):
                await at.supervisor.step_in("web", Answer(choice=choice, text=admit("now")))
        for rung in RUNGS:
            with pytest.raises(AnswerRefused, match="being edited by hand"):
                await at.supervisor.choose_rung("web", rung)
        await at.supervisor.end_takeover(taken)
        await at.supervisor.step_in("web", Answer(choice="skip"))
        assert (await working).status == "skipped"


async def test_no_agent_starts_during_a_takeover(desk: OpenDesk) -> None:
    """Its process is killed while I am in its files: nothing is checked or begun there before I am back.

    What comes then is told that somebody has been there.
    """
    async with desk() as at:
        working = at.works()
        process = await at.process()
        taken = await at.supervisor.start_takeover("web")
        process.kill()
        await become(lambda: at.supervisor.core.head.gates[taken.gate].status == "withdrawn")
        (at.root / "app.py").write_text("by hand", encoding="utf-8")
        for _ in range(100):
            await asyncio.sleep(0)
        assert at.supervisor.core.row("web").state == "running"
        assert at.logged(e.AttemptEnded) == []
        assert (await at.supervisor.end_takeover(taken)).changes == ("changed app.py",)
        (at.seen / "go").touch()
        assert (await working).status == "succeeded"
    first, second = at.told()
    assert IN_HANDS not in first
    assert IN_HANDS in second


async def test_a_run_that_is_stopped_waits_for_nobody(desk: OpenDesk) -> None:
    """Its agent is killed while I am in its files, and then the run is stopped: that does not wait for me."""
    async with desk() as at:
        working = at.works()
        process = await at.process()
        taken = await at.supervisor.start_takeover("web")
        process.kill()
        await become(lambda: at.supervisor.core.head.gates[taken.gate].status == "withdrawn")
        await at.supervisor.stop("enough")
        assert (await working).status == "cancelled"


async def test_a_cancelled_takeover_blocks_nothing(desk: OpenDesk) -> None:
    """The screen is left while the files are being saved for me: the question takes its answer from elsewhere."""
    async with desk() as at:
        working = at.works()
        await at.process()
        at.supervisor.core.journal.on_append(
            lambda record: taking.cancel() if isinstance(record.event, e.HandedOver) else None
        )
        taking = asyncio.ensure_future(at.supervisor.start_takeover("web"))
        with pytest.raises(asyncio.CancelledError):
            await taking
        (gate,) = at.supervisor.core.head.open_gates()
        await at.supervisor.answer(gate.id, Answer(choice="abandon"))
        assert (await working).status == "abandoned"


async def test_a_second_takeover_reports_both_changes(desk: OpenDesk) -> None:
    """Back without an answer and once more into the tree: the second time nothing of the first is forgotten."""
    async with desk() as at:
        working = at.works()
        await at.process()
        taken = await at.supervisor.start_takeover("web")
        with pytest.raises(UsageError, match="already being edited by hand"):
            await at.supervisor.start_takeover("web")
        (at.root / "app.py").write_text("two\n", encoding="utf-8")
        await at.supervisor.end_takeover(taken)
        again = await at.supervisor.start_takeover("web")
        (at.root / "new.py").write_text("new\n", encoding="utf-8")
        assert (await at.supervisor.end_takeover(again)).changes == ("changed app.py", "added new.py")
        (at.seen / "go").touch()
        await at.supervisor.answer(taken.gate, Answer(choice="continue"))
        assert (await working).status == "succeeded"


async def test_what_was_saved_before_is_gone(desk: OpenDesk) -> None:
    """The files as they were are not kept any more: they can be taken over all the same, and what comes is told."""
    async with desk() as at:
        working = at.works()
        await at.process()
        taken = await at.supervisor.start_takeover("web")
        await at.supervisor.end_takeover(taken)
        core = at.supervisor.core
        await core.checkpoints(at.root).delete(taken.since)
        again = await at.supervisor.start_takeover("web")
        (at.root / "new.py").write_text("new\n", encoding="utf-8")
        assert (await at.supervisor.end_takeover(again)).changes == ("added new.py",)
        await at.supervisor.answer(taken.gate, Answer(choice="abandon"))
        await working


async def test_a_persons_work_is_not_taken_back(desk: OpenDesk) -> None:
    """A restore of a task's own work leaves my edits where they are."""
    async with desk() as at:
        working = at.works()
        await at.process()
        (at.root / "agent.py").write_text("its own\n", encoding="utf-8")
        taken = await at.supervisor.start_takeover("web")
        (at.root / "mine.py").write_text("mine\n", encoding="utf-8")
        await at.supervisor.end_takeover(taken)
        (at.root / "later.py").write_text("its own, too\n", encoding="utf-8")
        core = at.supervisor.core
        own = await core.checkpoints(at.root).written_by("web", core.row("web").baseline)
        assert own == {"agent.py", "later.py"}
        await at.supervisor.answer(taken.gate, Answer(choice="abandon"))
        await working


async def test_a_task_that_is_stuck_can_be_taken_over(desk: OpenDesk) -> None:
    """No agent is alive any more: its files are mine at once, and others that use the same tree are named."""

    async def fails(guidance: Guidance) -> None:
        raise KeyError("currency")

    async with desk() as at:
        task = Task(id="web", prompt=admit("Make it work"))
        working = asyncio.ensure_future(at.supervisor.supervise(task, fails))
        await become(lambda: bool(at.supervisor.state.open_gates()))
        at.supervisor.add(Task(id="later", prompt=admit("later")))
        taken = await at.supervisor.start_takeover("web")
        assert taken.standing == ""
        assert taken.others == ("later",)
        assert (await at.supervisor.end_takeover(taken)).files == 0
        await at.supervisor.answer(taken.gate, Answer(choice="abandon"))
        assert (await working).status == "abandoned"


async def test_what_cannot_be_taken_over_says_why(desk: OpenDesk) -> None:
    """Nobody at work, another question first, or an agent that cannot be held: a line, and nothing is different."""
    async with desk() as at:
        at.supervisor.add(Task(id="later", prompt=admit("later")))
        with pytest.raises(UsageError, match="there is no task nothing"):
            await at.supervisor.start_takeover("nothing")
        with pytest.raises(UsageError, match="later: no agent works at it: it has not begun"):
            await at.supervisor.start_takeover("later")
        working = at.works(hold=False)
        await at.process()
        with pytest.raises(UsageError, match="cannot be held"):
            await at.supervisor.start_takeover("web")
        assert at.supervisor.core.head.open_gates() == ()
        await at.supervisor.core.clock.advance(600)
        await become(lambda: bool(at.supervisor.state.open_gates()))
        with pytest.raises(UsageError, match="has a question to answer first: timeout"):
            await at.supervisor.start_takeover("web")
        assert at.logged(e.HandedOver) == []
        await at.supervisor.answer(at.supervisor.state.open_gates()[0].id, Answer(choice="abandon"))
        await working


def test_words_are_never_cut_for_a_diff() -> None:
    """A long explanation and an endless diff make one answer that can be given: the words whole, the diff shortened."""
    diff = "\n".join(f"+{'x' * 50} {number}" for number in range(5_000))
    why = "because " * 1_000
    told = by_hand(why, [f"changed {number}.py" for number in range(50)], diff, files=300, others=("cart",))
    assert len(told) <= ANSWER_LIMIT
    assert told.startswith(why.strip())
    assert "- and 288 more" in told
    assert "characters left out" in told
    assert "the work of cart" in told
    assert by_hand("only words", (), "", files=0) == "only words"
