"""Agents that we run ourselves and that ask in a call of theirs: they are not frozen, and the answer finds them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from tests.mcp.conftest import PATIENCE, World

from unstuck import Supervisor
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.eventlog.log.records import replay
from unstuck.runs.plans.plan import Plan
from unstuck.runs.plans.plan_file import load_plan
from unstuck.runs.run import RunOptions, start_run
from unstuck.supervision.run.finish import RunResult
from unstuck.workspace.project import locate

AGENT = Path(__file__).with_name("asking_agent.py")
Inside = Callable[..., tuple[int, str, str]]


class Person:
    """Sits beside a run, for as long as the test looks at it."""

    def __init__(self) -> None:
        self.world: asyncio.Future[World] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        self.world.set_result(World(supervisor))
        yield

    def hears(self, name: str) -> bool:
        return False


@pytest.fixture
def plan(repo: Path, tmp_path: Path) -> Callable[[str], Plan]:
    """``plan(how)``: one task for an agent that asks so, in a work tree of its own."""

    def made(how: str) -> Plan:
        file = tmp_path / "plan.yaml"
        file.write_text(
            f"agents: {{asker: {{command: [{sys.executable}, {AGENT}, {how}]}}}}\n"
            "tasks: [{id: port, agent: asker, prompt: Write the port., verify: grep 80.0 answer.txt, "
            "isolation: worktree}]\n"
        )
        return load_plan(file)

    return made


@asynccontextmanager
async def running(plan: Plan, repo: Path) -> AsyncIterator[tuple[World, asyncio.Task[RunResult]]]:
    """The run at work, with a person beside it."""
    person = Person()
    run = asyncio.ensure_future(start_run(plan, await locate(repo), RunOptions(beside=person)))
    try:
        yield await asyncio.wait_for(person.world, PATIENCE), run
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def until_it_stands_still(world: World, wanted: bool) -> None:
    """Until every process of the agent stands still, or none does; the system tells nobody when that happens."""
    agent = psutil.Process(world.supervisor.core.head.attempts["port.1"].pid)
    async with asyncio.timeout(PATIENCE):
        while {one.status() == psutil.STATUS_STOPPED for one in [agent, *agent.children(recursive=True)]} != {wanted}:
            await asyncio.sleep(0.01)


async def test_it_waits_in_its_call_and_is_not_frozen(plan: Callable[[str], Plan], repo: Path) -> None:
    """A client of the protocol asks from a work tree; while the question is open nothing of it stands still; the
    answer is the call's result, and the very same attempt goes on to the end."""
    async with running(plan("client"), repo) as (world, run):
        (gate,) = await world.until(world.open)
        assert gate.task == "port"
        assert gate.type == "question"
        assert gate.standing == "held"
        assert world.supervisor.core.head.attempts["port.1"].state == "held"
        await until_it_stands_still(world, False)  # it did while its files were saved
        await world.says(gate, "choose", number=2)
        result = await asyncio.wait_for(run, PATIENCE)
        assert result.exit_code == 0
        assert world.supervisor.core.head.tasks["port"].attempts == 1
        assert world.of(e.AnswerDelivered)


async def test_one_that_gives_up_stands_still_until_its_next_attempt_is_told(
    plan: Callable[[str], Plan], repo: Path
) -> None:
    """The call is cut off and the agent would go on without the answer: it is frozen, and once there is one it is
    stopped and told in a new attempt, with its own question."""
    async with running(plan("socket"), repo) as (world, run):
        (gate,) = await world.until(world.open)
        os.kill(world.supervisor.core.head.attempts["port.1"].pid, signal.SIGUSR1)
        await world.carried(gate, False)
        await until_it_stands_still(world, True)
        await world.says(gate, "choose", number=2)
        result = await asyncio.wait_for(run, PATIENCE)
        assert result.exit_code == 0
        told = world.of(e.AttemptStarted)[-1].guidance
        assert told.number == 2
        assert "Which port?" in told.text
        assert "8080" in told.text


def test_headless_it_parks_with_the_question(repo: Path, inside: Inside) -> None:
    """Nobody is there: the run ends with 3 and the question stays; its answer goes to the next attempt on resume."""
    command = ["--verify", "grep 80.0 answer.txt", "--task", "Write the port.", "--", sys.executable, str(AGENT)]
    code, out, errors = inside(repo, "run", "--headless", *command, "socket")
    assert code == 3, errors
    (gate,) = re.findall(r"\? question (g\d+-[0-9a-f]{4})", out)
    assert inside(repo, "answer", gate, "choose", "2")[0] == 0
    code, _, errors = inside(repo, "run", "--headless", "--resume", "last")
    assert code == 0, errors
    (log,) = (repo / ".git" / "unstuck" / "runs").glob(f"*/{LOG_NAME}")
    (row,) = replay(log).gates.values()
    assert row.status == "delivered"
