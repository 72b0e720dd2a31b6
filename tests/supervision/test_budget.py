"""Budgets: counted as they are reported, warned of, and kept to on every way in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records, Reporting

from unstuck import Answer, Supervisor, Task, admit
from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Capabilities, Gate, Observation
from unstuck.eventlog import events as e
from unstuck.runs.watch import watch
from unstuck.settings.models import BudgetSettings, Settings
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.finish import RunResult
from unstuck.workspace.project import locate

PATIENCE = 30
HELD = Capabilities(hold="step", tell=True)
TASK = Task(id="t", prompt=admit("Do it"), verify="true")


def limited(**limits: float) -> Settings:
    return Settings(budget=BudgetSettings(**limits))  # type: ignore[arg-type]


def used(tokens: int = 0, cost: float | None = None) -> Observation:
    return Observation(kind="usage", tokens=tokens, cost=cost)


async def worked(supervisor: Supervisor, agent: Any, *tasks: Task) -> RunResult:
    for task in tasks:
        supervisor.add(task)
    async with asyncio.timeout(PATIENCE):
        return await Coordinator(supervisor, lambda task: agent).run()


async def test_a_budget_is_warned_of_then_ends_a_run_that_nobody_attends(
    repo: Path, reporting: type[Reporting], records: type[Records]
) -> None:
    """At 80 % a warning, at 100 % every agent is stopped and the run ends with 5; so it does when it is resumed."""
    agent = reporting()
    async with Supervisor.open(repo, limited(tokens=1_000)) as supervisor:
        record, run = records(supervisor), supervisor.run
        working = asyncio.ensure_future(worked(supervisor, agent, TASK))
        observer = await asyncio.wait_for(agent.observer, PATIENCE)
        observer.see(used(500))
        assert record.of(e.BudgetWarned) == []
        observer.see(used(300))
        (warned,) = record.of(e.BudgetWarned)
        assert warned.kind == "tokens"
        assert warned.used == 800
        assert warned.limit == 1_000
        observer.see(used(200))
        assert await working == RunResult(exit_reason="budget", exit_code=5)
        assert len(record.of(e.StopReceipt)) == 1
        assert supervisor.core.head.attempts["t.1"].tokens == supervisor.core.head.run.tokens == 1_000
    again = reporting()
    async with Supervisor.open(repo, resume=run) as supervisor:
        assert await worked(supervisor, again) == RunResult(exit_reason="budget", exit_code=5)
        assert not again.observer.done(), "no step began"


@pytest.mark.parametrize("kind", ["tokens", "cost", "time"])
async def test_a_budget_of_zero_lets_no_step_begin(repo: Path, reporting: type[Reporting], kind: str) -> None:
    """No attempt starts with a budget of zero, and the run ends with 5."""
    agent = reporting()
    async with Supervisor.open(repo, limited(**{kind: 0})) as supervisor:
        assert (await worked(supervisor, agent, TASK)).exit_code == 5
        assert supervisor.core.head.attempts == {}


async def test_alongside_a_spent_budget_holds_the_agents_next_call(repo: Path, records: type[Records]) -> None:
    """An agent in its own terminal is held at its next step while I am asked, and goes on when there is more."""
    async with watch(await locate(repo), limited(tokens=100)) as supervisor:
        record = records(supervisor)
        session = supervisor.session(TASK, HELD)
        await session.begin()
        session.see(used(150))
        early = asyncio.ensure_future(session.step(Observation(kind="action", id="0", text=admit("ls"))))
        gate = await record.asked()
        assert not early.done(), "nor is it let go while its files are saved"
        assert gate.gate.type == "budget"
        assert gate.gate.key == "tokens"
        assert gate.gate.context["used"] == 150
        calling = asyncio.ensure_future(session.step(Observation(kind="action", id="1", text=admit("ls"))))
        await supervisor.core.journal.committed()
        refused = await session.step(Observation(kind="action", id="2", text=admit("ls")), within=0.01)
        assert refused.kind == "deny"
        assert not calling.done()
        await supervisor.answer(gate.id, Answer(choice="extend", number=100))
        for call in (early, calling):
            assert (await asyncio.wait_for(call, PATIENCE)).kind == "go_on"
        assert supervisor.core.head.run.limits == {"tokens": 250}
        assert len(record.of(e.BudgetReached)) == 1


async def test_the_person_gives_more_or_stops(
    repo: Path, reporting: type[Reporting], records: type[Records], clock: ManualClock
) -> None:
    """While I am asked every agent stands still; *extend* lets them go on, and *stop* ends the run with 5."""
    agent = reporting()
    async with Supervisor.open(repo, limited(cost=2.0), person=True, clock=clock) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(worked(supervisor, agent, TASK, Task(id="next", prompt=admit("More"))))
        observer = await asyncio.wait_for(agent.observer, PATIENCE)
        observer.see(used(10, 2.5))
        gate = await record.asked()
        assert agent.frozen == [True]
        (saved,) = [one for one in record.of(e.CheckpointCreated) if one.purpose == "question"]
        assert gate.gate.context["checkpoints"] == {"t": saved.id}
        await clock.advance(100_000)
        assert record.of(e.AgentTimeout) == [], "its clocks stand, too"
        assert [row.state for row in supervisor.core.head.tasks.values()] == ["running", "ready"]
        await supervisor.answer(gate.id, Answer(choice="extend", number=1.0))
        assert supervisor.core.head.run.limits == {"cost": 3.5}
        await clock.settle()
        assert agent.frozen == [True, False]
        observer.see(used(10, 1.0))
        again = await record.asked()
        await supervisor.answer(again.id, Answer(choice="stop"))
        assert (await working).exit_code == 5


async def test_a_counter_that_moves_while_its_agent_is_idle_is_an_alarm(
    repo: Path, reporting: type[Reporting], records: type[Records]
) -> None:
    """The agent is held at a question and its usage still grows past the budget: the record says so."""
    agent = reporting()
    async with Supervisor.open(repo, limited(tokens=100), person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(worked(supervisor, agent, TASK))
        observer = await asyncio.wait_for(agent.observer, PATIENCE)
        for number in range(3):
            observer.see(Observation(kind="action", id=str(number), text=admit("pytest")))
            observer.see(Observation(kind="failure", id=str(number), exit_code=1, text=admit("ValueError: x")))
        await record.asked()
        observer.see(used(100))
        (reached,) = record.of(e.BudgetReached)
        assert reached.while_idle
        await record.until(lambda: len(supervisor.core.head.open_gates()) == 2)
        assert {row.gate.type for row in supervisor.core.head.open_gates()} == {"loop_detected", "budget"}
        await supervisor.stop("enough")
        await working


async def test_the_runs_time_is_a_budget_and_goes_on_from_what_was_used(
    repo: Path, reporting: type[Reporting], records: type[Records]
) -> None:
    """Two hours in all: after one hour and a restart there is one hour left."""
    agent, clock = reporting(), ManualClock()
    async with Supervisor.open(repo, limited(time=7_200), person=True, clock=clock) as supervisor:
        run = supervisor.run
        working = asyncio.ensure_future(worked(supervisor, agent, Task(id="t", prompt=admit("x"), timeout_s=10**6)))
        await asyncio.wait_for(agent.observer, PATIENCE)
        await clock.advance(3_600)
        await supervisor.stop("enough")
        await working
    agent, clock = reporting(), ManualClock(start=1.0)
    async with Supervisor.open(repo, resume=run, person=True, clock=clock) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(worked(supervisor, agent))
        await asyncio.wait_for(agent.observer, PATIENCE)
        await clock.advance(2_160)
        assert [warned.kind for warned in record.of(e.BudgetWarned)] == ["time"]
        await clock.advance(1_439)
        assert record.of(e.BudgetReached) == []
        await clock.advance(1)
        assert [(reached.kind, reached.used) for reached in record.of(e.BudgetReached)] == [("time", 7_200.0)]
        await supervisor.stop("enough")
        await working


async def test_a_program_tells_what_it_used_in_its_signal_line(repo: Path) -> None:
    """A command that ends with tokens and cost in its signal line is counted; one that does not costs nobody knows."""
    script = """echo 'UNSTUCK {"signal": "complete", "tokens": 1200, "cost": 0.25}'"""
    async with Supervisor.open(repo, limited(tokens=100_000)) as supervisor:
        core = supervisor.core
        assert core.head.run.cost is None
        spec = CommandSpec(command=("sh", "-c", script))
        agent = CommandAgent(spec, folder=core.folder, environ={"PATH": "/bin"}, limit=10_000, prompt_limit=10_000)
        assert (await worked(supervisor, agent, TASK)).exit_code == 0
        assert core.head.run.tokens == 1_200
        assert core.head.run.cost == 0.25


async def test_a_rule_may_extend_a_budget(repo: Path, reporting: type[Reporting], records: type[Records]) -> None:
    """With a rule for budgets nobody has to be there."""
    given = iter([(0, Answer(choice="extend", number=50))])

    def policy(gate: Gate) -> tuple[int, Answer] | None:
        return next(given, None) if gate.type == "budget" else None

    agent = reporting()
    async with Supervisor.open(repo, limited(tokens=10), policy=lambda state: policy) as supervisor:
        working = asyncio.ensure_future(worked(supervisor, agent, TASK))
        observer = await asyncio.wait_for(agent.observer, PATIENCE)
        record = records(supervisor)
        observer.see(used(10))
        await record.until(lambda: record.of(e.GateAnswered))
        assert supervisor.core.head.attempts["t.1"].state != "held"
        observer.see(used(49))
        agent.finish.set()
        assert (await working).exit_code == 0
        assert supervisor.core.head.run.limits == {"tokens": 60}
