"""Known failures in my settings: advice for the agent, or a command where only I can have written it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Guidance, Outcome, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.settings.models import AutoResolve, FailureHandlerSettings, Settings

TASK = Task(id="t", prompt=admit("Do it."), verify="test -f installed || { echo 'Error: modules missing'; exit 1; }")


def knowing(action: str, *, trusted: bool) -> Settings:
    rule = AutoResolve(pattern="modules miss", action=action, trusted=trusted)
    none = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
    return Settings(failure_handler=FailureHandlerSettings(auto_resolve=(rule,), **none))  # type: ignore[arg-type]


class Listening:
    """An agent that does nothing and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, guidance: Guidance) -> Report:
        self.told.append(guidance.text)
        return Report(exit_code=0)


async def test_a_command_of_mine_is_run_and_the_agent_is_told(repo: Path) -> None:
    """`run …` from my own settings: the files are saved, it is run in the task's tree, and the next check passes."""
    agent = Listening()
    async with Supervisor.open(repo, knowing("run touch installed", trusted=True)) as supervisor:
        outcome = await supervisor.supervise(TASK, agent)
        assert outcome.status == "succeeded"
        assert outcome.attempts == 2
        names = [record.event.name async for record in _all(supervisor)]
        order = ["directive_issued", "checkpoint_created", "command_ran", "directive_prepared"]
        between = names[names.index("directive_issued") : names.index("directive_prepared") + 1]
        assert [name for name in between if name in order] == order
    assert "unstuck has run `touch installed` here (exit code 0)." in agent.told[1]


async def test_a_command_that_fails_is_told_with_what_it_printed(repo: Path) -> None:
    """The agent learns that it did not help, and why; then the failure is answered like any other."""
    agent = Listening()
    async with Supervisor.open(repo, knowing("run echo no network; exit 7", trusted=True), person=True) as supervisor:
        working = supervisor.supervise(TASK, agent)
        outcome = await _skipping(supervisor, working)
    assert outcome.status == "skipped"
    assert len(agent.told) == 2
    assert "(exit code 7). It printed:\n| no network" in agent.told[1]


async def test_a_repositorys_file_names_no_command(repo: Path) -> None:
    """The same words from a file that an agent can edit are only words to the agent."""
    agent = Listening()
    async with Supervisor.open(repo, knowing("run touch installed", trusted=False), person=True) as supervisor:
        outcome = await _skipping(supervisor, supervisor.supervise(TASK, agent))
        assert not [record async for record in _all(supervisor) if isinstance(record.event, e.CommandRan)]
    assert outcome.status == "skipped"
    assert not (repo / "installed").exists()
    assert "Hint: run touch installed" in agent.told[1]


@pytest.mark.parametrize(
    ("action", "trusted", "command"),
    [
        ("run npm install", True, "npm install"),
        ("run npm install", False, ""),
        ("running it again helps", True, ""),
        ("use npm", True, ""),
        ("run  ", True, ""),
    ],
)
def test_what_is_a_command(action: str, trusted: bool, command: str) -> None:
    """Only `run` and a blank make a command, and only where I wrote it."""
    assert AutoResolve(pattern="x", action=action, trusted=trusted).command == command


async def _skipping(supervisor: Supervisor, working: Coroutine[Any, Any, Outcome]) -> Outcome:
    """The outcome of ``working``, whose question is answered with *skip*."""
    running = asyncio.ensure_future(working)
    async for record in supervisor.events():
        if isinstance(record.event, e.GateOpened):
            await supervisor.answer(record.event.gate, Answer(choice="skip"))
            break
    return await running


async def _all(supervisor: Supervisor) -> AsyncIterator[Record]:
    """Every record so far."""
    last = supervisor.state.seq
    async for record in supervisor.events():
        yield record
        if record.seq >= last:
            return
