"""At the end of a run somebody watches: the results wait for my answer, and a stop does not lose them."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator

PATIENCE = 60


async def work(guidance: Guidance) -> Report | None:
    (guidance.workdir / "new.txt").write_text("new\n")
    return None


@asynccontextmanager
async def watched(repo: Path, resume: str | None = None):
    """A run that a person watches, whose results are to be merged; its coordinator at work."""
    start = e.RunStarted(project="repo", kind="plan", branch="main")
    settings = Settings(results="merge")
    async with Supervisor.open(repo, settings, start=start, resume=resume, person=True) as supervisor:
        core = supervisor.core
        assert core.worktrees is not None
        await core.worktrees.prepare()
        supervisor.add(Task(id="web", prompt=admit("Do it."), verify="test -f new.txt", isolation="worktree"))
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        core.journal.on_append(
            lambda record: (
                asked.set_result(record.event.gate)
                if isinstance(record.event, e.GateOpened) and not asked.done()
                else None
            )
        )
        run = asyncio.ensure_future(Coordinator(supervisor, {"web": CallableAgent(work)}).run())
        async with asyncio.timeout(PATIENCE):
            yield supervisor, run, asked


async def test_the_run_waits_for_my_answer(repo: Path) -> None:
    """My tree is dirty: the question stays open while I commit, and my answer brings the results in."""
    (repo / "README.md").write_text("mine\n")
    async with watched(repo) as (supervisor, run, asked):
        gate = await asked
        assert not run.done()
        subprocess.run(["git", "commit", "-q", "-a", "-m", "mine"], cwd=repo, check=True)
        await supervisor.answer(gate, Answer(choice="retry"))
        result = await run
    assert result.exit_reason == "succeeded"
    assert result.exit_code == 0
    assert supervisor.core.head.gates[gate].via == "program"
    assert (repo / "new.txt").read_text() == "new\n"
    assert (repo / "README.md").read_text() == "mine\n"


async def test_a_stop_while_it_waits_loses_nothing(repo: Path) -> None:
    """Stopped while the question is open, the run can be gone on with: the question is still there."""
    (repo / "README.md").write_text("mine\n")
    async with watched(repo) as (supervisor, run, asked):
        gate, name = await asked, supervisor.run
        await supervisor.stop("SIGINT")
        assert (await run).exit_code == 130
    async with watched(repo, resume=name) as (supervisor, run, _):
        assert supervisor.core.head.gates[gate].status == "open"
        await supervisor.answer(gate, Answer(choice="skip"))
        assert (await run).exit_code == 0
        assert supervisor.core.head.gates[gate].status == "delivered"
    assert not (repo / "new.txt").exists()


async def test_it_parks_once_nobody_watches_any_more(repo: Path) -> None:
    """The screen goes while the question is open: the run ends with 3, to be gone on with."""
    (repo / "README.md").write_text("mine\n")
    async with watched(repo) as (supervisor, run, asked):
        await asked
        supervisor.unwatched()
        assert (await run).exit_code == 3
