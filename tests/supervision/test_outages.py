"""An outage that the agent itself reports: waited for beyond the three short waits, and then asked about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Outcome, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.words.log_text import event_line

TASK = Task(id="t", prompt=admit("Do it."))
OVERLOADED = 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


class Refused:
    """An agent whose provider is out of order until ``times`` attempts have been made."""

    def __init__(self, times: int, says: str = OVERLOADED) -> None:
        self.times, self.says = times, says
        self.told: list[Guidance] = []

    async def __call__(self, guidance: Guidance) -> Report:
        self.told.append(guidance)
        if len(self.told) <= self.times:
            return Report(exit_code=1, said=admit(self.says), error=admit(self.says), program="claude", marked=True)
        return Report(exit_code=0)


@asynccontextmanager
async def at_work(
    repo: Path, clock: ManualClock, agent: Refused, *, run: str | None = None, **settings: Any
) -> AsyncIterator[tuple[Supervisor, Records, asyncio.Future[Outcome]]]:
    """The task at work, in a new run or one that goes on."""
    kept = None if run else Settings(**settings)
    async with Supervisor.open(repo, kept, clock=clock, person=True, resume=run) as supervisor:
        record = Records(supervisor)
        yield supervisor, record, asyncio.ensure_future(supervisor.supervise(TASK, agent))


async def waits(clock: ManualClock, record: Records, number: int) -> list[Any]:
    """The first ``number`` waits for an outage; the time of each but the last is passed."""
    for short in (1, 2, 3):
        await record.until(lambda short=short: len(record.of(e.TransientErrorRetry)) == short)
        await clock.advance(2 ** (short - 1))
    for one in range(1, number + 1):
        await record.until(lambda one=one: len(record.of(e.OutageWait)) == one)
        if one < number:
            await clock.advance(record.of(e.OutageWait)[-1].delay_seconds)
    return record.of(e.OutageWait)


async def test_it_is_waited_for_longer_and_longer_and_then_asked_about(repo: Path, clock: ManualClock) -> None:
    """After 1, 2 and 4 s the waits grow to minutes, half an hour in all, without a level or research.

    The question has the agent's own words first; *Continue* begins again with the short waits.
    """
    agent = Refused(4 + 12 + 1)
    async with at_work(repo, clock, agent) as (supervisor, record, working):
        seen = await waits(clock, record, 12)
        assert [event.delay_seconds for event in record.of(e.TransientErrorRetry)] == [1, 2, 4]
        assert [event.delay_seconds for event in seen] == [8, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300, 88]
        assert seen[-1].waited_seconds + seen[-1].delay_seconds == seen[-1].limit_seconds == 1800
        await clock.advance(88)
        gate = await record.asked()
        assert (gate.gate.type, gate.gate.key, gate.gate.context["error_type"]) == ("question", "quota", "agent_outage")
        assert gate.gate.context["question"].splitlines() == [
            OVERLOADED, "It has not passed in 30 minutes. Continue?",
        ]  # fmt: skip
        assert [event.reason for event in record.of(e.TransientErrorEscalated)] == ["still there after 3 retries"]
        assert supervisor.core.head.tasks["t"].climb.directives == 0
        assert not record.of(e.DirectiveIssued)
        assert not record.of(e.ResearchDone)
        await supervisor.answer(gate.id, Answer(choice="choose", number=1))
        await record.until(lambda: len(record.of(e.TransientErrorRetry)) == 4)
        assert record.of(e.TransientErrorRetry)[-1].delay_seconds == 1
        await clock.advance(1)
        assert (await working).status == "unverified"
        assert {guidance.text for guidance in agent.told} == {"Do it."}


async def test_it_passes(repo: Path, clock: ManualClock) -> None:
    """The attempt after the wait is the same again, and the record says that the outage has passed."""
    async with at_work(repo, clock, Refused(5)) as (supervisor, record, working):
        await waits(clock, record, 2)
        row = supervisor.core.head.tasks["t"]
        assert (row.state, row.backoff_delay, row.backoff_outage) == ("backoff", 8, 1800 - 16)
        line = next(event_line(one) for one in record.seen if isinstance(one.event, e.OutageWait))
        assert f"… outage: again in 8s, 0s of 30m 00s waited: {OVERLOADED}" in line
        await clock.advance(8)
        assert (await working).status == "unverified"
        assert [event.total_retries for event in record.of(e.TransientErrorResolved)] == [5]
        assert supervisor.core.head.tasks["t"].climb.outage == 0


@pytest.mark.parametrize(
    ("says", "delays"),
    [
        (f"{OVERLOADED}, retry after 120 s", [120, 120]),
        (f"{OVERLOADED}, resets at 8:10am (UTC)", None),
    ],
)
async def test_the_time_that_the_provider_names_counts(
    repo: Path, clock: ManualClock, says: str, delays: list[float] | None
) -> None:
    """A time that it names is the wait, also the first ones."""
    async with at_work(repo, clock, Refused(99, says)) as (supervisor, record, working):
        await record.until(lambda: record.of(e.TransientErrorRetry))
        first = record.of(e.TransientErrorRetry)[0]
        assert first.delay_seconds == (120 if delays else 600)
        if delays:
            for one in (1, 2, 3):
                await record.until(lambda one=one: len(record.of(e.TransientErrorRetry)) == one)
                await clock.advance(120)
            await record.until(lambda: record.of(e.OutageWait))
            assert record.of(e.OutageWait)[0].delay_seconds == 120
        await supervisor.stop("seen enough")
        await working


async def test_a_time_beyond_the_limit_is_asked_about_at_once(repo: Path, clock: ManualClock) -> None:
    """Nobody waits half an hour for what the provider says takes longer."""
    agent = Refused(99)
    async with at_work(repo, clock, agent, outage_limit=60) as (supervisor, record, working):
        await waits(clock, record, 1)
        agent.says = f"{OVERLOADED}, retry after 100 s"
        await clock.advance(8)
        gate = await record.asked()
        assert "The provider names 2 minutes more." in gate.gate.context["question"]
        await supervisor.stop("seen enough")
        await working


async def test_no_limit_asks_after_the_third(repo: Path, clock: ManualClock) -> None:
    """`outage_limit: 0` waits 1, 2 and 4 s, and then asks."""
    async with at_work(repo, clock, Refused(99), outage_limit=0) as (supervisor, record, working):
        await waits(clock, record, 0)
        gate = await record.asked()
        assert gate.gate.context["question"].splitlines()[1] == "It has not passed. Continue?"
        await supervisor.stop("seen enough")
        await working


async def test_where_nobody_may_be_asked_the_task_fails_with_that_reason(repo: Path, clock: ManualClock) -> None:
    """`ask: never` waits as long, and then ends with the agent's own message."""
    async with at_work(repo, clock, Refused(99), ask="never", outage_limit=8) as (supervisor, record, working):
        await waits(clock, record, 1)
        await clock.advance(8)
        await working
        assert supervisor.core.head.run.failed == "agent_outage"
        assert OVERLOADED in supervisor.core.head.tasks["t"].reason


async def test_a_transient_failure_of_the_work_still_ends_after_the_third(repo: Path, clock: ManualClock) -> None:
    """Only the agent's own report goes on: a connection that its program could not make is an ordinary failure."""
    says = "requests.exceptions.ConnectionError: Connection refused"
    async with at_work(repo, clock, Refused(99, says)) as (supervisor, record, working):
        await waits(clock, record, 0)
        await record.until(lambda: record.of(e.TransientErrorEscalated))
        await record.until(lambda: record.of(e.DirectiveIssued) or record.of(e.AgentFailure))
        assert not record.of(e.OutageWait)
        await supervisor.stop("seen enough")
        await working


async def test_a_run_that_was_killed_waits_for_the_rest(repo: Path, clock: ManualClock) -> None:
    """A resumed run waits for the rest of the wait, and earlier waits count."""
    agent = Refused(6)
    async with at_work(repo, clock, agent) as (supervisor, record, working):
        run = supervisor.run
        await waits(clock, record, 3)
        await clock.advance(10)
        await supervisor.stop("Ctrl+C")
        await working
    async with at_work(repo, clock, agent, run=run) as (supervisor, record, working):
        await clock.advance(5.9)
        assert len(agent.told) == 6
        assert supervisor.core.head.tasks["t"].state == "backoff"
        await clock.advance(0.1)
        assert (await working).status == "unverified"
        assert len(agent.told) == 7


async def test_it_can_be_held_meanwhile_and_goes_on(repo: Path, clock: ManualClock) -> None:
    """A held task stays where it is; let go on, it tries again at once and the waits before count."""
    async with at_work(repo, clock, Refused(5)) as (supervisor, record, working):
        await waits(clock, record, 2)
        gate = await supervisor.hold("t")
        await clock.advance(3600)
        assert len(record.of(e.OutageWait)) == 2
        assert supervisor.core.head.gates[gate].gate.key == "held"
        await supervisor.answer(gate, Answer(choice="continue"))
        assert (await working).status == "unverified"


async def test_it_can_be_abandoned_meanwhile(repo: Path, clock: ManualClock) -> None:
    """A person need not wait with it."""
    async with at_work(repo, clock, Refused(99)) as (supervisor, record, working):
        await waits(clock, record, 2)
        await supervisor.step_in("t", Answer(choice="abandon"))
        assert (await working).status == "abandoned"
