"""Questions that answer themselves: only where I have set it up, counted down, stopped by my coming, and on record."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records, Reporting

from unstuck import Answer, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.settings.models import TIMER_ANSWERS, Settings, TimerSettings
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.finish import RunResult

PATIENCE = 30
TASK = Task(id="t", prompt=admit("Do it"), timeout_s=100.0)


def timed(gate: str, **timer: Any) -> Settings:
    return Settings(timers={gate: TimerSettings(**{"after": 30, **timer})})  # type: ignore[dict-item]


async def asked(supervisor: Supervisor, agent: Any, clock: ManualClock) -> asyncio.Future[RunResult]:
    """The run of one task that has reached its limit."""
    supervisor.add(TASK)
    working = asyncio.ensure_future(Coordinator(supervisor, lambda task: agent).run())
    await asyncio.wait_for(agent.observer, PATIENCE)
    await clock.advance(100)
    return working


def test_a_timer_answers_only_what_its_question_takes() -> None:
    """A timer answers only with choices that the question offers and that need neither me nor my words."""
    mine = {"abandon", "check", "show_me", "choose", "allow", "done", "adopt"}
    allowed = {gate: set(answers) for gate, answers in TIMER_ANSWERS.items()}
    assert allowed == {gate: set(choices) - mine for gate, choices in CHOICES.items()}


@pytest.mark.parametrize("person", [False, True])
async def test_the_timer_answers_after_its_time_and_says_so(
    repo: Path, clock: ManualClock, reporting: type[Reporting], records: type[Records], person: bool
) -> None:
    """Half a minute at the question, with me there or not: it is extended, and the record names the timer."""
    agent = reporting()
    settings = timed("timeout", answer="extend", number="50s")
    async with Supervisor.open(repo, settings, clock=clock, person=person) as supervisor:
        record = records(supervisor)
        working = await asked(supervisor, agent, clock)
        gate = await record.asked()
        assert gate.gate.acts_at == clock.monotonic() + 30
        await clock.advance(29)
        assert supervisor.core.head.open_gates()
        await clock.advance(1)
        answered = [one for one in record.seen if isinstance(one.event, e.GateAnswered)]
        assert [(one.actor, one.event.choice, one.event.number) for one in answered] == [("timer", "extend", 50.0)]
        assert supervisor.core.head.gates[gate.id].gate.acts_at is None
        assert supervisor.core.head.gates[gate.id].via == "timer"
        await clock.advance(50)
        await record.asked()
        agent.finish.set()
        await working


async def test_my_coming_stops_the_timer(
    repo: Path, clock: ManualClock, reporting: type[Reporting], records: type[Records]
) -> None:
    """A key at five seconds: from then on the question waits for as long as I like."""
    agent = reporting()
    async with Supervisor.open(repo, timed("timeout", answer="stop"), clock=clock, person=True) as supervisor:
        record = records(supervisor)
        working = await asked(supervisor, agent, clock)
        gate = await record.asked()
        await clock.advance(5)
        await supervisor.keep_open(gate.id)
        await supervisor.keep_open(gate.id)
        assert len(record.of(e.TimerCancelled)) == 1
        await clock.advance(100_000)
        assert [row.id for row in supervisor.core.head.open_gates()] == [gate.id]
        await supervisor.answer(gate.id, Answer(choice="continue"))
        agent.finish.set()
        await working


async def test_without_a_setting_nothing_answers_itself(
    repo: Path, clock: ManualClock, reporting: type[Reporting], records: type[Records]
) -> None:
    """By default a question is still open after a day, and other types' timers do not touch it."""
    agent = reporting()
    async with Supervisor.open(repo, timed("stuck", answer="skip"), clock=clock, person=True) as supervisor:
        record = records(supervisor)
        working = await asked(supervisor, agent, clock)
        gate = await record.asked()
        await clock.advance(86_400)
        assert supervisor.core.head.open_gates() == (gate,)
        assert gate.gate.acts_at is None
        await supervisor.answer(gate.id, Answer(choice="continue"))
        agent.finish.set()
        await working


async def test_a_question_with_a_timer_does_not_park_the_run(
    repo: Path, clock: ManualClock, reporting: type[Reporting], records: type[Records]
) -> None:
    """Headless, a stuck task with a timer is skipped when its time has come, instead of waiting for nobody."""
    settings = Settings(
        task_failure_limit=1,
        timers={"stuck": TimerSettings(after=30, answer="skip")},  # type: ignore[dict-item]
    )
    agent = reporting()
    async with Supervisor.open(repo, settings, clock=clock) as supervisor:
        record = records(supervisor)
        working = await asked(supervisor, agent, clock)
        await record.until(lambda: record.of(e.TimerStarted))
        await clock.advance(30)
        assert (await asyncio.wait_for(working, PATIENCE)).exit_code == 1
        assert supervisor.core.head.tasks["t"].status == "skipped"


async def test_a_run_that_goes_on_counts_anew(
    repo: Path, clock: ManualClock, reporting: type[Reporting], records: type[Records]
) -> None:
    """A countdown that was stopped with the run does not fire at once after the resume."""
    settings = Settings(
        task_failure_limit=1,
        timers={"stuck": TimerSettings(after=30, answer="skip")},  # type: ignore[dict-item]
    )
    async with Supervisor.open(repo, settings, clock=clock) as supervisor:
        record, run = records(supervisor), supervisor.run
        working = await asked(supervisor, reporting(), clock)
        await record.until(lambda: record.of(e.TimerStarted))
        await clock.advance(29)
        await supervisor.stop("enough")
        await working
    await clock.advance(1_000)
    async with Supervisor.open(repo, resume=run, clock=clock) as supervisor:
        (gate,) = supervisor.core.head.open_gates()
        assert gate.gate.acts_at == clock.monotonic() + 30
        working = asyncio.ensure_future(Coordinator(supervisor, lambda task: reporting()).run())
        await clock.advance(30)
        assert (await asyncio.wait_for(working, PATIENCE)).exit_code == 1
